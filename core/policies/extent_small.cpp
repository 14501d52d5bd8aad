// The extent pool's slabs.
#include "core/policies/extent_small.h"

#include "core/base/check.h"

namespace tidemark::policies {
namespace {

constexpr int kSmallCandidates = 8;

}  // namespace

BlockId ExtentSmall::find(Bytes size, StreamId stream) const {
    const BlockId tightest = free_.first_from(size, blocks_);
    BlockId id = tightest;
    for (int i = 0; i < kSmallCandidates && id != kNoBlock; ++i) {
        if (blocks_[id].streams.only(stream))
            return id;
        id = free_.next(blocks_[id], blocks_);
    }
    return tightest;
}

void ExtentSmall::take(BlockId block, Bytes size, StreamId stream) {
    free_.erase(block, blocks_);
    if (blocks_[block].size != size) {
        const BlockId rest = blocks_.split(block, size);
        blocks_[rest].stamp = blocks_[block].stamp;
        free_.insert(rest, blocks_);
    }
    blocks_[block].state = Block::State::allocated;
    blocks_[block].streams = StreamSet(stream);
}

BlockId ExtentSmall::add(Range range, BlockId slab, StreamSet streams, std::uint64_t freed) {
    const BlockId id = blocks_.create(range.begin, range.size, slab);
    blocks_[id].streams = streams;
    blocks_[id].stamp = freed;
    free_.insert(id, blocks_);
    return id;
}

std::optional<ExtentSmall::Emptied> ExtentSmall::give_back(BlockId id, std::uint64_t freed) {
    TM_CHECK(blocks_[id].state == Block::State::allocated);
    blocks_[id].state = Block::State::free;
    id = join_neighbours(id, Block::State::free, blocks_, free_);
    if (blocks_[id].whole_segment()) {
        const Emptied emptied{blocks_[id].list, blocks_[id].streams};
        blocks_.release(id);
        return emptied;
    }
    blocks_[id].stamp = freed;
    free_.insert(id, blocks_);
    return std::nullopt;
}

}  // namespace tidemark::policies
