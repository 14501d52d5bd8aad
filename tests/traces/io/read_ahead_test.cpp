// ReadAhead: the bytes of the input in order, its end and its errors, and a way out at any time.
#include "traces/io/read_ahead.h"

#include <algorithm>
#include <cstring>
#include <new>

#include <catch2/catch.hpp>

#include "core/base/random.h"
#include "tests/support/system_limits.h"
#include "tests/support/test_folder.h"
#include "traces/io/byte_source.h"
#include "traces/io/growing_block.h"

using namespace tidemark;
using ByteVector = std::vector<std::byte>;

namespace {

ByteVector noise(std::size_t size) {
    Random random(11);
    ByteVector bytes(size);
    for (std::byte& byte : bytes)
        byte = static_cast<std::byte>(random.below(256));
    return bytes;
}

// Gives a few bytes at a time, and an error instead of its end.
class Stubborn final : public RawInput {
  public:
    explicit Stubborn(std::span<const std::byte> bytes) : rest_(bytes) {}

    Result<std::size_t> read(std::span<std::byte> target) override {
        if (rest_.empty())
            return fail(ErrorCode::io, "cannot be read: no luck");
        const std::size_t count = std::min({target.size(), rest_.size(), std::size_t{100'003}});
        std::memcpy(target.data(), rest_.data(), count);
        rest_ = rest_.subspan(count);
        return count;
    }

    std::uint64_t size() const override { return 0; }

  private:
    std::span<const std::byte> rest_;
};

}  // namespace

TEST_CASE("blocks read ahead are the bytes of the input, then nothing, again and again", "[io]") {
    const ByteVector bytes = noise(GENERATE(0U, 1U, 3'000'000U, 4U << 20U));
    const support::ThreadLimit limit(GENERATE(0, 1));
    const auto input = raw_memory(bytes);
    ReadAhead ahead(*input);
    ByteVector all;
    for (;;) {
        const auto block = ahead.next();
        REQUIRE(block);
        if (block->empty())
            break;
        std::memset(block->data() - ReadAhead::kHeadroom, 0xff, ReadAhead::kHeadroom);
        all.insert(all.end(), block->begin(), block->end());
    }

    CHECK(all == bytes);
    CHECK(ahead.next()->empty());
    CHECK(ahead.next()->empty());
}

TEST_CASE("two blocks read ahead are valid at a time", "[io]") {
    const ByteVector bytes = noise(20'000'000);
    const auto input = raw_memory(bytes);
    ReadAhead ahead(*input);
    std::span<std::byte> before = *ahead.next();
    std::size_t offset = 0;
    bool same = true;
    while (!before.empty()) {
        const std::span<std::byte> block = *ahead.next();
        same = same && std::equal(before.begin(), before.end(),
                                  bytes.begin() + static_cast<std::ptrdiff_t>(offset));
        offset += before.size();
        before = block;
    }

    CHECK(same);
    CHECK(offset == bytes.size());
}

TEST_CASE("an error comes behind the bytes before it, and stays", "[io]") {
    const ByteVector bytes = noise(2'000'000);
    Stubborn input(bytes);
    ReadAhead ahead(input);
    std::size_t count = 0;
    auto block = ahead.next();
    for (; block; block = ahead.next())
        count += block->size();

    CHECK(count == bytes.size());
    CHECK(block.error().what == "cannot be read: no luck");
    CHECK_FALSE(ahead.next());
}

TEST_CASE("reading ahead may be given up at any time", "[io]") {
    const ByteVector bytes = noise(20'000'000);
    for (const int blocks : {0, 1, 5}) {
        const auto input = raw_memory(bytes);
        ReadAhead ahead(*input);
        for (int i = 0; i < blocks; ++i)
            REQUIRE(ahead.next()->size() != 0);
    }
}

TEST_CASE("a block that cannot be had is std::bad_alloc, as of every container", "[io]") {
    const support::NoMappings none;
    CHECK_THROWS_AS(resize_block(nullptr, 0, std::size_t{4} << 20U), std::bad_alloc);
}

TEST_CASE("a large file gives its bytes whatever the steps", "[io]") {
    const support::TestFolder folder;
    const ByteVector bytes = noise(9'000'001);
    // Below and above what fits in front of a block, and both by turns.
    const auto steps = GENERATE(std::pair(100U, 100U), std::pair(100'000U, 100'000U),
                                std::pair(3'000'000U, 17U), std::pair(5'000U, 1'000U));
    const auto opened = open_bytes(folder.write("large", bytes));
    REQUIRE(opened);
    ByteSource& source = **opened;
    std::size_t offset = 0;
    bool same = true;
    for (bool odd = false;; odd = !odd) {
        const std::size_t step = odd ? steps.first : steps.second;
        REQUIRE(source.need(step));
        const auto window = source.window();
        if (window.empty())
            break;
        const std::size_t count = std::min(step, window.size());
        same = same && source.offset() == offset && (count == step || window.size() < step) &&
               std::memcmp(window.data(), bytes.data() + offset, count) == 0;
        source.consume(count);
        offset += count;
    }

    CHECK(same);
    CHECK(offset == bytes.size());
    CHECK(source.raw_done() == bytes.size());
}
