// The address axis: every address that was ever used has one offset on it, gaps have none, and rows
// share a band only if they never live together.
#include "replay/timeline/address_layout.h"

#include <map>
#include <set>

#include <catch2/catch.hpp>

#include "core/base/random.h"
#include "tests/support/small_history.h"

using namespace tidemark;
using support::SmallHistory;

namespace {

// What must hold of every layout, found by looking at all blocks and segments one by one.
void check_layout(const History& history, const AddressLayout& layout) {
    Bytes last = 0;
    for (const AddressRow& row : layout.rows()) {
        REQUIRE(row.offset >= last);
        last = row.offset;
        Bytes length = 0;
        for (std::uint32_t i = 0; i < row.pieces; ++i) {
            const AddressPiece& piece = layout.pieces()[row.first_piece + i];
            REQUIRE(piece.offset == row.offset + length);
            REQUIRE(piece.range.begin >= row.range.begin);
            length += piece.range.size;
        }
        REQUIRE(length == row.length);
        REQUIRE(row.offset + row.length <= layout.length());
    }
    for (BlockIndex i = 0; i < history.counts().blocks; ++i) {
        const Block block = history.block(i);
        const std::uint16_t device = history.site(block.site).device;
        Bytes sum = 0;
        layout.for_each_stretch(device, {block.address, block.size}, [&](Bytes offset, Bytes size) {
            sum += size;
            const auto location = layout.location(offset, block.born);
            REQUIRE(location);
            CHECK(location->device == device);
            CHECK(location->address >= block.address);
            CHECK(location->address - block.address < block.size);
            CHECK(layout.offset(device, location->address) == offset);
        });
        // No byte lies beyond the end of the address space, whatever a block's size says.
        const Bytes room = ~Bytes{0} - to_integer(block.address);
        CHECK(sum == (block.size > room ? room + 1 : block.size));
    }
    for (std::size_t i = 0; i < layout.rows().size(); ++i)
        for (std::size_t k = i + 1; k < layout.rows().size(); ++k) {
            const AddressRow& a = layout.rows()[i];
            const AddressRow& b = layout.rows()[k];
            const bool overlaps = a.offset < b.offset + b.length && b.offset < a.offset + a.length;
            if (overlaps)
                CHECK((a.died <= b.born || b.died <= a.born));
        }
}

}  // namespace

TEST_CASE("segments stand end to end in the order of their addresses") {
    const auto history = SmallHistory()
                             .segment(0x7000'0000'0000, 2_MiB)
                             .segment(0x1000'0000, 20_MiB)
                             .allocate(1, 1_MiB, {.address = 0x7000'0010'0000})
                             .build();
    const AddressLayout layout = AddressLayout::of(*history);
    REQUIRE(layout.rows().size() == 2);
    CHECK(layout.length() == 22_MiB);
    CHECK(layout.rows()[0].range == Range{Address{0x1000'0000}, 20_MiB});
    CHECK(layout.offset(0, Address{0x7000'0010'0000}) == 21_MiB);
    CHECK(layout.location(21_MiB, 3) == AddressLocation{0, Address{0x7000'0010'0000}});
    CHECK_FALSE(layout.location(22_MiB, 3));
    CHECK_FALSE(layout.offset(0, Address{0x1000'0000 + 20_MiB}));
    CHECK_FALSE(layout.offset(1, Address{0x1000'0000}));
    check_layout(*history, layout);
}

TEST_CASE("a segment that comes back to its addresses keeps its row") {
    SmallHistory steps;
    for (int i = 0; i < 5; ++i)
        steps.segment(0x1000'0000, 2_MiB).end_segment(0x1000'0000, 2_MiB);
    const auto history = steps.build();
    const AddressLayout layout = AddressLayout::of(*history);
    REQUIRE(layout.rows().size() == 1);
    CHECK(layout.rows()[0].segments == 5);
    CHECK(layout.length() == 2_MiB);
}

TEST_CASE("of a huge reservation only what ever had pages is on the axis") {
    const std::uint64_t base = 0x10'0000'0000;
    const auto history = SmallHistory()
                             .reserve(base, 80_GiB)
                             .map(base, 40_MiB)
                             .map(base + 40_MiB, 20_MiB)
                             .map(base + 50_GiB, 20_MiB)
                             .build();
    const AddressLayout layout = AddressLayout::of(*history);
    REQUIRE(layout.rows().size() == 1);
    CHECK(layout.rows()[0].kind == SegmentKind::reservation);
    CHECK(layout.rows()[0].pieces == 2);
    CHECK(layout.length() == 80_MiB);
    CHECK(layout.offset(0, Address{base + 50_GiB}) == 60_MiB);
    CHECK_FALSE(layout.offset(0, Address{base + 10_GiB}));
    check_layout(*history, layout);
}

TEST_CASE("two devices with the same addresses have rows of their own") {
    const auto history = SmallHistory()
                             .segment(0x1000'0000, 2_MiB, 0)
                             .segment(0x1000'0000, 2_MiB, 1)
                             .allocate(1, 512, {.address = 0x1000'0200, .device = 1})
                             .build();
    const AddressLayout layout = AddressLayout::of(*history);
    REQUIRE(layout.rows().size() == 2);
    CHECK(layout.offset(0, Address{0x1000'0200}) == 512);
    CHECK(layout.offset(1, Address{0x1000'0200}) == 2_MiB + 512);
    CHECK(layout.location(2_MiB + 512, 2) == AddressLocation{1, Address{0x1000'0200}});
}

TEST_CASE("blocks outside any segment have rows too, also at the ends of the address space") {
    const std::uint64_t top = ~std::uint64_t{0} - 4095;
    const auto history = SmallHistory()
                             .segment(0x1000'0000, 2_MiB)
                             .allocate(1, 512, {.address = 1})
                             .allocate(2, 4096, {.address = top})
                             .allocate(3, 0, {.address = 0x5000'0000})
                             .allocate(4, 4_MiB, {.address = 0x1000'0000 + 1_MiB})
                             .build();
    const AddressLayout layout = AddressLayout::of(*history);
    CHECK(layout.length() == 2_MiB + 512 + 4096 + 3_MiB);
    CHECK(layout.offset(0, Address{~std::uint64_t{0}}) == layout.length() - 1);
    CHECK_FALSE(layout.offset(0, Address{0x5000'0000}));
    check_layout(*history, layout);
}

TEST_CASE("rows share a place if they never live together and it helps") {
    SmallHistory steps;
    for (std::uint64_t i = 1; i <= 100; ++i) {
        const std::uint64_t at = i * 0x1000'0000;
        steps.segment(at, 2_MiB).allocate(i, 1_MiB, {.address = at}).free(i);
        steps.end_segment(at, 2_MiB);
    }
    const auto history = steps.build();
    const AddressLayout shared = AddressLayout::of(*history);
    CHECK(shared.shares_rows());
    CHECK(shared.length() == 2_MiB);
    check_layout(*history, shared);
    const AddressLayout apart = AddressLayout::of(*history, nullptr, RowSharing::never);
    CHECK_FALSE(apart.shares_rows());
    CHECK(apart.length() == 200_MiB);
    check_layout(*history, apart);
}

TEST_CASE("a hundred thousand segments are laid out") {
    SmallHistory steps;
    for (std::uint64_t i = 1; i <= 100'000; ++i)
        steps.segment(i * 4_MiB, 2_MiB, i % 2 == 0 ? 1 : 0);
    const auto history = steps.build();
    const AddressLayout layout = AddressLayout::of(*history);
    CHECK(layout.rows().size() == 100'000);
    CHECK(layout.length() == 100'000 * 2_MiB);
    CHECK(layout.offset(1, Address{200 * 4_MiB}) == 50'000 * 2_MiB + 99 * 2_MiB);
}

TEST_CASE("segments of absurd sizes do no harm") {
    SmallHistory steps;
    for (std::uint64_t i = 0; i < 4000; ++i)
        steps.segment(i << 52U, Bytes{1} << 63U, static_cast<std::uint16_t>(i));
    steps.allocate(1, ~Bytes{0}, {.address = 5});
    const auto history = steps.build();
    const AddressLayout layout = AddressLayout::of(*history);
    CHECK(layout.length() <= AddressLayout::kLongest);
    for (Bytes offset = 0; offset < layout.length(); offset += layout.length() / 100 + 1)
        CHECK(layout.row_at(offset, 100) < layout.rows().size());
}

TEST_CASE("in random histories every byte of every block has its place") {
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        const auto history = support::random_history(seed, 400);
        check_layout(*history, AddressLayout::of(*history));
        check_layout(*history, AddressLayout::of(*history, nullptr, RowSharing::always));
    }
}
