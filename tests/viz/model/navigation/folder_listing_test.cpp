// Folders as a chooser of files sees them.
#include "viz/model/navigation/folder_listing.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>

#include <catch2/catch.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/test_folder.h"

using namespace tidemark;
using namespace tidemark::viz;

namespace {

namespace fs = std::filesystem;

constexpr const char* kRmmLog = "Thread,Time,Action,Pointer,Size,Stream\n";

const Cancelled kGoesOn = false;

void make_older(const std::string& path, std::chrono::seconds by) {
    fs::last_write_time(path, fs::file_time_type::clock::now() - by);
}

std::vector<std::string> names_of(const FolderListing& listing) {
    std::vector<std::string> names;
    for (const FolderEntry& entry : listing.entries)
        names.push_back(entry.name);
    return names;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("a folder lists its folders, then its files, the newest first", "[viz][folder]") {
    const support::TestFolder folder;
    make_older(folder.write("old.csv", kRmmLog), std::chrono::hours(50));
    make_older(folder.write("new.txt", "hello"), std::chrono::minutes(5));
    fs::create_directory(folder.file("ranks"));
    make_older(folder.file("ranks"), std::chrono::hours(900));
    const FolderListing listing = list_folder(folder.path().string(), kGoesOn);
    REQUIRE_FALSE(listing.error);
    CHECK(names_of(listing) == Names{"ranks", "new.txt", "old.csv"});
    CHECK(listing.entries[0].is_folder);
    CHECK(listing.entries[1].bytes == 5);
    CHECK(age_text(listing.entries[1].age) == "5 min");
    CHECK(age_text(listing.entries[2].age) == "2 days");
}

TEST_CASE("recordings are known by what is in them, and nothing waits for a pipe",
          "[viz][folder]") {
    const support::TestFolder folder;
    folder.write("log", kRmmLog);
    folder.write("notes.csv", "nothing of that kind");
    folder.write("empty.tmk", "");
    fs::create_directory(folder.file("folder.tmk"));
    REQUIRE(::mkfifo(folder.file("pipe.tmk").c_str(), 0600) == 0);
    const FolderListing listing = list_folder(folder.path().string(), kGoesOn);
    const std::vector<bool> recordings = recordings_among(listing, 0, 100, kGoesOn);
    REQUIRE(recordings.size() == 5);
    for (std::size_t i = 0; i < recordings.size(); ++i)
        CHECK(recordings[i] == (listing.entries[i].name == "log"));
    CHECK(recordings_among(listing, 3, 1, kGoesOn).size() == 1);
    CHECK(recordings_among(listing, 5, 1, kGoesOn).empty());
}

TEST_CASE("a folder that can't be listed says why and what is there", "[viz][folder]") {
    const support::TestFolder folder;
    const FolderListing missing = list_folder(folder.file("a/b/c"), kGoesOn);
    REQUIRE(missing.error);
    CHECK(missing.error->what == "there is no such folder");
    CHECK(missing.error->hint == "the nearest that exists is " + folder.path().string());
    const FolderListing file = list_folder(folder.write("file", "x"), kGoesOn);
    REQUIRE(file.error);
    CHECK(file.error->what == "is a file, not a folder");
    if (::geteuid() == 0)
        return;  // may read everything
    fs::create_directory(folder.file("closed"));
    fs::permissions(folder.file("closed"), fs::perms::none);
    const FolderListing closed = list_folder(folder.file("closed"), kGoesOn);
    fs::permissions(folder.file("closed"), fs::perms::owner_all);
    REQUIRE(closed.error);
    CHECK(closed.error->what == "you may not read this folder");
}

TEST_CASE("names of any bytes and ten thousand entries are listed", "[viz][folder]") {
    const support::TestFolder folder;
    const std::string hostile = "a\nb\x1b[31m\xff.tmk";
    folder.write(hostile, kRmmLog);
    folder.write(std::string(255, 'x'), "x");
    for (int i = 0; i < 10'000; ++i)
        fs::create_symlink("nowhere", folder.file(std::to_string(i)));
    const FolderListing listing = list_folder(folder.path().string(), kGoesOn);
    CHECK(listing.entries.size() == 10'002);
    CHECK_FALSE(listing.is_cut);
    const auto found = std::ranges::find(listing.entries, hostile, &FolderEntry::name);
    REQUIRE(found != listing.entries.end());
    const auto at = static_cast<std::size_t>(found - listing.entries.begin());
    CHECK(recordings_among(listing, at, 1, kGoesOn) == std::vector{true});
    CHECK(shown_path(hostile) == "a\\nb\\x1b[31m\\xff.tmk");
    CHECK_FALSE(recordings_among(listing, 0, 10'002, true)[at]);
}

TEST_CASE("a typed path is a folder and a part of a name in it", "[viz][folder]") {
    const support::TestFolder home;
    const std::string path = home.path().string();
    ::setenv("HOME", path.c_str(), 1);
    const auto typed = [](std::string_view text) {
        const TypedPath parsed = typed_path(text, "/data/runs");
        return std::pair(parsed.folder, parsed.part);
    };
    CHECK(typed("") == std::pair<std::string, std::string>("/data/runs", ""));
    CHECK(typed(" step ") == std::pair<std::string, std::string>("/data/runs", "step"));
    CHECK(typed("a/b") == std::pair<std::string, std::string>("/data/runs/a", "b"));
    CHECK(typed("..") == std::pair<std::string, std::string>("/data", ""));
    CHECK(typed("../x") == std::pair<std::string, std::string>("/data", "x"));
    CHECK(typed("/") == std::pair<std::string, std::string>("/", ""));
    CHECK(typed("/etc/../tmp/") == std::pair<std::string, std::string>("/tmp", ""));
    CHECK(typed("~") == std::pair<std::string, std::string>(path, ""));
    CHECK(typed("~/x") == std::pair<std::string, std::string>(path, "x"));
    CHECK(typed("~x") == std::pair<std::string, std::string>("/data/runs", "~x"));
    CHECK(folder_above("/data/runs") == "/data");
    CHECK(folder_above("/data") == "/");
    CHECK(folder_above("/") == "/");
    CHECK(shown_path(path + "/x") == "~/x");
    CHECK(shown_path(path + "x") == path + "x");
}

TEST_CASE("ages are said in the largest unit of which there are two", "[viz][folder]") {
    constexpr std::int64_t kDay = 24 * 3600;
    CHECK(age_text(-5) == "now");
    CHECK(age_text(59) == "now");
    CHECK(age_text(3599) == "59 min");
    CHECK(age_text(3600) == "1 h");
    CHECK(age_text(2 * kDay - 1) == "47 h");
    CHECK(age_text(2 * kDay) == "2 days");
    CHECK(age_text(60 * kDay) == "2 months");
    CHECK(age_text(730 * kDay) == "2 years");
}
