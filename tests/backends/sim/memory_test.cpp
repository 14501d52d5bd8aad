// ByteStore: content that is kept in pieces reads as if every byte were kept.
#include "backends/sim/memory.h"

#include <algorithm>

#include <catch2/catch.hpp>

#include "core/base/random.h"

using namespace tidemark;

namespace {

constexpr Address kBegin{0x302000000};

std::byte word_byte(std::uint32_t word, std::uint64_t address) {
    return static_cast<std::byte>(word >> (8 * (address % 4)));
}

// What ByteStore does, byte for byte.
class Plain {
  public:
    explicit Plain(Bytes size) : bytes_(size, ByteStore::kUnwritten) {}

    void fill_word(Bytes at, Bytes size, std::uint32_t word) {
        for (Bytes i = at; i < at + size; ++i)
            bytes_[i] = word_byte(word, to_integer(kBegin) + i);
    }

    std::vector<std::byte>& bytes() { return bytes_; }

  private:
    std::vector<std::byte> bytes_;
};

std::vector<std::byte> read(const ByteStore& store, Bytes at, Bytes size) {
    std::vector<std::byte> bytes(size);
    store.read(kBegin + at, bytes);
    return bytes;
}

}  // namespace

TEST_CASE("what nobody wrote is not zero") {
    const ByteStore store;
    CHECK(read(store, 3, 5) == std::vector<std::byte>(5, ByteStore::kUnwritten));
    CHECK(store.count_differing(kBegin, 1000, 0xa5a5a5a5) == 0);
    CHECK(store.count_differing(kBegin, 1000, 0xa5a5a500) == 250);
}

TEST_CASE("a pattern over a terabyte is one piece, and foreign bytes in it are counted") {
    ByteStore store;
    store.fill_word(kBegin, 1024_GiB, 0x04030201);
    CHECK(store.count_differing(kBegin, 1024_GiB, 0x04030201) == 0);
    CHECK(store.count_differing(kBegin, 1024_GiB, 0x04030200) == 256_GiB);
    CHECK(store.count_differing(kBegin, 1024_GiB, 0xff0302ff) == 512_GiB);

    const std::vector<std::byte> foreign(10, std::byte{1});
    store.write(kBegin + 500_GiB, foreign);
    // Of ten bytes 1 from a multiple of 4 on, those at offset 0, 4 and 8 are as they were.
    CHECK(store.count_differing(kBegin, 1024_GiB, 0x04030201) == 7);
    store.fill_word(kBegin + 500_GiB, 12, 0x04030201);
    CHECK(store.count_differing(kBegin, 1024_GiB, 0x04030201) == 0);
    store.drop({kBegin + 4, 8});
    CHECK(store.count_differing(kBegin, 1024_GiB, 0x04030201) == 8);
}

TEST_CASE("any order of writes, fills and drops reads as if every byte were kept") {
    constexpr Bytes kSize = 300'000;  // several of the longest pieces
    Random random(7);
    ByteStore store;
    Plain plain(kSize);
    for (int step = 0; step < 4000; ++step) {
        const Bytes at = random.below(kSize);
        const Bytes longest = random.below(8) == 0 ? kSize - at : std::min<Bytes>(kSize - at, 99);
        const Bytes size = random.below(longest + 1);
        const auto word = static_cast<std::uint32_t>(random.next());
        const auto here = plain.bytes().begin() + static_cast<std::ptrdiff_t>(at);
        switch (random.below(4)) {
            case 0:
                store.fill_word(kBegin + at, size, word);
                plain.fill_word(at, size, word);
                break;
            case 1:
                store.fill(kBegin + at, size, std::byte(word));
                std::fill_n(here, size, std::byte(word));
                break;
            case 2:
                store.drop({kBegin + at, size});
                std::fill_n(here, size, ByteStore::kUnwritten);
                break;
            default: {
                std::vector<std::byte> bytes(size);
                for (std::byte& byte : bytes)
                    byte = static_cast<std::byte>(random.next());
                store.write(kBegin + at, bytes);
                std::copy(bytes.begin(), bytes.end(), here);
            }
        }
        if (step % 16 == 0) {
            REQUIRE(read(store, at, kSize - at) ==
                    std::vector<std::byte>(here, plain.bytes().end()));
            Bytes differing = 0;
            for (Bytes i = at; i < kSize; ++i)
                differing += plain.bytes()[i] != word_byte(word, to_integer(kBegin) + i) ? 1U : 0U;
            REQUIRE(store.count_differing(kBegin + at, kSize - at, word) == differing);
        }
    }
}
