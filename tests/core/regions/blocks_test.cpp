// Blocks and StreamSet: splitting, merging, and who must wait for whom.
#include "core/regions/blocks.h"

#include <catch2/catch.hpp>

#include "backends/wrap/scripted.h"

using namespace tidemark;

TEST_CASE("split keeps the low part and links the rest behind it", "[regions]") {
    Blocks blocks;
    const BlockId low = blocks.create(Address{4096}, 4096, 3);

    const BlockId rest = blocks.split(low, 1024);

    CHECK(blocks[low].size == 1024);
    CHECK(blocks[rest].address == Address{5120});
    CHECK(blocks[rest].size == 3072);
    CHECK(blocks[rest].list == 3);
    CHECK(blocks[low].next == rest);
    CHECK(blocks[rest].prev == low);
    CHECK_FALSE(blocks[low].whole_segment());
}

TEST_CASE("merging undoes splitting, in any order", "[regions]") {
    Blocks blocks;
    const BlockId a = blocks.create(Address{0x1000}, 4096, 0);
    const BlockId b = blocks.split(a, 1024);
    const BlockId c = blocks.split(b, 1024);
    blocks[c].streams.add(StreamId{4});

    blocks.merge_next(b);
    blocks.merge_next(a);

    CHECK(blocks[a].size == 4096);
    CHECK(blocks[a].whole_segment());
    CHECK(blocks[a].streams == StreamSet(StreamId{4}));
    CHECK(blocks.count() == 1);
}

TEST_CASE("segments are listed by address, vacant numbers are not", "[regions]") {
    Blocks blocks;
    const BlockId high = blocks.create(Address{0x9000}, 512, 0);
    const BlockId gone = blocks.create(Address{0x1000}, 512, 0);
    const BlockId low = blocks.create(Address{0x5000}, 1024, 0);
    blocks.split(low, 512);
    blocks.release(gone);

    CHECK(blocks.segments() == std::vector<BlockId>{low, high});
}

TEST_CASE("a stream need not wait for itself, but for everybody else", "[regions]") {
    ScriptedDevice device(1_GiB);
    StreamSet set(StreamId{1});

    CHECK(set.only(StreamId{1}));
    CHECK_FALSE(set.only(StreamId{2}));
    set.add(StreamId{2});
    CHECK_FALSE(set.only(StreamId{1}));
    CHECK(set.order_before(StreamId{1}, device));
}

TEST_CASE("streams beyond the tracked ones are never alone", "[regions]") {
    const StreamSet set(StreamId{1000});

    CHECK_FALSE(set.only(StreamId{1000}));
    CHECK_FALSE(set.only(StreamId{1001}));
    CHECK_FALSE(set.empty());
}
