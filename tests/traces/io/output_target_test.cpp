// What may be written over: never what is read, never a recording, and only the same kind.
#include "traces/io/output_target.h"

#include <filesystem>

#include <catch2/catch.hpp>
#include <sys/stat.h>

#include "tests/support/test_folder.h"
#include "tests/traces/io/compressed.h"
#include "traces/io/output_file.h"

using namespace tidemark;
using namespace std::string_view_literals;
namespace fs = std::filesystem;
using support::TestFolder;

namespace {

constexpr std::string_view kTmk = "\x89TMK\r\n\x1a\n and so on";
constexpr std::string_view kSnapshot = "\x80\x04\x95 a snapshot";
constexpr std::string_view kReport =
    "<!DOCTYPE html>\n<meta name=\"generator\" content=\"Tidemark 1.0\">";

std::string refusal(const OutputTarget& target) {
    const Result<void> checked = check_target(target);
    CHECK(OutputFile::create(target).has_value() == checked.has_value());
    return checked ? "none" : checked.error().what;
}

}  // namespace

TEST_CASE("a file that is read is no target, by whatever name and whatever is forced", "[io]") {
    const TestFolder folder;
    const std::string input = folder.write("run.tmk", kTmk);
    fs::create_symlink("run.tmk", folder.file("link"));
    fs::create_hard_link(input, folder.file("twin"));
    const auto identity = file_identity(input);
    REQUIRE(identity);
    for (const char* name : {"run.tmk", "link", "twin", "../run.tmk"}) {
        const std::string path = std::string(name).starts_with("..")
                                     ? (folder.path() / "x/.." / "run.tmk").string()
                                     : folder.file(name);
        fs::create_directory(folder.path() / "x");
        INFO(path);
        for (const bool force : {false, true})
            CHECK(refusal({.path = path, .force = force, .inputs = {*identity}}) ==
                  "is being read: it can't be written as well");
    }
    CHECK(folder.read("run.tmk") == kTmk);
}

TEST_CASE("a recording is written over by force only, compressed or not", "[io]") {
    const TestFolder folder;
    const std::string tml = "\x89TML\r\n\x1a\n and so on";
    for (const std::string& path :
         {folder.write("a.tmk", kTmk), folder.write("a.tml", tml),
          folder.write("a.pickle", kSnapshot),
          folder.write("a.xz", support::xz(support::to_bytes(std::string(kSnapshot)))),
          folder.write("odd.png", kTmk)}) {
        INFO(path);
        for (const FileKind kind : {FileKind::recording, FileKind::png, FileKind::unknown})
            CHECK(refusal({.path = path, .kind = kind}) == "exists and is a recording");
        CHECK(refusal({.path = path, .kind = FileKind::recording, .force = true}) == "none");
    }
}

TEST_CASE("a file is replaced by one of its kind, and by another by force only", "[io]") {
    const TestFolder folder;
    const std::string report = folder.write("page.html", kReport);
    CHECK(refusal({.path = report, .kind = FileKind::report}) == "none");
    CHECK(refusal({.path = report, .kind = FileKind::png}) ==
          "exists and is a report, which would become a picture");
    CHECK(refusal({.path = report, .kind = FileKind::png, .force = true}) == "none");

    const std::string letter = folder.write("letter.txt", "Dear Sirs");
    for (const FileKind kind : {FileKind::unknown, FileKind::report})
        CHECK(refusal({.path = letter, .kind = kind}) ==
              "exists, and nothing in it shows that Tidemark wrote it");
    CHECK(refusal({.path = folder.write("packed.xz",
                                        support::xz(support::to_bytes(std::string(kReport)))),
                   .kind = FileKind::report}) ==
          "exists, and nothing in it shows that Tidemark wrote it");
}

TEST_CASE("nothing, an empty file and what is no file may be written", "[io]") {
    const TestFolder folder;
    const std::string pipe = folder.file("pipe");
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    for (const std::string& path : {std::string(), std::string("-"), std::string("/dev/null"), pipe,
                                    folder.file("new"), folder.write("empty", ""sv)})
        CHECK(check_target({.path = path, .kind = FileKind::png}));
}

TEST_CASE("a recording that comes to be there meanwhile is kept", "[io]") {
    const TestFolder folder;
    const std::string path = folder.file("out.html");
    const auto output = OutputFile::create({.path = path, .kind = FileKind::report});
    REQUIRE(output);
    REQUIRE((*output)->write(kReport));
    folder.write("out.html", kTmk);

    CHECK_FALSE((*output)->commit());
    CHECK(folder.read("out.html") == kTmk);
    CHECK(folder.entries() == 1);
}

TEST_CASE("a word of ours within foreign JSON makes it none of our kinds", "[io]") {
    for (const std::string_view text :
         {R"({"name": "x", "notes": "tidemark \"format\": \"tidemark-machine\""})"sv,
          R"({"inner": {"format": "tidemark-machine", "stop_at_out_of_memory": false}})"sv,
          R"({"list": [{"tidemark": "1", "command": "x", "policy": "y"}]})"sv,
          R"({"tidemark": "is what we use"})"sv, R"({"dependencies": {"tidemark": "^1.0"}})"sv,
          R"(["format", "tidemark-machine"])"sv, R"({"unit":"kg","weights":[1]})"sv, "{"sv, "{\""sv,
          "{\"a\\"sv})
        CHECK(kind_of(text) == FileKind::unknown);
    CHECK(kind_of(R"({"a": [{}], "format": "tidemark-machine"})") == FileKind::machine);
    CHECK(kind_of(R"({"format": "tidemark-figures", "version": 1})") == FileKind::figures);
    CHECK(kind_of("12 0 malloc 2097152 -> p1\n") == FileKind::decisions);
}
