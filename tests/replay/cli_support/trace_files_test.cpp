// Folders, patterns and names of trace files.
#include "replay/cli_support/trace_files.h"

#include <filesystem>
#include <fstream>

#include <catch2/catch.hpp>
#include <unistd.h>

namespace tidemark {
namespace {

using Names = std::vector<std::string>;

TEST_CASE("traces are called by as much of their path as tells them apart", "[words]") {
    const auto names = [](const Names& paths) { return trace_names(paths); };

    CHECK(names({"x/a.pickle", "y/b.csv"}) == Names{"a.pickle", "b.csv"});
    CHECK(names({"run/rank0/s.pickle", "run/rank1/s.pickle"}) ==
          Names{"rank0/s.pickle", "rank1/s.pickle"});
    CHECK(names({"a/x/s.tmk", "b/x/s.tmk", "c/t.tmk"}) == Names{"a/x/s.tmk", "b/x/s.tmk", "t.tmk"});
    CHECK(names({"s.tmk", "r/s.tmk"}) == Names{"s.tmk", "r/s.tmk"});
    CHECK(names({"r/s.tmk", "r/s.tmk"}) == Names{"s.tmk", "s.tmk"});
    CHECK(names({"-", "generate:mix"}) == Names{"standard input", "generate:mix"});
}

TEST_CASE("a folder stands for the recordings in it, a pattern for what it matches", "[words]") {
    const std::string root = "trace_files_test." + std::to_string(::getpid());
    std::filesystem::create_directories(root + "/rank1");
    const auto write = [&root](const std::string& name, const std::string& text) {
        std::ofstream(root + "/" + name) << text;
    };
    const std::string header = "{\"type\":\"header\",\"version\":1}\n";
    write("b.jsonl", header);
    write("a.jsonl", header);
    write("rank1/c.jsonl", header);
    write("notes.txt", "nothing of ours");
    write(".hidden.jsonl", header);

    const Names folder{root};
    CHECK(expand_traces(folder).value() ==
          Names{root + "/a.jsonl", root + "/b.jsonl", root + "/rank1/c.jsonl"});
    const Names pattern{root + "/?.jsonl", "-"};
    CHECK(expand_traces(pattern).value() == Names{root + "/a.jsonl", root + "/b.jsonl", "-"});
    CHECK_FALSE(expand_traces(Names{root + "/*.pickle"}));
    CHECK(expand_traces(Names{"absent.tmk"}).value() == Names{"absent.tmk"});
    CHECK(expand_trace(root + "/rank1").value() == root + "/rank1/c.jsonl");
    CHECK(expand_trace(root).error().code == ErrorCode::bad_option);

    std::filesystem::remove_all(root);
}

}  // namespace
}  // namespace tidemark
