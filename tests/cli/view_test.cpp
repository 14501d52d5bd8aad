// `view`: what is passed on to the viewer, and what is said where there is none.
#include <filesystem>

#include <catch2/catch.hpp>

#include "tests/cli/command_line.h"

using namespace tidemark;
using support::contains;
using support::Said;

namespace {

// The program without a viewer beside it.
std::string lone_copy(const support::Folder& folder) {
    const std::string copy = folder / "tidemark";
    std::filesystem::copy_file(TIDEMARK_PROGRAM, copy);
    return copy;
}

std::string first_line(const std::string& text) {
    return text.substr(0, text.find('\n'));
}

// Runs `program` with these words and takes what it writes; its exit code is the last line.
std::string run(const std::string& path, const std::string& line, const support::Folder& folder) {
    const std::string out = folder / "out";
    const std::string command = "PATH=" + path + " " + line + " > " + out + " 2>&1";
    const int status = std::system(command.c_str());
    return support::read_file(out) + "\ncode " + std::to_string(status >> 8U) + "\n";
}

}  // namespace

TEST_CASE("without a viewer, view says where it looked and how to get one", "[cli][view]") {
    const support::Folder folder;
    const std::string said = run("/nonexistent", lone_copy(folder) + " view run.tmk", folder);
    CHECK(first_line(said).starts_with("tidemark: tidemark-view: the viewer isn't installed"));
    CHECK(contains(said, folder.path()));
    CHECK(contains(said, "libimgui-dev"));
    CHECK(contains(said, "code 5"));
}

TEST_CASE("view hands its words on, whatever they are", "[cli][view]") {
    const support::Folder folder;
    const std::string program = lone_copy(folder);
    const support::Folder bin;
    support::write_file(bin / "tidemark-view", "#!/bin/sh\necho \"$#:\" \"$@\"\nexit 4\n");
    std::filesystem::permissions(bin / "tidemark-view", std::filesystem::perms::owner_all);
    for (const std::string arguments : {"a.tmk b.tmk --policy torch:x=1 -p buddy", "--help",
                                        "--goto 't=1s..2s;run=0' x y", "-", "--version"}) {
        const std::string said = run(bin.path() + ":/bin", program + " view " + arguments, folder);
        INFO(arguments);
        std::string plain = arguments;
        std::erase(plain, '\'');
        CHECK(contains(said, ": " + plain + "\n"));
        CHECK(contains(said, "code 4"));
    }
    CHECK(contains(run(bin.path() + ":/bin", program + " view", folder), "0:"));
}

TEST_CASE("a viewer beside the program goes before one in the path", "[cli][view]") {
    const support::Folder folder;
    const std::string program = lone_copy(folder);
    const support::Folder bin;
    const auto install = [](const std::string& file, const std::string& content) {
        support::write_file(file, content);
        std::filesystem::permissions(file, std::filesystem::perms::owner_all);
    };
    install(folder / "tidemark-view", "#!/bin/sh\necho beside\n");
    install(bin / "tidemark-view", "#!/bin/sh\necho elsewhere\n");
    CHECK(contains(run(bin.path() + ":/bin", program + " view x", folder), "beside"));

    install(folder / "tidemark-view", "not a program");
    const std::string said = run("/nonexistent", program + " view x", folder);
    CHECK(contains(said, "tidemark-view"));
}
