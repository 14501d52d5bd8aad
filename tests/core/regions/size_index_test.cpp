// SizeIndex against an ordered set: the same answers for every question, whatever the history.
#include "core/regions/size_index.h"

#include <set>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "core/base/random.h"

using namespace tidemark;

namespace {

using Key = std::pair<Bytes, std::uint64_t>;

// A size index beside its brute-force twin.
struct Twins {
    Blocks blocks;
    SizeIndex index;
    std::set<std::pair<Key, BlockId>> reference;

    static Key key(const Block& block) { return {block.size, to_integer(block.address)}; }

    void insert(std::uint64_t address, Bytes size) {
        const BlockId id = blocks.create(Address{address}, size, 0);
        index.insert(id, blocks);
        reference.insert({key(blocks[id]), id});
    }

    void erase_nth(std::size_t n) {
        auto victim = reference.begin();
        std::advance(victim, static_cast<std::ptrdiff_t>(n));
        index.erase(victim->second, blocks);
        blocks.release(victim->second);
        reference.erase(victim);
    }

    void check(Bytes size, std::uint64_t address) const {
        const auto at = reference.lower_bound({{size, address}, 0});
        const BlockId expected = at == reference.end() ? kNoBlock : at->second;
        REQUIRE(index.first_from(size, blocks, Address{address}) == expected);
        const BlockId below = at == reference.begin() ? kNoBlock : std::prev(at)->second;
        REQUIRE(index.last_below(size, blocks, Address{address}) == below);
        const Bytes largest = reference.empty() ? 0 : reference.rbegin()->first.first;
        REQUIRE(index.largest(blocks) == largest);
        REQUIRE(index.empty() == reference.empty());
    }
};

Bytes random_size(Random& random) {
    const unsigned octave = static_cast<unsigned>(random.below(30));
    return (1 + random.below(std::uint64_t{1} << octave)) * 512;
}

}  // namespace

TEST_CASE("a size index answers as an ordered set does", "[regions]") {
    Random random(GENERATE(1U, 2U, 3U, 4U));
    Twins twins;
    std::uint64_t address = 0;
    for (int step = 0; step < 20'000; ++step) {
        const bool grow = twins.reference.size() < 2 || random.below(100) < 52;
        if (grow)
            twins.insert(address += 512 * (1 + random.below(9)), random_size(random));
        else
            twins.erase_nth(static_cast<std::size_t>(random.below(twins.reference.size())));
        twins.check(random_size(random), random.below(2) == 0 ? 0 : random.below(address));
    }
}

TEST_CASE("blocks of equal size come out by ascending address", "[regions]") {
    Random random(7);
    Twins twins;
    std::set<std::uint64_t> addresses;
    while (addresses.size() < 3'000)
        addresses.insert(random.below(1U << 30U) * 512);
    for (const std::uint64_t address : addresses)
        twins.insert((address * 7919) % (std::uint64_t{1} << 50U), 4096);

    std::uint64_t last = 0;
    std::size_t seen = 0;
    for (BlockId id = twins.index.first_from(0, twins.blocks); id != kNoBlock;
         id = twins.index.next(twins.blocks[id], twins.blocks)) {
        CHECK(to_integer(twins.blocks[id].address) >= last);
        last = to_integer(twins.blocks[id].address);
        ++seen;
    }

    CHECK(seen == addresses.size());
}

TEST_CASE("the largest sizes have their bins too", "[regions]") {
    Twins twins;
    twins.insert(512, ~Bytes{0} - 511);
    twins.insert(1024, kLargestRequest);
    twins.insert(2048, 512);

    twins.check(kLargestRequest, 0);
    twins.check(~Bytes{0}, ~std::uint64_t{0});
    twins.check(0, 0);
}

TEST_CASE("blocks that claim the same place are all found and can all go", "[regions]") {
    Random random(GENERATE(1U, 2U, 3U));
    Blocks blocks;
    SizeIndex index;
    std::vector<BlockId> inside;
    for (int step = 0; step < 3'000; ++step) {
        if (inside.size() < 3 || random.below(100) < 55) {
            const Bytes size = 512 * (1 + random.below(2));
            inside.push_back(blocks.create(Address{4096 * random.below(3)}, size, 0));
            index.insert(inside.back(), blocks);
        } else {
            std::swap(inside[random.below(inside.size())], inside.back());
            index.erase(inside.back(), blocks);  // a TM_CHECK if it cannot be found
            blocks.release(inside.back());
            inside.pop_back();
        }
    }
    std::set<BlockId> taken;
    Bytes last = 0;
    for (BlockId id = index.take_first_from(0, blocks); id != kNoBlock;
         id = index.take_first_from(0, blocks)) {
        CHECK(blocks[id].size >= last);
        last = blocks[id].size;
        taken.insert(id);
    }

    CHECK(taken == std::set<BlockId>(inside.begin(), inside.end()));
    CHECK(index.empty());
}

TEST_CASE("a walk over blocks ends, also behind the highest address", "[regions]") {
    Twins twins;
    twins.insert(512, 4096);
    twins.insert(~std::uint64_t{0}, 4096);

    std::size_t steps = 0;
    for (BlockId id = twins.index.first_from(0, twins.blocks); id != kNoBlock && steps < 10;
         id = twins.index.next(twins.blocks[id], twins.blocks))
        ++steps;

    CHECK(steps == 2);
}

TEST_CASE("an aged size index gives the oldest of the smallest that fit", "[regions]") {
    Random random(11);
    Blocks blocks;
    AgedSizeIndex index;
    std::set<std::pair<std::pair<Bytes, std::uint64_t>, BlockId>> reference;
    for (std::uint64_t step = 1; step < 5'000; ++step) {
        const Bytes size = (1 + random.below(40)) * 16;
        const BlockId id = blocks.create(Address{random.below(1U << 30U) * 512}, size, 0);
        blocks[id].stamp = step;
        index.insert(id, blocks);
        reference.insert({{size, step}, id});
        if (random.below(100) < 60)
            continue;
        const auto expected = reference.lower_bound({{(1 + random.below(40)) * 16, 0}, 0});
        if (expected == reference.end())
            continue;
        REQUIRE(index.take_first_from(expected->first.first, blocks) == expected->second);
        reference.erase(expected);
    }
}
