// info, import, export and generate: traces in, traces out, whole or not at all.
#include <filesystem>

#include <catch2/catch.hpp>
#include <sys/stat.h>

#include "tests/cli/command_line.h"

using namespace tidemark;
using support::contains;
using support::Folder;
using support::Said;
using Names = std::vector<std::string>;

namespace {

constexpr const char* kSmall = "generate:steps:events=3000";

std::string made(const Folder& folder, const std::string& name) {
    const Said said = support::tidemark({"generate", "steps:events=3000", "-o", folder / name});
    REQUIRE(said.code == 0);
    return folder / name;
}

}  // namespace

TEST_CASE("info says what is in a trace", "[cli]") {
    const Said said = support::tidemark({"info", kSmall});

    CHECK(said.code == 0);
    CHECK(contains(said.out, "Events: "));
    CHECK(contains(said.out, "requested, peak"));
    CHECK(contains(said.out, "size from"));
    CHECK(contains(said.out, "lifetime"));
}

TEST_CASE("a trace survives the way to .tmk, to JSONL and back", "[cli]") {
    const Folder folder;
    const std::string tmk = made(folder, "a.tmk");

    const Said out = support::tidemark({"export", tmk, "-o", folder / "a.jsonl"});
    const Said back = support::tidemark({"import", folder / "a.jsonl", "-o", folder / "b.tmk"});
    const Said again = support::tidemark({"export", folder / "b.tmk", "-o", folder / "b.jsonl"});

    CHECK(out.code == 0);
    CHECK(back.code == 0);
    CHECK(again.code == 0);
    CHECK(contains(out.out, "a.jsonl: "));
    CHECK(support::read_file(folder / "a.jsonl") == support::read_file(folder / "b.jsonl"));
    CHECK(folder.names() == Names{"a.jsonl", "a.tmk", "b.jsonl", "b.tmk"});
}

TEST_CASE("importing the same content twice gives the same bytes", "[cli]") {
    const Folder folder;
    const std::string sample = support::project_file("traces/samples/torch/multistream.pickle.xz");

    CHECK(support::tidemark({"import", sample, "-o", folder / "a.tmk"}).code == 0);
    CHECK(support::tidemark({"import", "-", "-o", folder / "b.tmk"},
                            {.input = support::read_file(sample)})
              .code == 0);
    CHECK(support::tidemark({"import", folder / "a.tmk", "-o", folder / "c.tmk"}).code == 0);

    CHECK(support::read_file(folder / "a.tmk") == support::read_file(folder / "b.tmk"));
    CHECK(support::read_file(folder / "a.tmk") == support::read_file(folder / "c.tmk"));
}

TEST_CASE("several inputs go to a folder, each under its own name", "[cli]") {
    const Folder folder;
    const Folder target;
    const std::string one = made(folder, "one.tmk");
    CHECK(support::tidemark({"export", one, "-o", folder / "two.jsonl"}).code == 0);

    const Said said = support::tidemark({"import", one, folder / "two.jsonl", "-o", target.path()});

    CHECK(said.code == 0);
    CHECK(target.names() == Names{"one.tmk", "two.tmk"});
}

TEST_CASE("inputs that would fall on one name are refused before anything is written", "[cli]") {
    const Folder folder;
    const Folder target;
    const std::string one = made(folder, "one.tmk");
    CHECK(support::tidemark({"export", one, "-o", folder / "one.jsonl"}).code == 0);

    const Said same = support::tidemark({"import", one, folder / "one.jsonl", "-o", target.path()});
    const Said none = support::tidemark({"import", one, one, "-o", folder / "missing"});

    CHECK(same.code == 2);
    CHECK(contains(same.err, "one.tmk"));
    CHECK(none.code == 2);
    CHECK(contains(none.err, "is not a folder"));
    CHECK(target.names().empty());
}

TEST_CASE("a target that cannot be written is named before anything is read", "[cli]") {
    const Folder folder;
    const std::string bad = folder / "bad.csv";  // an error that each would meet next
    support::write_file(bad, "Thread,Time,Action\nnonsense");
    const std::string nowhere = folder / "no/such/folder/file.";
    for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
             {"calibrate", "--device", "sim:none", "-o", nowhere + "json"},
             {"compare", bad, "-p", "torch", "-p", "buddy", "--plot", nowhere + "svg"},
             {"cut", bad, "--step", "1", "-o", nowhere + "tmk"},
             {"export", bad, "-o", nowhere + "jsonl"},
             {"generate", "none", "-o", nowhere + "tmk"},
             {"generate", "none", "-o", folder.path()},
             {"import", bad, "-o", nowhere + "tmk"},
             {"machines", "none", "-o", nowhere + "json"},
             {"machines", "--discover", "--measure", "--disk", "/", "-o", nowhere + "json"},
             {"replay", bad, "--decisions", nowhere + "txt"},
             {"replay", bad, "--dump-state", nowhere + "json"},
             {"replay", bad, "--plot", nowhere + "png"},
             {"replay", bad, "--gpu-memory", "50%", "--timeline", nowhere + "jsonl"},
             {"report", bad, "-o", nowhere + "html"}}) {
        const Said said = support::tidemark(arguments);
        INFO(arguments.front() << " ... " << arguments.back() << ": " << said.err);
        CHECK(said.code == 3);
        CHECK(contains(said.err, arguments.back()));
    }
    CHECK(folder.names() == Names{"bad.csv"});
}

TEST_CASE("work that fails leaves the old file and nothing else", "[cli]") {
    const Folder folder;
    const std::string bad = folder / "bad.csv";
    const std::string old = folder / "old.json";
    support::write_file(bad, "Thread,Time,Action\nnonsense");
    support::write_file(old, "precious");
    std::filesystem::create_directories(folder / "out");
    std::filesystem::create_directories(folder / "rank1");
    std::filesystem::copy(bad, folder / "rank1/bad.csv");
    for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
             {"cut", bad, "--step", "1", "-o", folder / "old.tmk"},
             {"export", bad, "-f", "jsonl", "-o", old},
             {"import", bad, "-o", old},
             {"import", bad, folder / "rank1/bad.csv", "-o", folder / "out"},
             {"replay", bad, "--decisions", old},
             {"replay", bad, "--dump-state", old},
             {"report", bad, "-o", old}}) {
        std::vector<std::string> forced = arguments;
        forced.emplace_back("--force");
        const Said said = support::tidemark(forced);
        INFO(arguments.front() << " ... " << arguments.back() << ": " << said.err);
        CHECK(said.code == 3);
        CHECK(contains(said.err, "bad.csv"));
    }
    CHECK(support::read_file(old) == "precious");
    CHECK(folder.names() == Names{"bad.csv", "old.json", "out", "rank1"});
    CHECK(std::filesystem::is_empty(folder / "out"));
}

TEST_CASE("an unknown output format is answered with those there are", "[cli]") {
    const Folder folder;
    const std::string tmk = made(folder, "a.tmk");

    const Said by_ending = support::tidemark({"export", tmk, "-o", folder / "a.xlsx"});
    const Said by_name = support::tidemark({"export", tmk, "-f", "xlsx", "-o", "-"});

    CHECK(by_ending.code == 2);
    CHECK(contains(by_ending.err, "jsonl"));
    CHECK(by_name.code == 2);
    CHECK(contains(by_name.err, "jsonl"));
    CHECK(folder.names() == Names{"a.tmk"});
}

TEST_CASE("generate lists its generators and refuses unknown ones", "[cli]") {
    const Folder folder;

    const Said list = support::tidemark({"generate"});
    const Said unknown = support::tidemark({"generate", "mixx", "-o", folder / "a.tmk"});
    const Said nowhere = support::tidemark({"generate", "mix"});

    CHECK(list.code == 0);
    CHECK(contains(list.out, "mix: "));
    CHECK(contains(list.out, "seed (count)"));
    CHECK(unknown.code == 2);
    CHECK(contains(unknown.err, "mix"));
    CHECK(nowhere.code == 2);
    CHECK(contains(nowhere.err, "--output"));
    CHECK(folder.names().empty());
}

TEST_CASE("bad input of every kind is told with the file's name and exit code 3", "[cli][bad]") {
    const Folder folder;
    const std::string snapshot =
        support::read_file(support::project_file("traces/samples/torch/multistream.pickle.xz"));
    support::write_file(folder / "empty", "");
    support::write_file(folder / "text", "just some words\n");
    support::write_file(folder / "zeros", std::string(4096, '\0'));
    support::write_file(folder / "pickle", std::string("\x80\x04\x95\xff\xff\xff\xff\xff\xff", 9));
    support::write_file(folder / "xz", snapshot.substr(0, 20) + std::string(100, 'x'));
    support::write_file(folder / "csv", "Thread,Time,Action,Pointer,Size,Stream\n1,2,boom,4,5,6\n");
    support::write_file(folder / "jsonl", "{\"kind\":\n");
    support::write_file(folder / "tmk", "TIDEMARK nonsense that is no file of ours");

    for (const std::string name :
         {"missing", "empty", "text", "zeros", "pickle", "xz", "csv", "jsonl", "tmk"}) {
        for (const std::string command : {"info", "replay", "compare", "verify"}) {
            const Said said = support::tidemark({command, folder / name});
            INFO(command << " " << name << ": " << said.err);
            CHECK(said.code == 3);
            CHECK(said.out.empty());
            CHECK(contains(said.err, folder / name));
        }
    }
    const Said directory = support::tidemark({"info", folder.path()});
    CHECK(directory.code == 3);
    CHECK(contains(directory.err, folder.path()));
}

TEST_CASE("names from a file cannot drive the terminal", "[cli][bad]") {
    const Folder folder;
    const std::string name = "evil\x1b[2Jname";

    const Said said = support::tidemark({"info", folder / name});

    CHECK(said.code == 3);
    CHECK(!contains(said.err, "\x1b"));
    CHECK(contains(said.err, "evil\\x1b[2Jname"));
}
