// SegregatedLists against the rule, block by block.
#include "core/regions/segregated_lists.h"

#include <bit>
#include <vector>

#include <catch2/catch.hpp>

#include "core/base/random.h"

using namespace tidemark;

namespace {

// Where the list of `size` begins, by the definition: its highest bits.
Bytes list_floor(Bytes size, unsigned steps) {
    Bytes unit = SegregatedLists::kUnit;
    while (size / unit >= 2 * steps)
        unit *= 2;
    return size / unit * unit;
}

Bytes list_ceiling(Bytes size, unsigned steps) {
    const Bytes floor = list_floor(size, steps);
    Bytes unit = SegregatedLists::kUnit;
    while (size / unit >= 2 * steps)
        unit *= 2;
    return floor == size ? size : floor + unit;
}

}  // namespace

TEST_CASE("segregated lists give the last block of the first list of which any fits", "[regions]") {
    const unsigned steps = GENERATE(4U, 32U, 64U);
    Random random(steps);
    Blocks blocks;
    SegregatedLists lists(steps);
    std::vector<BlockId> order;  // as they came
    for (int step = 0; step < 5'000; ++step) {
        if (order.size() < 2 || random.below(100) < 52) {
            const Bytes size = (1 + random.below(std::uint64_t{1} << random.below(28))) * 512;
            order.push_back(
                blocks.create(Address{static_cast<std::uint64_t>(step) << 40U}, size, 0));
            lists.insert(order.back(), blocks);
        } else {
            const std::size_t victim = static_cast<std::size_t>(random.below(order.size()));
            lists.erase(order[victim], blocks);
            blocks.release(order[victim]);
            order.erase(order.begin() + static_cast<std::ptrdiff_t>(victim));
        }
        const Bytes size = (1 + random.below(std::uint64_t{1} << random.below(28))) * 512;
        const Bytes least = list_ceiling(size, steps);
        BlockId expected = kNoBlock;
        Bytes largest = 0;
        for (const BlockId id : order) {
            const Bytes floor = list_floor(blocks[id].size, steps);
            largest = std::max(largest, floor);
            if (floor >= least &&
                (expected == kNoBlock || floor <= list_floor(blocks[expected].size, steps)))
                expected = id;
        }
        REQUIRE(lists.first_from(size) == expected);
        REQUIRE(lists.largest(blocks) == largest);
    }
}
