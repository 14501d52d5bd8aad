// OwnFolder: nothing of other users, and nothing behind links, is opened.
#include "traces/io/own_folder.h"

#include <filesystem>
#include <set>

#include <catch2/catch.hpp>
#include <fcntl.h>
#include <sys/stat.h>

#include "tests/support/test_folder.h"

using namespace tidemark;
namespace fs = std::filesystem;
using support::TestFolder;

namespace {

std::string made(const TestFolder& folder, const char* name) {
    const std::string path = folder.file(name);
    REQUIRE(OwnFolder::make(path));
    return path;
}

}  // namespace

TEST_CASE("a folder of one's own is made for its owner alone", "[io]") {
    const TestFolder folder;
    const std::string path = folder.file("above/own");

    REQUIRE(OwnFolder::make(path));

    CHECK(fs::status(path).permissions() == fs::perms::owner_all);
    CHECK(OwnFolder::open(path));
    CHECK(OwnFolder::make(path));
}

TEST_CASE("a folder that others may write, or a link to one, isn't opened", "[io]") {
    const TestFolder folder;
    const std::string path = made(folder, "own");
    fs::create_directory_symlink(path, folder.file("link"));

    CHECK(OwnFolder::open(folder.file("link")).error().code == ErrorCode::io);
    CHECK(OwnFolder::make(folder.file("link")).error().code == ErrorCode::io);
    CHECK(OwnFolder::open(folder.file("none")).error().code == ErrorCode::not_found);

    REQUIRE(::chmod(path.c_str(), 0770) == 0);
    CHECK(OwnFolder::open(path).error().what == "can be written by other users");
}

TEST_CASE("a folder of another user isn't opened", "[io]") {
    if (::geteuid() == 0) {
        const TestFolder folder;
        const std::string path = made(folder, "own");
        REQUIRE(::chown(path.c_str(), 12345, 12345) == 0);
        CHECK(OwnFolder::open(path).error().what == "belongs to another user");
    } else {
        CHECK(OwnFolder::open("/").error().what == "belongs to another user");
    }
}

TEST_CASE("a file in it is opened by its name, and only if it is one", "[io]") {
    const TestFolder folder;
    const std::string path = made(folder, "own");
    const auto own = OwnFolder::open(path);
    REQUIRE(own);
    folder.write("outside", "private");

    REQUIRE(own->open_file("new", O_WRONLY | O_CREAT));
    CHECK(fs::status(path + "/new").permissions() ==
          (fs::perms::owner_read | fs::perms::owner_write));
    CHECK(own->open_file("new", O_RDONLY));
    CHECK_FALSE(own->open_file("new", O_WRONLY | O_CREAT));  // it is there

    fs::create_symlink(folder.file("outside"), path + "/link");
    CHECK_FALSE(own->open_file("link", O_RDONLY));
    CHECK_FALSE(own->open_file("link", O_WRONLY | O_CREAT));
    CHECK_FALSE(own->open_file("../outside", O_RDONLY));
    REQUIRE(::mkfifo((path + "/pipe").c_str(), 0600) == 0);
    CHECK(own->open_file("pipe", O_RDONLY).error().what == "is not a regular file");
    REQUIRE(::chmod((path + "/new").c_str(), 0666) == 0);
    CHECK(own->open_file("new", O_RDONLY).error().what == "can be written by other users");
}

TEST_CASE("folders in it are opened on the same terms, and its names are known", "[io]") {
    const TestFolder folder;
    const std::string path = made(folder, "own");
    const auto own = OwnFolder::open(path);
    REQUIRE(own);
    REQUIRE(OwnFolder::make(path + "/inner"));
    fs::create_directory_symlink(path + "/inner", path + "/link");

    const auto inner = own->open_folder("inner");
    REQUIRE(inner);
    CHECK(inner->path() == path + "/inner");
    CHECK(own->open_folder("none").error().code == ErrorCode::not_found);
    CHECK_FALSE(own->open_folder("link"));
    CHECK_FALSE(own->open_folder("../own"));
    CHECK_FALSE(own->open_folder(".."));
    for (int i = 0; i < 2; ++i) {  // as often as one likes
        auto names = own->names();
        REQUIRE(names);
        CHECK(std::set(names->begin(), names->end()) == std::set<std::string>{"inner", "link"});
    }
    REQUIRE(::chmod((path + "/inner").c_str(), 0777) == 0);
    CHECK(own->open_folder("inner").error().what == "can be written by other users");
}
