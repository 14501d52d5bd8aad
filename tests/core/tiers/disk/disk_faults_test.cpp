// A disk store over files that fail: nothing is lost, nothing stays.
#include <array>
#include <cerrno>
#include <map>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

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
    for (const std::string& directory : store.options().directories)
        sum += files.bytes_in(directory);
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
        if (store.commit(*writer))
            expected[BufferId{3}] = content;
    }
    (void)store.erase(kTwo);
    expected.erase(kTwo);
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
    if (which != FileCall::release)  // then the file keeps what it has, for later buffers
        CHECK(uncounted(files, **store) == "");
    CHECK(support::store(**store, kOne, content_of(9, 30'000)));
    CHECK(difference(**store, kOne, content_of(9, 30'000)) == "");
    store->reset();
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
    CHECK(n > 30);  // calls of the script
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

TEST_CASE("a directory that fails is passed over", "[tiers][disk]") {
    MemoryFiles files;
    files.add_directory("/bad");
    files.add_directory("/good");
    auto store = DiskStore::open(files, small_options({"/bad", "/good"}));
    REQUIRE(store);
    files.set_script([](FileCall call, const std::string& directory, std::uint64_t) {
        return call == FileCall::write && directory == "/bad" ? EIO : 0;
    });
    const auto content = content_of(1, 50'000);
    const auto first = support::store(**store, kOne, content);
    REQUIRE_FALSE(first);  // it was not known then
    CHECK(first.error().code == ErrorCode::io);
    CHECK_THAT(first.error().what, Catch::Contains("errno 5"));
    CHECK_THAT(first.error().where, Catch::Contains("/bad, scratch file at 0x"));
    CHECK(uncounted(files, **store) == "");
    std::uint64_t refused = 0;
    for (std::uint32_t id = 0; id < 8; ++id)
        refused += support::store(**store, BufferId{id}, content) ? 0U : 1U;
    CHECK(refused <= 1);
    CHECK(files.bytes_in("/bad") == 0);
    SECTION("it is used again when it is the last resort and well") {
        files.set_script([](FileCall call, const std::string& directory, std::uint64_t) {
            return call == FileCall::allocate && directory == "/good" ? ENOSPC : 0;
        });
        CHECK(support::store(**store, kOne, content));
        CHECK(files.bytes_in("/bad") > 0);
    }
    SECTION("when all refuse, what was there stays") {
        files.set_script([](FileCall call, const std::string&, std::uint64_t) {
            return call == FileCall::write ? EIO : 0;
        });
        CHECK_FALSE(support::store(**store, kTwo, content_of(2, 50'000)));
        files.set_script(nullptr);
        CHECK(difference(**store, kTwo, content) == "");
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
    REQUIRE((*store)->erase(kOne));
    CHECK(support::store(**store, kTwo, content));
}

TEST_CASE("a full directory leaves the buffer to the others", "[tiers][disk]") {
    MemoryFiles files;
    files.add_directory("/small", 4 * kFileBlock);
    files.add_directory("/large");
    auto store = DiskStore::open(files, small_options({"/small", "/large"}));
    REQUIRE(store);
    const auto content = content_of(1, 30 * kFileBlock);
    REQUIRE(support::store(**store, kOne, content));
    CHECK(files.bytes_in("/small") == 4 * kFileBlock);
    CHECK(difference(**store, kOne, content) == "");
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
    std::vector<std::byte>& stored = files.content("/a");
    const std::vector<std::byte> whole = stored;
    SECTION("a bit of its content") {
        stored[2 * kFileBlock + 17] ^= std::byte{4};
        const auto read = support::load(**store, kOne);
        REQUIRE_FALSE(read);
        CHECK(read.error().code == ErrorCode::bad_input);
        CHECK_THAT(read.error().what, Catch::Contains("checksum"));
        CHECK(read.error().where == "/a, scratch file at 0x2000");  // the chunk that it lies in
        std::vector<std::byte> rest(2 * kFileBlock);                // others are well
        const std::array<std::span<std::byte>, 1> targets{rest};
        CHECK((*store)->read(kOne, targets, 0));
    }
    SECTION("its length") {
        stored.resize(4 * kFileBlock);
        const auto read = support::load(**store, kOne);
        REQUIRE_FALSE(read);
        CHECK_THAT(to_text(read.error()), Catch::Contains("ends early"));
    }
    stored = whole;
    CHECK(difference(**store, kOne, content) == "");
}

TEST_CASE("space that the file system does not take back is used again", "[tiers][disk]") {
    MemoryFiles files;
    files.add_directory("/a", 16 * kFileBlock);
    auto store = DiskStore::open(files, small_options({"/a"}));
    REQUIRE(store);
    files.set_script([](FileCall call, const std::string&, std::uint64_t) {
        return call == FileCall::release ? EOPNOTSUPP : 0;
    });
    for (std::uint32_t round = 0; round < 20; ++round) {
        const auto content = content_of(round, 12 * kFileBlock);
        REQUIRE(support::store(**store, kOne, content));
        CHECK(difference(**store, kOne, content) == "");
        REQUIRE((*store)->erase(kOne));
    }
}

}  // namespace tidemark
