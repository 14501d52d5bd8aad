// The address map's ruler and the names of its rows.
#include "viz/views/address_ruler.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "tests/support/small_history.h"
#include "viz/views/row_names.h"

namespace tidemark::viz {
namespace {

constexpr std::uint64_t kFirst = 0x7f3a40000000;
constexpr std::uint64_t kSecond = 0x7f3b00000000;

std::shared_ptr<const History> two_segments() {
    support::SmallHistory sample;
    sample.names({.streams = {0, 7}});
    sample.segment(kFirst, 512_MiB);
    sample.at(1000).allocate(1, 8_MiB, {.address = kFirst, .stream = 7});
    sample.segment(kSecond, 64_MiB);
    return sample.build();
}

}  // namespace

TEST_CASE("from afar the ruler counts laid-out memory, close by it has addresses", "[viz][ruler]") {
    const auto history = two_segments();
    const AddressLayout layout = AddressLayout::of(*history);
    const AddressTicks all = address_ticks(layout, 0, layout.length(), 8);
    REQUIRE(all.ticks.size() > 2);
    CHECK(all.base.empty());
    CHECK(all.ticks.front().label == "0");

    const AddressTicks close = address_ticks(layout, 1_MiB, 9_MiB, 8);
    CHECK(close.base == "0x7f3a40\u2026");
    REQUIRE(close.ticks.size() == 8);
    CHECK(close.ticks.front().label == "\u2026100000");
    CHECK(close.ticks.front().offset == 1_MiB);
    for (const AddressTick& tick : close.ticks) {
        const auto at = layout.location(tick.offset, 0);
        REQUIRE(at);
        const std::string digits = fmt::format("{:x}", to_integer(at->address));
        CHECK("0x" + digits == close.base.substr(0, close.base.size() - 3) +
                                   tick.label.substr(std::string("\u2026").size()));
    }
    // Both sides of a border between two segments: no address goes through.
    CHECK(address_ticks(layout, 500_MiB, 520_MiB, 8).base.empty());
    CHECK(address_ticks(layout, 5, 5, 8).ticks.empty());
}

TEST_CASE("every tick of an axis of any history stands within what is seen", "[viz][ruler]") {
    for (const std::uint64_t seed : {1U, 2U, 3U, 4U}) {
        const auto history = support::random_history(seed, 200);
        const AddressLayout layout = AddressLayout::of(*history);
        for (Bytes begin = 0; begin < layout.length(); begin += layout.length() / 7 + 1)
            for (Bytes length = 1; begin + length <= layout.length(); length *= 3) {
                const AddressTicks ticks = address_ticks(layout, begin, begin + length, 9);
                CHECK(ticks.ticks.size() <= 19);
                for (const AddressTick& tick : ticks.ticks)
                    CHECK((tick.offset >= begin && tick.offset <= begin + length));
            }
    }
}

TEST_CASE("a row is named in words, shorter where there is less room", "[viz][ruler]") {
    const auto history = two_segments();
    const AddressLayout layout = AddressLayout::of(*history);
    REQUIRE(layout.rows().size() == 2);
    const std::vector<std::string> names = row_names(*history, layout.rows()[0]);
    REQUIRE(names.size() == 4);
    CHECK(names[0] == "segment 0 at 0x7f3a40000000, 512 MiB, pool 0, stream 7");
    CHECK(names[1] == "segment 0, 512 MiB, pool 0, stream 7");
    CHECK(names[2] == "segment 0, 512 MiB");
    CHECK(names[3] == "512 MiB");
    for (std::size_t i = 1; i < names.size(); ++i)
        CHECK(names[i].size() < names[i - 1].size());
}

}  // namespace tidemark::viz
