// `cache`: what the viewer keeps is listed and deleted, and names of foreign files are only text.
#include <filesystem>
#include <fstream>

#include <catch2/catch.hpp>
#include <sys/stat.h>

#include "replay/scenario/record_history.h"
#include "tests/cli/command_line.h"
#include "tests/support/own_cache.h"
#include "traces/open.h"

using namespace tidemark;
using support::contains;
using support::Said;

namespace {

// Replays a new trace of this name, as the viewer does.
void view(const support::Folder& folder, const std::string& name) {
    const std::string path = folder / name;
    REQUIRE(import_trace("generate:mix:events=3000", path));
    const auto trace = open_trace(path);
    REQUIRE(trace);
    REQUIRE(record_history(**trace, {.trace = path, .policy = "torch"}));
}

}  // namespace

TEST_CASE("the cache is listed and cleared", "[cli][cache]") {
    const support::OwnCache cache;
    const support::Folder folder;
    CHECK(
        contains(support::tidemark({"cache"}).out, "Nothing is kept in " + cache.path().string()));
    CHECK(contains(support::tidemark({"cache", "--clear"}).out, "0 histories deleted"));
    view(folder, "run.tmk");

    const Said listed = support::tidemark({"cache"});
    CHECK(listed.code == 0);
    CHECK(contains(listed.out, "run.tmk"));
    CHECK(contains(listed.out, "torch"));
    CHECK(contains(listed.out, "3,000"));
    CHECK(contains(listed.out, "1 history"));

    std::ofstream(cache.path() / "torch-memory.so") << "not a history";
    const Said cleared = support::tidemark({"cache", "--clear"});
    CHECK(cleared.code == 0);
    CHECK(contains(cleared.out, "1 history deleted from " + cache.path().string()));
    CHECK(cache.entries() == std::vector<std::filesystem::path>{cache.path() / "torch-memory.so"});
}

TEST_CASE("a trace's name in the cache is only text", "[cli][cache]") {
    const support::OwnCache cache;
    const support::Folder folder;
    view(folder, "a\x1b[31m\nb.tmk");
    const std::string out = support::tidemark({"cache"}).out;
    CHECK_FALSE(contains(out, "\x1b"));
    CHECK_FALSE(contains(out, "\nb.tmk"));
}

TEST_CASE("a cache that isn't ours alone is neither listed nor cleared", "[cli][cache]") {
    const support::OwnCache cache;
    const support::Folder folder;
    view(folder, "run.tmk");
    REQUIRE(::chmod(cache.path().c_str(), 0777) == 0);
    CHECK(contains(support::refusal({"cache"}, 3), "can be written by other users"));
    CHECK(contains(support::refusal({"cache", "--clear"}, 3), "can be written by other users"));
    CHECK(cache.entries().size() == 1);
}
