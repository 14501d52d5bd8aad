// Histories are kept in the user's cache, by what they are of, and taken from there as they were.
#include "replay/scenario/history_store.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <catch2/catch.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "replay/scenario/cache_folder.h"
#include "replay/scenario/record_history.h"
#include "tests/support/history_digest.h"
#include "tests/support/own_cache.h"
#include "tests/support/test_folder.h"
#include "traces/open.h"

namespace tidemark {
namespace {

namespace fs = std::filesystem;

using support::OwnCache;
using support::TestFolder;

RecordedRun look_at(const std::string& path, const RecordHistoryOptions& options = {},
                    const std::string& policy = "torch") {
    const auto trace = open_trace(path);
    REQUIRE(trace);
    auto recorded = record_history(**trace, {.trace = path, .policy = policy}, options);
    INFO((recorded ? "" : to_text(recorded.error())));
    REQUIRE(recorded);
    return std::move(*recorded);
}

std::string digest(const RecordedRun& recorded) {
    return support::history_digest(*recorded.history, recorded.run);
}

std::string made(const TestFolder& folder, const std::string& source,
                 const char* name = "run.tmk") {
    REQUIRE(import_trace(
        source,
        OutputTarget{.path = folder.file(name), .kind = FileKind::recording, .force = true}));
    return folder.file(name);
}

// That nothing is kept, why, and that the run is there all the same.
void check_not_kept(const std::string& path, const std::string& why) {
    const RecordedRun recorded = look_at(path);
    CHECK_FALSE(recorded.from_cache);
    REQUIRE(!recorded.run.warnings.empty());
    INFO(recorded.run.warnings.back());
    CHECK(recorded.run.warnings.back().find("not kept") != std::string::npos);
    CHECK(recorded.run.warnings.back().find(why) != std::string::npos);
    CHECK(recorded.history->counts().events == recorded.run.summary.events);
}

}  // namespace

TEST_CASE("a history is taken from the cache the second time", "[cache]") {
    const OwnCache cache;
    const TestFolder folder;
    const std::string path =
        made(folder, TIDEMARK_SOURCE_DIR "/traces/samples/torch/gpt2_var.pickle.xz");
    const RecordedRun first = look_at(path);
    CHECK_FALSE(first.from_cache);
    const RecordedRun second = look_at(path);
    CHECK(second.from_cache);
    CHECK(second.history->complete());
    CHECK(digest(second) == digest(first));
    CHECK_FALSE(look_at(path, {}, "best-fit").from_cache);
    CHECK(look_at(path, {}, "best-fit").from_cache);
    CHECK(cache.entries().size() == 2);
    CHECK_FALSE(look_at(path, {.keep = false}).from_cache);
    CHECK(folder.entries() == 1);  // the trace: nothing beside it
}

TEST_CASE("a history that is taken from the cache has its launches", "[cache]") {
    const OwnCache cache;
    const TestFolder folder;
    const std::string path = made(folder, "generate:training:steps=2");
    const RecordedRun first = look_at(path);
    const RecordedRun second = look_at(path);
    CHECK(second.from_cache);
    CHECK(first.history->counts().launches > 0);
    CHECK(digest(second) == digest(first));
}

TEST_CASE("real traces of every system are taken from the cache", "[cache]") {
    const OwnCache cache;
    const TestFolder folder;
    for (const char* const name : {"torch/graphs.pickle.xz", "torch/resnet-frames.pickle.xz",
                                   "torch/multistream.pickle.xz", "streams/fsdp-1.1.pickle.xz"}) {
        INFO(name);
        const std::string path =
            made(folder, std::string(TIDEMARK_SOURCE_DIR "/traces/samples/") + name);
        const std::string first = digest(look_at(path, {}, ""));
        const RecordedRun second = look_at(path, {}, "");
        CHECK(second.from_cache);
        CHECK(digest(second) == first);
    }
}

TEST_CASE("the same trace under another path has the same history", "[cache]") {
    const OwnCache cache;
    const TestFolder folder;
    const std::string path = made(folder, "generate:mix:events=3000");
    const std::string expected = digest(look_at(path));
    fs::copy_file(path, folder.file("copy.tmk"));

    const RecordedRun copy = look_at(folder.file("copy.tmk"));

    CHECK(copy.from_cache);
    CHECK(copy.run.scenario.trace == folder.file("copy.tmk"));
    CHECK(digest(copy) == expected);
    made(folder, "generate:mix:events=4000");
    CHECK_FALSE(look_at(path).from_cache);
    CHECK(cache.entries().size() == 2);
}

// What lies beside a trace may come from anybody: with an archive, in a shared folder.
TEST_CASE("a folder beside a trace is neither read nor deleted", "[cache]") {
    const OwnCache cache;
    const TestFolder folder;
    const std::string path = made(folder, "generate:mix:events=3000");
    const std::string expected = digest(look_at(path));
    const fs::path old = path + ".tidemark";
    fs::create_directory(old);
    fs::copy(cache.entries().front(), old / cache.entries().front().filename());
    for (const char* const name : {"draft-thesis", "0123456789abcdef"}) {
        fs::create_directory(old / name);
        std::ofstream(old / name / "head") << "somebody's";
    }
    fs::remove_all(cache.path());

    const RecordedRun recorded = look_at(path);

    CHECK_FALSE(recorded.from_cache);
    CHECK(digest(recorded) == expected);
    CHECK(std::distance(fs::directory_iterator(old), {}) == 3);
    CHECK(fs::exists(old / "draft-thesis" / "head"));
    CHECK(fs::exists(old / "0123456789abcdef" / "head"));
}

TEST_CASE("where nothing can be kept, that is a warning", "[cache]") {
    const TestFolder folder;
    const std::string path = made(folder, "generate:mix:events=3000");
    const OwnCache cache;
    SECTION("a file is in the way") {
        std::ofstream(cache.path()) << "in the way";
        check_not_kept(path, "not a folder");
    }
    SECTION("others may write there") {
        REQUIRE(OwnFolder::make(cache.path().string()));
        REQUIRE(::chmod(cache.path().c_str(), 0777) == 0);
        check_not_kept(path, "can be written by other users");
        CHECK(cache.entries().empty());
    }
    SECTION("the folder is a link") {
        REQUIRE(OwnFolder::make(folder.file("elsewhere")));
        fs::create_directory_symlink(folder.file("elsewhere"), cache.path());
        check_not_kept(path, "not a folder");
        CHECK(fs::is_empty(folder.file("elsewhere")));
    }
    SECTION("it is larger than all may be together") {
        ::setenv(kCacheLimit, "10kB", 1);
        check_not_kept(path, "may be needed");
        ::setenv(kCacheLimit, "much", 1);
        check_not_kept(path, kCacheLimit);
        ::unsetenv(kCacheLimit);
    }
}

TEST_CASE("an entry that somebody else has something in stays as it is", "[cache]") {
    const OwnCache cache;
    const TestFolder folder;
    const std::string path = made(folder, "generate:mix:events=3000");
    look_at(path);
    const fs::path entry = cache.entries().front();
    std::ofstream(entry / "letter.txt") << "mine";
    CHECK(look_at(path).from_cache);
    fs::resize_file(entry / "blocks", 1);

    check_not_kept(path, "in its way");

    CHECK(fs::exists(entry / "letter.txt"));
    CHECK(fs::file_size(entry / "blocks") == 1);
    CHECK(cache.entries().size() == 1);
}

TEST_CASE("links and pipes among the columns are not followed, and replaced", "[cache]") {
    const OwnCache cache;
    const TestFolder folder;
    const std::string path = made(folder, "generate:mix:events=3000");
    const std::string expected = digest(look_at(path));
    const fs::path entry = cache.entries().front();
    for (const char* const name : {"head", "blocks", "kinds"}) {
        for (const bool pipe : {false, true}) {
            INFO(name << " " << pipe);
            fs::copy_file(entry / name, folder.file("outside"),
                          fs::copy_options::overwrite_existing);
            fs::remove(entry / name);
            if (pipe)
                REQUIRE(::mkfifo((entry / name).c_str(), 0600) == 0);
            else
                fs::create_symlink(folder.file("outside"), entry / name);
            const RecordedRun again = look_at(path);
            CHECK_FALSE(again.from_cache);
            CHECK(digest(again) == expected);
            CHECK(fs::exists(folder.file("outside")));
            CHECK(fs::is_regular_file(fs::symlink_status(entry / name)));
        }
    }
}

TEST_CASE("what was used longest ago makes room", "[cache]") {
    const OwnCache cache;
    const TestFolder folder;
    std::vector<std::string> paths;
    for (const char* const seed : {"1", "2", "3"}) {
        paths.push_back(made(folder, std::string("generate:mix:events=3000,seed=") + seed,
                             (std::string(seed) + ".tmk").c_str()));
        if (paths.size() < 3)
            look_at(paths.back());
    }
    for (const fs::path& entry : cache.entries())
        fs::last_write_time(entry / kHeadFile,
                            fs::file_time_type::clock::now() - std::chrono::hours(1));
    CHECK(look_at(paths[0]).from_cache);  // so the second was used before it
    Bytes size = 0;
    for (const auto& file : fs::directory_iterator(cache.entries().front()))
        size += file.file_size();
    const std::string limit = std::to_string(size * 5 / 2) + "B";  // two of them, and no third

    ::setenv(kCacheLimit, limit.c_str(), 1);
    CHECK_FALSE(look_at(paths[2]).from_cache);
    CHECK(cache.entries().size() == 2);
    CHECK(look_at(paths[0]).from_cache);
    CHECK(look_at(paths[2]).from_cache);
    CHECK_FALSE(look_at(paths[1]).from_cache);
    ::unsetenv(kCacheLimit);
}

TEST_CASE("a history that is looked at goes on when its entry is deleted", "[cache]") {
    const OwnCache cache;
    const TestFolder folder;
    const std::string path = made(folder, "generate:mix:events=3000");
    const std::string expected = digest(look_at(path));
    const RecordedRun shown = look_at(path);
    REQUIRE(shown.from_cache);
    const auto own = OwnFolder::open(cache.path().string());
    REQUIRE(own);

    CHECK(clear_cache(*own).entries == 1);

    CHECK(cache.entries().empty());
    CHECK(digest(shown) == expected);
}

}  // namespace tidemark
