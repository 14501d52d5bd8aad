// Cutting chunks.
#include "core/regions/stream_blocks.h"

namespace tidemark {

void StreamBlocks::add_chunk(Chunk chunk, StreamId stream, Device& device) {
    const std::uint32_t number = lists_.number_of(stream);
    lists_.let_go(number, StreamSet(stream), device);
    BlockId id = blocks_.create(chunk.begin, chunk_size(), number);
    chunks_.emplace_back(chunk, id);
    for (std::uint64_t left = count_; left > 1; --left) {
        const BlockId rest = blocks_.split(id, block_);
        lists_.list(number).put(id, number, blocks_);
        id = rest;
    }
    lists_.list(number).put(id, number, blocks_);
}

DeviceResult<BlockId> StreamBlocks::allocate(StreamId stream, Device& device) {
    TM_ASSIGN(const BlockId id, lists_.take(lists_.number_of(stream), block_, blocks_, device));
    if (id != kNoBlock) {
        blocks_[id].state = Block::State::allocated;
        blocks_[id].streams = StreamSet(stream);
    }
    return id;
}

void StreamBlocks::deallocate(BlockId id, StreamId stream, Device& device) {
    const std::uint32_t number = lists_.number_of(stream);
    lists_.let_go(number, blocks_[id].streams, device);
    blocks_[id].state = Block::State::free;
    lists_.list(number).put(id, number, blocks_);
}

}  // namespace tidemark
