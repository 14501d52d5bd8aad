// The form of spill files: layouts, heads, names.
#include "core/tiers/disk/disk_format.h"

#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/support/disk_content.h"

namespace tidemark {
namespace {

SpillHead some_head() {
    SpillHead head;
    head.incarnation = 0x1122334455667788;
    head.sequence = 499;
    head.buffer = 7;
    head.tag = ~std::uint64_t{0};
    head.layout = {.size = 1_MiB + 5, .chunk = 64_KiB, .stripes = 3};
    head.stripe = 1;
    head.checksums = {1, 2, 3, 4, 5, 6};
    return head;
}

std::vector<std::byte> encoded(const SpillHead& head) {
    std::vector<std::byte> bytes(head.layout.head_size(head.stripe));
    encode_head(head, bytes);
    return bytes;
}

}  // namespace

TEST_CASE("sizes are aligned up as the table says (A-T29)", "[tiers][disk]") {
    CHECK(align_up(0, 4096) == 0);
    CHECK(align_up(1, 4096) == 4096);
    CHECK(align_up(4095, 4096) == 4096);
    CHECK(align_up(4096, 4096) == 4096);
    CHECK(align_up(4097, 4096) == 8192);
    CHECK(align_up(100, 8) == 104);
}

TEST_CASE("every chunk of a buffer has its own place in one of its files", "[tiers][disk]") {
    for (const Bytes size :
         {Bytes{0}, Bytes{1}, Bytes{8191}, Bytes{8192}, Bytes{100'000}, Bytes{8192 * 600}}) {
        for (const std::uint32_t stripes : {1U, 2U, 3U, 7U}) {
            const StripeLayout layout{size, 8192, stripes};
            INFO(size << " bytes on " << stripes);
            CHECK(layout.valid() == (stripes <= std::max<std::uint64_t>(layout.chunks(), 1)));
            if (!layout.valid())
                continue;
            Bytes bytes = 0;
            std::vector<Bytes> ends;
            for (std::uint32_t stripe = 0; stripe < stripes; ++stripe)
                ends.push_back(layout.head_size(stripe));
            for (std::uint64_t chunk = 0; chunk < layout.chunks(); ++chunk) {
                Bytes& end = ends[layout.stripe_of(chunk)];
                CHECK(layout.offset_of(chunk) == end);
                end += align_up(layout.chunk_size(chunk), kFileBlock);
                bytes += layout.chunk_size(chunk);
            }
            CHECK(bytes == size);
            for (std::uint32_t stripe = 0; stripe < stripes; ++stripe)
                CHECK(layout.file_size(stripe) == ends[stripe]);
        }
    }
}

TEST_CASE("a head that was written is read as it was", "[tiers][disk]") {
    const SpillHead head = some_head();
    const auto decoded = decode_head(encoded(head));
    REQUIRE(decoded);
    CHECK(*decoded == head);

    SpillHead empty;
    empty.layout = {.size = 0, .chunk = 4096, .stripes = 1};
    const auto nothing = decode_head(encoded(empty));
    REQUIRE(nothing);
    CHECK(*nothing == empty);

    SpillHead large;  // a head of several blocks
    large.layout = {.size = 4096 * 2000, .chunk = 4096, .stripes = 1};
    large.checksums.assign(2000, 9);
    REQUIRE(encoded(large).size() == 16384);
    CHECK(*decode_head(encoded(large)) == large);
}

TEST_CASE("a head with any bit changed is none", "[tiers][disk]") {
    const std::vector<std::byte> whole = encoded(some_head());
    for (std::size_t at = 0; at < whole.size(); ++at) {
        std::vector<std::byte> changed = whole;
        changed[at] ^= std::byte{1} << (at % 8);
        if (decode_head(changed))
            FAIL("byte " << at << " does not count");
    }
    SUCCEED();
}

TEST_CASE("a head of which only a part was written is none", "[tiers][disk]") {
    SpillHead head = some_head();
    head.layout = {.size = 4096 * 1000, .chunk = 4096, .stripes = 1};
    head.stripe = 0;
    head.checksums.assign(1000, 0x0101010101010101);
    const std::vector<std::byte> whole = encoded(head);
    const std::size_t end = 80 + 8000;  // zeros behind it
    for (std::size_t kept = 0; kept < end; ++kept) {
        std::vector<std::byte> front(whole.begin(),
                                     whole.begin() + static_cast<std::ptrdiff_t>(kept));
        front.resize(whole.size());  // the rest as it was allocated: zeros
        std::vector<std::byte> back = whole;
        std::fill(back.begin(), back.begin() + static_cast<std::ptrdiff_t>(kept) + 1, std::byte{0});
        if (decode_head(front) || decode_head(back))
            FAIL("torn at " << kept);
    }
    CHECK_FALSE(decode_head(std::span(whole).first(4096)));  // shorter than it says
}

TEST_CASE("a head of a later version is left to later programs", "[tiers][disk]") {
    std::vector<std::byte> bytes = encoded(some_head());
    bytes[16] = std::byte{2};
    const auto decoded = decode_head(bytes);
    REQUIRE_FALSE(decoded);
    CHECK(decoded.error().code == ErrorCode::unsupported);
}

TEST_CASE("names of spill files are read, and no others", "[tiers][disk]") {
    const SpillName name{0x1f3, 2};
    CHECK(to_text(name) == "tidemark-00000000000001f3-0002.spill");
    CHECK(parse_spill_name(to_text(name)) == name);
    const SpillName largest{~std::uint64_t{0}, 0xffff};
    CHECK(parse_spill_name(to_text(largest)) == largest);
    for (const char* other :
         {"", "tidemark-spill.lock", "tidemark-00000000000001f3-0002.spil",
          "tidemark-00000000000001F3-0002.spill", "tidemark-00000000000001f3_0002.spill",
          "tidemark-+0000000000001f3-0002.spill", "xidemark-00000000000001f3-0002.spill",
          "tidemark-00000000000001f3-0002.spill~", "batch_abcdef.cucascade"})
        CHECK_FALSE(parse_spill_name(other));
}

TEST_CASE("a checksum is of the bytes, however they are cut", "[tiers][disk]") {
    std::vector<std::byte> content = support::content_of(3, 100'001);
    const MemoryPiece whole{content.data(), content.size()};
    const std::uint64_t checksum = spill_checksum({&whole, 1});
    const std::vector<MemoryPiece> pieces{{content.data(), 1},
                                          {content.data() + 1, 70'000},
                                          {content.data() + 70'001, 0},
                                          {content.data() + 70'001, 30'000}};
    CHECK(spill_checksum(pieces) == checksum);
    content[99'999] ^= std::byte{1};
    CHECK(spill_checksum({&whole, 1}) != checksum);
}

}  // namespace tidemark
