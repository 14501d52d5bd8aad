// AddressIndex against a list: the same answers, whatever the history.
#include "core/regions/address_index.h"

#include <map>

#include <catch2/catch.hpp>

#include "core/base/random.h"

namespace tidemark {
namespace {

TEST_CASE("an address index gives the lowest block that is large enough", "[regions]") {
    Random random(7);
    Blocks blocks;
    AddressIndex index;
    std::map<Address, BlockId> listed;
    for (int step = 0; step < 4'000; ++step) {
        const Address address{1 + random.below(1'000)};
        const auto found = listed.find(address);
        if (found != listed.end() && random.below(2) == 0) {
            const Bytes before = blocks[found->second].size;
            blocks[found->second].size = 1 + random.below(50);
            index.resized(found->second, before, blocks);
        } else if (found != listed.end()) {
            index.erase(found->second, blocks);
            blocks.release(found->second);
            listed.erase(found);
        } else {
            const BlockId id = blocks.create(address, 1 + random.below(50), 0);
            index.insert(id, blocks);
            listed.emplace(address, id);
        }
        const Bytes size = 1 + random.below(55);
        BlockId first = kNoBlock;
        Bytes largest = 0;
        for (const auto& [begin, id] : listed) {
            largest = std::max(largest, blocks[id].size);
            if (first == kNoBlock && blocks[id].size >= size)
                first = id;
        }
        REQUIRE(index.first_from(size, blocks) == first);
        REQUIRE(index.largest(blocks) == largest);
    }
}

TEST_CASE("an address index takes many blocks in order", "[regions]") {
    Blocks blocks;
    AddressIndex index;
    for (std::uint64_t i = 1; i <= 100'000; ++i)
        index.insert(blocks.create(Address{i * 512}, 512, 0), blocks);
    CHECK(index.first_from(512, blocks) == 0);
    for (BlockId id = 0; id < 100'000; ++id)
        index.erase(id, blocks);
    CHECK(index.largest(blocks) == 0);
}

}  // namespace
}  // namespace tidemark
