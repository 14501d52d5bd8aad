// A disk store over files that fail: nothing is lost, nothing stays, quotas are exact.
#include <array>
#include <cerrno>
#include <map>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "core/tiers/disk/disk_format.h"
#include "core/tiers/disk/disk_store.h"
#include "tests/support/disk_content.h"
#include "tests/support/memory_files.h"
#include "tests/support/system_limits.h"

namespace tidemark {
namespace {

using support::content_of;
using support::difference;
using support::FileCall;
using support::kOne;
using support::kTwo;
using support::MemoryFiles;
using support::small_options;
using support::ThreadLimit;

using Contents = std::map<BufferId, std::vector<std::byte>>;

// What the files of a store take, and that is what it says.
std::string uncounted(MemoryFiles& files, const DiskStore& store) {
    Bytes sum = 0;
    for (const DirectoryState& state : store.directories()) {
        if (files.bytes_in(state.path) != state.used)
            return state.path + " holds " + std::to_string(files.bytes_in(state.path)) + ", not " +
                   std::to_string(state.used);
        sum += state.used;
    }
    if (files.open_files() != store.directories().size())
        return "open files beside the locks: " + std::to_string(files.open_files());
    return sum == store.usage().used ? "" : "the sum is wrong";
}

// The script of the n-th call test: after each step the store holds what `expected` says.
void run_script(DiskStore& store, Contents& expected) {
    const auto write = [&](std::uint32_t id, Bytes size, std::uint64_t seed) {
        auto content = content_of(seed, size);
        if (support::store(store, BufferId{id}, content))
            expected[BufferId{id}] = std::move(content);
    };
    write(1, 40'000, 1);
    write(2, 4096, 2);
    (void)support::load(store, kOne);
    write(1, 20'000, 3);
    const auto content = content_of(4, 20'000);
    const std::array<std::span<const std::byte>, 1> source{content};
    if (auto writer = store.begin_write(BufferId{3}, content.size())) {
        (void)store.write_part(*writer, 0, source).wait();
        if (store.commit(*writer).wait())
            expected[BufferId{3}] = content;
    }
    (void)store.erase(kTwo);
    expected.erase(kTwo);  // forgotten even when its file would not go
    write(4, 9000, 5);
}

std::string compare(DiskStore& store, const Contents& expected) {
    if (store.usage().buffers != expected.size())
        return "another number of buffers";
    for (const auto& [id, content] : expected) {
        if (std::string what = difference(store, id, content); !what.empty())
            return "buffer " + std::to_string(to_integer(id)) + ": " + what;
    }
    return {};
}

// One failure, at the n-th call of the script; false if the script has fewer.
bool fail_once(std::uint64_t n, int error, const std::vector<std::string>& directories) {
    MemoryFiles files(kFileBlock, n);
    for (const std::string& directory : directories)
        files.add_directory(directory);
    auto store = DiskStore::open(files, small_options(directories));
    REQUIRE(store);
    const std::uint64_t first = files.calls();
    bool failed = false;
    FileCall which{};
    files.set_script([&](FileCall call, const std::string&, std::uint64_t number) {
        if (failed || number != first + n)
            return 0;
        failed = true;
        which = call;
        return error;
    });
    Contents expected;
    run_script(**store, expected);
    files.set_script(nullptr);
    INFO("failed at call " << n << ", kind " << static_cast<int>(which));
    CHECK(compare(**store, expected) == "");
    (void)(*store)->erase(kOne);  // tries again what would not go
    expected.erase(kOne);
    CHECK(uncounted(files, **store) == "");
    CHECK(support::store(**store, kOne, content_of(9, 30'000)));
    CHECK(difference(**store, kOne, content_of(9, 30'000)) == "");
    store->reset();
    for (const std::string& directory : directories)
        CHECK(files.names(directory) == std::vector<std::string>{std::string(kSpillLockName)});
    CHECK(files.open_files() == 0);
    return failed;
}

}  // namespace

TEST_CASE("a failure of any call loses nothing and leaves nothing (defects 17, 18)",
          "[tiers][disk]") {
    const int error = GENERATE(EIO, ENOSPC);
    const auto directories =
        GENERATE(std::vector<std::string>{"/a"}, std::vector<std::string>{"/a", "/b"});
    std::uint64_t n = 1;
    while (fail_once(n, error, directories))
        ++n;
    CHECK(n > 40);  // calls of the script
}

TEST_CASE("a store without a thread is an error, with fewer than wanted it works",
          "[tiers][disk]") {
    MemoryFiles files(kFileBlock, 1);
    files.add_directory("/a");
    DiskStoreOptions options = small_options({"/a"});
    options.workers = 3;
    {
        const ThreadLimit none(0);
        const auto store = DiskStore::open(files, options);
        REQUIRE_FALSE(store);
        CHECK(store.error().code == ErrorCode::io);
        CHECK(store.error().what.starts_with("cannot start a thread"));
    }
    const ThreadLimit one(1);
    const auto store = DiskStore::open(files, options);
    REQUIRE(store);
    CHECK(compare(**store, {}).empty());
}

TEST_CASE("a directory that fails for good is passed over", "[tiers][disk]") {
    MemoryFiles files;
    files.add_directory("/bad");
    files.add_directory("/good");
    auto store = DiskStore::open(files, small_options({"/bad", "/good"}));
    REQUIRE(store);
    files.set_script([](FileCall call, const std::string& path, std::uint64_t) {
        return call == FileCall::write && path.starts_with("/bad") ? EIO : 0;
    });
    const auto content = content_of(1, 50'000);
    for (std::uint32_t id = 0; id < 5; ++id)
        REQUIRE(support::store(**store, BufferId{id}, content));
    for (std::uint32_t id = 0; id < 5; ++id)
        CHECK(difference(**store, BufferId{id}, content) == "");
    auto states = (*store)->directories();
    CHECK(states[0].used == 0);
    CHECK(states[0].failed_writes == 1);  // tried once
    REQUIRE(states[0].last_error);
    CHECK_THAT(to_text(*states[0].last_error), Catch::Contains("/bad/tidemark-"));
    CHECK(uncounted(files, **store) == "");
    SECTION("it is used again when it is the last resort and well") {
        files.set_script(nullptr);
        REQUIRE(support::store(**store, kOne, content));
        CHECK((*store)->directories()[0].used == 0);
        DiskStoreOptions tight = small_options({"/bad", "/good"});
        store->reset();
        tight.directories[1].quota = 0;
        auto other = DiskStore::open(files, tight);
        REQUIRE(other);
        CHECK(support::store(**other, kOne, content));
    }
    SECTION("a write that every directory spoils says why the first one did") {
        files.set_script([](FileCall call, const std::string&, std::uint64_t) {
            return call == FileCall::write ? EIO : 0;
        });
        const auto failed = support::store(**store, kOne, content);
        REQUIRE_FALSE(failed);
        CHECK(failed.error().code == ErrorCode::io);
        CHECK_THAT(failed.error().where, Catch::Contains(".spill:0x"));
        CHECK_THAT(failed.error().what, Catch::Contains("errno 5"));
        files.set_script(nullptr);
        CHECK(difference(**store, kOne, content) == "");  // what was there before
        CHECK(support::store(**store, kTwo, content));
    }
}

TEST_CASE("a disk that is full is an ordinary error", "[tiers][disk]") {
    MemoryFiles files;
    files.add_directory("/small", 10 * kFileBlock);
    auto store = DiskStore::open(files, small_options({"/small"}));
    REQUIRE(store);
    const auto content = content_of(1, 6 * kFileBlock);
    REQUIRE(support::store(**store, kOne, content));
    const auto full = support::store(**store, kTwo, content);
    REQUIRE_FALSE(full);
    CHECK(full.error().code == ErrorCode::no_space);
    CHECK(uncounted(files, **store) == "");
    CHECK(difference(**store, kOne, content) == "");
    CHECK((*store)->directories()[0].failed_writes == 1);
    REQUIRE((*store)->erase(kOne));
    CHECK((*store)->directories()[0].failed_writes == 0);  // there is room again
    CHECK(support::store(**store, kTwo, content));
}

TEST_CASE("short and interrupted transfers are carried on (defect 18)", "[tiers][disk]") {
    const Bytes alignment = GENERATE(Bytes{1}, Bytes{512}, kFileBlock);
    MemoryFiles files(alignment);
    files.add_directory("/a");
    files.add_directory("/b");
    DiskStoreOptions options = small_options({"/a", "/b"});
    options.chunk = 16 * kFileBlock;
    auto store = DiskStore::open(files, options);
    REQUIRE(store);
    files.set_short(2);
    files.set_interrupted(3);
    for (std::uint32_t id = 0; id < 20; ++id) {
        const auto content = content_of(id, 300'000 + id);
        REQUIRE(support::store(**store, BufferId{id}, content));
        CHECK(difference(**store, BufferId{id}, content) == "");
    }
}

TEST_CASE("a file that changed on disk is not read as if it had not", "[tiers][disk]") {
    MemoryFiles files;
    files.add_directory("/a");
    auto store = DiskStore::open(files, small_options({"/a"}));
    REQUIRE(store);
    const auto content = content_of(1, 5 * kFileBlock);
    REQUIRE(support::store(**store, kOne, content));
    const std::string path = "/a/" + files.names("/a").front();
    const auto whole = files.content(path);
    SECTION("a bit of its content") {
        auto changed = whole;
        changed[3 * kFileBlock + 17] ^= std::byte{4};
        files.put(path, changed);
        const auto read = support::load(**store, kOne);
        REQUIRE_FALSE(read);
        CHECK(read.error().code == ErrorCode::bad_input);
        CHECK_THAT(read.error().what, Catch::Contains("checksum"));
        CHECK(read.error().where == path + ":0x3000");  // the chunk that it lies in
        std::vector<std::byte> rest(2 * kFileBlock);    // others are well
        const std::array<std::span<std::byte>, 1> targets{rest};
        CHECK((*store)->read(kOne, targets, 0));
    }
    SECTION("its length") {
        files.put(path, {whole.begin(), whole.begin() + 4 * kFileBlock});
        const auto read = support::load(**store, kOne);
        REQUIRE_FALSE(read);
        CHECK_THAT(to_text(read.error()), Catch::Contains("ends early"));
    }
    SECTION("it is gone") {
        REQUIRE(files.remove(path));
        CHECK_THAT(to_text(support::load(**store, kOne).error()), Catch::Contains("No such file"));
        CHECK((*store)->erase(kOne));  // nothing more to remove
        CHECK((*store)->usage().used == 0);
        return;
    }
    CHECK((*store)->contains(kOne));
    files.put(path, whole);
    CHECK(difference(**store, kOne, content) == "");
}

TEST_CASE("a file that would not go counts until it has gone", "[tiers][disk]") {
    MemoryFiles files;
    files.add_directory("/a");
    auto store = DiskStore::open(files, small_options({"/a"}));
    REQUIRE(store);
    REQUIRE(support::store(**store, kOne, content_of(1, 4096)));
    files.set_script([](FileCall call, const std::string&, std::uint64_t) {
        return call == FileCall::remove ? EBUSY : 0;
    });
    const auto erased = (*store)->erase(kOne);
    REQUIRE_FALSE(erased);
    CHECK_THAT(erased.error().what, Catch::Contains("cannot be removed"));
    CHECK_FALSE((*store)->contains(kOne));
    CHECK((*store)->usage().used == 2 * kFileBlock);
    CHECK((*store)->usage().stored == 0);
    files.set_script(nullptr);
    CHECK((*store)->erase(kTwo).error().code == ErrorCode::not_found);  // any erase tries again
    CHECK((*store)->usage().used == 0);
    CHECK(uncounted(files, **store) == "");
}

TEST_CASE("a name that is taken is not removed", "[tiers][disk]") {
    MemoryFiles files;
    files.add_directory("/a");
    auto store = DiskStore::open(files, small_options({"/a"}));
    REQUIRE(store);
    const std::string path = "/a/" + to_text(SpillName{0, 0});  // what the first write will use
    files.put(path, content_of(3, 10));
    const auto written = support::store(**store, kOne, content_of(1, 4096));
    REQUIRE_FALSE(written);
    CHECK_THAT(written.error().what, Catch::Contains("File exists"));
    CHECK(files.content(path) == content_of(3, 10));
    CHECK(support::store(**store, kOne, content_of(1, 4096)));
}

}  // namespace tidemark
