// The arena of blocks: creation, splitting, merging.
#include "core/regions/blocks.h"

#include <algorithm>

namespace tidemark {

BlockId Blocks::create(Address address, Bytes size, std::uint32_t list) {
    const BlockId id = vacant_.put_new_into(blocks_);
    TM_CHECK(id != kNoBlock);
    Block& block = blocks_[id];
    block.address = address;
    block.size = size;
    block.list = list;
    block.state = Block::State::free;
    return id;
}

BlockId Blocks::split(BlockId id, Bytes size) {
    TM_CHECK_DEBUG(size > 0 && size < blocks_[id].size);
    const BlockId rest =
        create(blocks_[id].address + size, blocks_[id].size - size, blocks_[id].list);
    Block& low = blocks_[id];
    Block& high = blocks_[rest];
    high.prev = id;
    high.next = low.next;
    high.streams = low.streams;
    high.reservation = low.reservation;
    if (low.next != kNoBlock)
        blocks_[low.next].prev = rest;
    low.next = rest;
    low.size = size;
    return rest;
}

BlockId Blocks::split_front(BlockId id, Bytes size) {
    TM_CHECK_DEBUG(size > 0 && size < blocks_[id].size);
    const BlockId front = create(blocks_[id].address, size, blocks_[id].list);
    Block& low = blocks_[front];
    Block& high = blocks_[id];
    low.prev = high.prev;
    low.next = id;
    low.streams = high.streams;
    low.reservation = high.reservation;
    if (high.prev != kNoBlock)
        blocks_[high.prev].next = front;
    high.prev = front;
    high.address = high.address + size;
    high.size -= size;
    return front;
}

void Blocks::merge_next(BlockId id) {
    Block& block = blocks_[id];
    const BlockId gone = block.next;
    TM_CHECK_DEBUG(gone != kNoBlock);
    const Block& other = blocks_[gone];
    TM_CHECK_DEBUG(block.address + block.size == other.address);
    block.size += other.size;
    block.next = other.next;
    block.streams.add(other.streams);
    if (other.next != kNoBlock)
        blocks_[other.next].prev = id;
    release(gone);
}

std::vector<BlockId> Blocks::segments() const {
    std::vector<BlockId> heads;
    for (BlockId id = 0; id < blocks_.size(); ++id) {
        if (blocks_[id].state != Block::State::vacant && blocks_[id].prev == kNoBlock)
            heads.push_back(id);
    }
    std::sort(heads.begin(), heads.end(),
              [this](BlockId a, BlockId b) { return blocks_[a].address < blocks_[b].address; });
    return heads;
}

}  // namespace tidemark
