// OutputFile: whole or not at all, and nothing left lying about.
#include "traces/io/output_file.h"

#include <filesystem>
#include <fstream>

#include <catch2/catch.hpp>
#include <sys/stat.h>

#include "tests/support/test_folder.h"

using namespace tidemark;
namespace fs = std::filesystem;
using support::TestFolder;

TEST_CASE("an output appears with its content at commit, not before", "[io]") {
    const TestFolder folder;
    const std::string path = folder.file("out");
    const std::string text(1'000'000, 'x');
    auto output = OutputFile::create(path);
    REQUIRE(output);

    REQUIRE((*output)->write(text));
    CHECK_FALSE(fs::exists(path));
    REQUIRE((*output)->write(std::as_bytes(std::span("end", 3))));
    REQUIRE((*output)->commit());

    CHECK(folder.read("out") == text + "end");
    CHECK(folder.entries() == 1);
}

TEST_CASE("an output that is given up leaves the old file and nothing else", "[io]") {
    const TestFolder folder;
    const std::string path = folder.write("out", "old");
    {
        auto output = OutputFile::create(path);
        REQUIRE(output);
        REQUIRE((*output)->write(std::string(1'000'000, 'x')));
    }

    CHECK(folder.read("out") == "old");
    CHECK(folder.entries() == 1);
}

TEST_CASE("a new content keeps the file's permissions and the link to it", "[io]") {
    const TestFolder folder;
    folder.write("real", "old");
    fs::permissions(folder.file("real"), fs::perms::owner_read | fs::perms::owner_write);
    fs::create_symlink("real", folder.file("link"));

    auto output = OutputFile::create(folder.file("link"));
    REQUIRE(output);
    REQUIRE((*output)->write("new"));
    REQUIRE((*output)->commit());

    CHECK(fs::is_symlink(folder.file("link")));
    CHECK(folder.read("real") == "new");
    CHECK((fs::status(folder.file("real")).permissions() & fs::perms::others_read) ==
          fs::perms::none);
}

TEST_CASE("a device is written to and not replaced", "[io]") {
    auto output = OutputFile::create("/dev/null");
    REQUIRE(output);
    REQUIRE((*output)->write("gone"));
    REQUIRE((*output)->commit());

    CHECK(fs::is_character_file("/dev/null"));
}

TEST_CASE("paths that cannot be written to are named", "[io]") {
    const TestFolder folder;
    const auto refusal = [&](const char* name) {
        const auto created = OutputFile::create(folder.file(name));
        const auto checked = OutputFile::check(folder.file(name));
        REQUIRE_FALSE(created);
        REQUIRE_FALSE(checked);
        CHECK(created.error().code == ErrorCode::io);
        CHECK(to_text(created.error()) == to_text(checked.error()));
        return to_text(created.error());
    };

    CHECK_THAT(refusal("."), Catch::Contains("is a folder"));
    CHECK_THAT(refusal("no/such/folder"), Catch::Contains("no/such/folder"));
}

TEST_CASE("a check leaves what is there as it is and opens no pipe", "[io]") {
    const TestFolder folder;
    std::ofstream(folder.file("old")) << "old";
    REQUIRE(::mkfifo(folder.file("pipe").c_str(), 0600) == 0);

    for (const char* name : {"old", "new", "pipe"})  // to open the pipe would wait for a reader
        CHECK(OutputFile::check(folder.file(name)));
    CHECK(OutputFile::check("-"));
    CHECK(OutputFile::check("/dev/null"));

    CHECK(folder.read("old") == "old");
    CHECK(folder.entries() == 2);
}

TEST_CASE("a full device is an error", "[io]") {
    if (!fs::exists("/dev/full")) {
        WARN("skipped: /dev/full is missing");
        return;
    }
    auto output = OutputFile::create("/dev/full");
    REQUIRE(output);
    REQUIRE((*output)->write("text"));

    const auto committed = (*output)->commit();

    REQUIRE_FALSE(committed);
    CHECK_THAT(to_text(committed.error()), Catch::Contains("/dev/full"));
}
