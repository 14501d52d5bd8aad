// What a disk store promises when nothing goes wrong.
#include "core/tiers/disk/disk_store.h"

#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/support/disk_content.h"
#include "tests/support/memory_files.h"

namespace tidemark {
namespace {

using support::content_of;
using support::difference;
using support::kOne;
using support::kTwo;
using support::MemoryFiles;
using support::small_options;

std::unique_ptr<DiskStore> open_with_directories(MemoryFiles& files,
                                                 const DiskStoreOptions& options) {
    for (const std::string& directory : options.directories)
        files.add_directory(directory);
    auto store = DiskStore::open(files, options);
    if (!store)
        FAIL(to_text(store.error()));
    return std::move(*store);
}

}  // namespace

TEST_CASE("buffers of any size come back as they were (A-T29)", "[tiers][disk]") {
    const Bytes alignment = GENERATE(Bytes{1}, Bytes{512}, kFileBlock);
    MemoryFiles files(alignment);
    auto store = open_with_directories(files, small_options({"/a", "/b"}));
    for (const Bytes size : {Bytes{0}, Bytes{1}, Bytes{511}, Bytes{4095}, Bytes{4096}, Bytes{4097},
                             Bytes{8191}, Bytes{8192}, Bytes{8193}, Bytes{65536}, Bytes{99'999}}) {
        INFO(size << " bytes, alignment " << alignment);
        const auto content = content_of(size, size);
        REQUIRE(support::store(*store, kOne, content));
        CHECK(difference(*store, kOne, content) == "");
        CHECK(store->size(kOne) == size);
        CHECK(store->usage().stored == size);
        CHECK(store->usage().used == align_up(size, kFileBlock));
        CHECK(files.bytes_in("/a") + files.bytes_in("/b") == store->usage().used);
        CHECK(store->usage().buffers == 1);
    }
    REQUIRE(store->erase(kOne));
    CHECK_FALSE(store->size(kOne));
    CHECK(store->usage().used == 0);
}

TEST_CASE("scattered memory goes out and comes in at any alignment", "[tiers][disk]") {
    MemoryFiles files;
    auto store = open_with_directories(files, small_options({"/a", "/b", "/c"}));
    const auto content = content_of(11, 200'000);
    const std::span<const std::byte> all(content);
    const std::array<std::span<const std::byte>, 5> sources{
        all.first(4096), all.subspan(4096, 0), all.subspan(4096, 1), all.subspan(4097, 150'000),
        all.subspan(154'097)};
    REQUIRE(store->write(kOne, sources));
    CHECK(difference(*store, kOne, content) == "");
    std::vector<std::byte> back(content.size());
    const std::span<std::byte> there(back);
    const std::array<std::span<std::byte>, 3> targets{there.first(77), there.subspan(77, 100'000),
                                                      there.subspan(100'077)};
    REQUIRE(store->read(kOne, targets));
    CHECK(back == content);
}

TEST_CASE("aligned blocks are moved where they lie", "[tiers][disk]") {
    MemoryFiles files;  // wants transfers from multiples of 4096
    auto store = open_with_directories(files, small_options({"/a"}));
    constexpr Bytes kSize = 8 * kFileBlock;
    const std::unique_ptr<std::byte, decltype(&std::free)> memory(
        static_cast<std::byte*>(std::aligned_alloc(kFileBlock, kSize)), &std::free);
    const auto content = content_of(5, kSize);
    std::copy(content.begin(), content.end(), memory.get());
    std::vector<std::span<const std::byte>> sources;
    std::vector<std::span<std::byte>> targets;
    for (Bytes at = 0; at < kSize; at += kFileBlock) {
        sources.emplace_back(memory.get() + at, kFileBlock);
        targets.emplace_back(memory.get() + at, kFileBlock);
    }
    REQUIRE(store->write(kOne, sources));
    std::fill(memory.get(), memory.get() + kSize, std::byte{0});
    REQUIRE(store->read(kOne, targets));
    CHECK(std::equal(content.begin(), content.end(), memory.get()));
}

TEST_CASE("any part of a buffer can be read", "[tiers][disk]") {
    MemoryFiles files;
    auto store = open_with_directories(files, small_options({"/a", "/b"}));
    const auto content = content_of(21, 50'001);
    REQUIRE(support::store(*store, kOne, content));
    Random random(4);
    for (int round = 0; round < 200; ++round) {
        const Bytes from = random.below(content.size() + 1);
        std::vector<std::byte> part(random.below(content.size() - from + 1));
        const std::array<std::span<std::byte>, 1> targets{part};
        REQUIRE(store->read(kOne, targets, from));
        CHECK(std::equal(part.begin(), part.end(),
                         content.begin() + static_cast<std::ptrdiff_t>(from)));
    }
    std::vector<std::byte> one(1);
    const std::array<std::span<std::byte>, 1> targets{one};
    CHECK(store->read(kOne, targets, content.size()).error().code == ErrorCode::bad_input);
    CHECK(store->read(kOne, targets, ~Bytes{0}).error().code == ErrorCode::bad_input);
    CHECK(store->read(kTwo, targets).error().code == ErrorCode::not_found);
}

TEST_CASE("a second write takes the place of the first", "[tiers][disk]") {
    MemoryFiles files;
    auto store = open_with_directories(files, small_options({"/a", "/b"}));
    const auto first = content_of(1, 30'000);
    const auto second = content_of(2, 10'000);
    REQUIRE(support::store(*store, kOne, first));
    REQUIRE(support::store(*store, kOne, second));
    CHECK(difference(*store, kOne, second) == "");
    CHECK(store->usage().stored == 10'000);
    CHECK(files.bytes_in("/a") + files.bytes_in("/b") == store->usage().used);
    CHECK(store->erase(kTwo).error().code == ErrorCode::not_found);
}

TEST_CASE("a large buffer is spread over all directories evenly", "[tiers][disk]") {
    MemoryFiles files;
    auto store = open_with_directories(files, small_options({"/a", "/b", "/c", "/d"}));
    REQUIRE(support::store(*store, kOne, content_of(1, 64 * 8192)));
    for (const std::string& directory : store->options().directories)
        CHECK(files.bytes_in(directory) == 16 * 8192);
}

TEST_CASE("space is used again, and goes back to the disk", "[tiers][disk]") {
    MemoryFiles files;
    auto store = open_with_directories(files, small_options({"/a"}));
    Random random(3);
    for (std::uint32_t round = 0; round < 500; ++round) {
        const BufferId id{round % 5};
        const auto content = content_of(round, random.below(60'000));
        REQUIRE(support::store(*store, id, content));
        CHECK(difference(*store, id, content) == "");
        CHECK(files.bytes_in("/a") == store->usage().used);
    }
    CHECK(files.content("/a").size() < 600'000);  // the file grew no further
}

TEST_CASE("a buffer can be written in parts and in any order", "[tiers][disk]") {
    MemoryFiles files;
    DiskStoreOptions options = small_options({"/a", "/b"});
    options.workers = 3;
    auto store = open_with_directories(files, options);
    const auto content = content_of(9, 10 * options.chunk + 5);
    const std::span<const std::byte> all(content);
    auto writer = store->begin_write(kOne, content.size());
    REQUIRE(writer);
    std::vector<DiskTicket> tickets;
    for (const std::uint64_t part : {3U, 0U, 2U, 1U}) {
        const Bytes begin = part * 3 * options.chunk;
        const std::array<std::span<const std::byte>, 1> source{
            all.subspan(begin, std::min<Bytes>(3 * options.chunk, content.size() - begin))};
        if (part == 1)
            CHECK_FALSE(store->commit(*writer));  // not yet
        tickets.push_back(store->write_part(*writer, begin, source));
    }
    for (const DiskTicket& ticket : tickets)
        REQUIRE(ticket.wait());
    CHECK_FALSE(store->size(kOne));
    const std::array<std::span<const std::byte>, 1> odd{all.first(100)};
    CHECK(store->write_part(*writer, 0, odd).wait().error().code == ErrorCode::bad_input);
    CHECK(store->write_part(*writer, 4096, odd).wait().error().code == ErrorCode::bad_input);
    REQUIRE(store->commit(*writer));
    CHECK(difference(*store, kOne, content) == "");
}

TEST_CASE("a write in parts that is dropped leaves nothing", "[tiers][disk]") {
    MemoryFiles files;
    auto store = open_with_directories(files, small_options({"/a"}));
    const auto content = content_of(9, 8192);
    const std::array<std::span<const std::byte>, 1> source{content};
    {
        auto writer = store->begin_write(kOne, 3 * 8192);
        REQUIRE(writer);
        CHECK(store->usage().used == 3 * 8192);
        REQUIRE(store->write_part(*writer, 8192, source).wait());
        CHECK(store->commit(*writer).error().code == ErrorCode::bad_input);
    }
    CHECK(store->usage().used == 0);
    CHECK(files.bytes_in("/a") == 0);
    REQUIRE(support::store(*store, kOne, content));
}

TEST_CASE("an erased buffer's files wait for those who read it", "[tiers][disk]") {
    MemoryFiles files;
    auto store = open_with_directories(files, small_options({"/a"}));
    const auto content = content_of(1, 40'000);
    REQUIRE(support::store(*store, kOne, content));
    std::vector<std::vector<std::byte>> targets(20, std::vector<std::byte>(content.size()));
    std::vector<DiskTicket> reads;
    for (auto& target : targets) {
        const std::array<std::span<std::byte>, 1> spans{target};
        reads.push_back(store->read_async(kOne, spans));
    }
    REQUIRE(store->erase(kOne));
    CHECK_FALSE(store->size(kOne));
    for (std::size_t i = 0; i < reads.size(); ++i) {
        REQUIRE(reads[i].wait());
        CHECK(reads[i].done());
        CHECK(targets[i] == content);
    }
    CHECK(store->usage().used == 0);
    CHECK(files.bytes_in("/a") == 0);
}

TEST_CASE("operations under way end before the store does", "[tiers][disk]") {
    MemoryFiles files;
    DiskStoreOptions options = small_options({"/a"});
    options.workers = 2;
    const auto content = content_of(1, 40'000);
    const std::array<std::span<const std::byte>, 1> source{content};
    std::vector<DiskTicket> tickets;
    {
        auto store = open_with_directories(files, options);
        for (std::uint32_t id = 0; id < 50; ++id) {
            auto writer = store->begin_write(BufferId{id}, content.size());
            REQUIRE(writer);
            tickets.push_back(store->write_part(*writer, 0, source));
        }
    }
    for (const DiskTicket& ticket : tickets) {
        REQUIRE(ticket.done());
        CHECK(ticket.wait());
    }
    CHECK(files.bytes_in("/a") == 0);
    CHECK(files.open_files() == 0);
}

TEST_CASE("options that make no sense are refused", "[tiers][disk]") {
    MemoryFiles files;
    files.add_directory("/a");
    const auto code = [&](auto&& change) {
        DiskStoreOptions options = small_options({"/a"});
        change(options);
        const auto store = DiskStore::open(files, options);
        return store ? std::string("opened") : to_text(store.error());
    };
    using Given = DiskStoreOptions;
    CHECK(code([](Given&) {}) == "opened");
    CHECK_THAT(code([](Given& o) { o.directories.clear(); }), Catch::Contains("needs a direc"));
    CHECK_THAT(code([](Given& o) { o.chunk = 0; }), Catch::Contains("multiple of 4096"));
    CHECK_THAT(code([](Given& o) { o.chunk = 5000; }), Catch::Contains("multiple of 4096"));
    CHECK_THAT(code([](Given& o) { o.depth = 0; }), Catch::Contains("depth"));
    CHECK_THAT(code([](Given& o) { o.workers = 0; }), Catch::Contains("workers"));
    CHECK_THAT(code([](Given& o) {
                   o.directories = {"/a", "/nowhere"};
               }),
               Catch::Contains("No such file"));
    CHECK(files.open_files() == 0);
}

}  // namespace tidemark
