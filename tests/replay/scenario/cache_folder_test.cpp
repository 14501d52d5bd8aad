// Where the cache lies, and that nothing is deleted but what is ours.
#include "replay/scenario/cache_folder.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <catch2/catch.hpp>
#include <unistd.h>

#include "tests/support/own_cache.h"
#include "tests/support/test_folder.h"

namespace tidemark {
namespace {

namespace fs = std::filesystem;

using support::OwnCache;
using support::TestFolder;

OwnFolder own_folder(const OwnCache& cache) {
    auto own = OwnFolder::make(cache.path().string());
    REQUIRE(own);
    return std::move(*own);
}

void write(const fs::path& path) {
    fs::create_directories(path.parent_path());
    fs::permissions(path.parent_path(), fs::perms::owner_all);
    std::ofstream(path) << "some bytes";
}

constexpr const char* kEntry = "0123456789abcdef";
constexpr const char* kDraft = "draft-0123456789abcdef-89abcdef";

}  // namespace

TEST_CASE("the cache is where the user's caches are", "[cache]") {
    const OwnCache cache;
    const TestFolder home;
    const std::string before = std::getenv("HOME") == nullptr ? "" : std::getenv("HOME");
    ::setenv("HOME", home.path().c_str(), 1);
    CHECK(cache_folder() == cache.path().string());

    ::setenv("XDG_CACHE_HOME", "relative", 1);
    CHECK(cache_folder() == home.file(".cache/tidemark"));
    ::setenv("XDG_CACHE_HOME", "", 1);
    CHECK(cache_folder() == home.file(".cache/tidemark"));

    // Not a home of one's own: the system's list of users says.
    for (const char* const other : {"", "relative", "/nonexistent"}) {
        ::setenv("HOME", other, 1);
        const auto folder = cache_folder();
        CHECK((!folder || (folder->starts_with('/') && folder->ends_with("/.cache/tidemark"))));
        CHECK((!folder || folder->find("nonexistent") == std::string::npos));
    }
    ::setenv("HOME", before.c_str(), 1);
}

TEST_CASE("only folders with our names in them are deleted", "[cache]") {
    const OwnCache cache;
    const OwnFolder own = own_folder(cache);
    write(cache.path() / kEntry / "head");
    write(cache.path() / kEntry / "event-blocks");
    write(cache.path() / kEntry / "held.part-0123abcd");
    write(cache.path() / "fedcba9876543210" / "head");
    write(cache.path() / "fedcba9876543210" / "letter.txt");
    fs::create_directories(cache.path() / "0000000000000000" / "blocks");
    fs::permissions(cache.path() / "0000000000000000", fs::perms::owner_all);
    write(cache.path() / "draft-thesis" / "chapter-1");
    write(cache.path() / "torch-memory.so");

    ClearedCache cleared = clear_cache(own);

    std::sort(cleared.left.begin(), cleared.left.end());
    CHECK(cleared.entries == 1);
    CHECK(cleared.bytes == 30);
    CHECK(cleared.left == std::vector<std::string>{"0000000000000000", "fedcba9876543210"});
    CHECK_FALSE(fs::exists(cache.path() / kEntry));
    CHECK(fs::exists(cache.path() / "fedcba9876543210" / "head"));
    CHECK(fs::exists(cache.path() / "0000000000000000" / "blocks"));
    CHECK(fs::exists(cache.path() / "draft-thesis" / "chapter-1"));
    CHECK(fs::exists(cache.path() / "torch-memory.so"));
}

TEST_CASE("no link is followed where something is deleted", "[cache]") {
    const OwnCache cache;
    const OwnFolder own = own_folder(cache);
    const TestFolder elsewhere;
    elsewhere.write("head", "private");
    fs::permissions(elsewhere.path(), fs::perms::owner_all);
    fs::create_directory_symlink(elsewhere.path(), cache.path() / kEntry);
    fs::create_directory_symlink(elsewhere.path(), cache.path() / kDraft);
    write(cache.path() / "1111111111111111" / "blocks");
    fs::create_symlink(elsewhere.file("head"), cache.path() / "1111111111111111" / "head");

    CHECK(clear_cache(own).entries == 1);

    CHECK(elsewhere.read("head") == "private");
    CHECK(fs::is_symlink(cache.path() / kEntry));
    CHECK_FALSE(fs::exists(cache.path() / "1111111111111111"));
}

TEST_CASE("a draft goes when nobody works at it", "[cache]") {
    const OwnCache cache;
    const OwnFolder own = own_folder(cache);
    write(cache.path() / kDraft / "kinds");
    {
        const auto draft = own.open_folder(kDraft);
        REQUIRE(draft);
        REQUIRE(lock_folder(*draft));
        REQUIRE(make_cache_room(own, 1));
        CHECK(fs::exists(cache.path() / kDraft));
        CHECK(clear_cache(own).left == std::vector<std::string>{kDraft});
    }
    REQUIRE(make_cache_room(own, 1));
    CHECK_FALSE(fs::exists(cache.path() / kDraft));
}

TEST_CASE("the limit of the cache is the environment's, or a share of the disk", "[cache]") {
    const OwnCache cache;
    const OwnFolder own = own_folder(cache);
    CHECK(*cache_limit(&own, 0) <= Bytes{10} << 30U);
    CHECK(*cache_limit(&own, 0) > 0);
    ::setenv(kCacheLimit, "3GiB", 1);
    CHECK(*cache_limit(&own, 0) == Bytes{3} << 30U);
    CHECK(*cache_limit(nullptr, 0) == Bytes{3} << 30U);
    for (const char* const wrong : {"much", "-1GiB", "3"}) {
        ::setenv(kCacheLimit, wrong, 1);
        const auto limit = cache_limit(&own, 0);
        REQUIRE_FALSE(limit);
        CHECK(limit.error().code == ErrorCode::bad_option);
        CHECK(limit.error().where == kCacheLimit);
        CHECK_FALSE(make_cache_room(own, 1));
    }
    ::unsetenv(kCacheLimit);
}

}  // namespace tidemark
