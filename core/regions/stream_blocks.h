// StreamBlocks: blocks of one size, by the rules of RMM's fixed sizes: reserved in chunks of
// several, first in, first out in lists of streams (stream_lists.h), never joined.
//
// The caller provides chunks when all lists are empty; their blocks go to the requester's list in
// ascending order. A value. Not thread-safe. O(1) plus the cost of StreamLists.
#pragma once

#include <cstdint>
#include <deque>
#include <iterator>
#include <utility>
#include <vector>

#include "core/regions/stream_lists.h"

namespace tidemark {

// Free blocks of one size, the oldest first.
class QueueList {
  public:
    bool has(Bytes /*size*/, const Blocks& /*blocks*/) const { return !queue_.empty(); }

    BlockId take(Bytes /*size*/, Blocks& /*blocks*/) {
        if (queue_.empty())
            return kNoBlock;
        const BlockId id = queue_.front();
        queue_.pop_front();
        return id;
    }

    void put(BlockId id, std::uint32_t number, Blocks& blocks) {
        blocks[id].list = number;
        queue_.push_back(id);
    }

    void absorb(QueueList other, std::uint32_t number, Blocks& blocks) {
        for (const BlockId id : other.queue_)
            put(id, number, blocks);
    }

    template <class Gone>
    void erase_if(Gone gone) {
        std::erase_if(queue_, gone);
    }

  private:
    std::deque<BlockId> queue_;
};

class StreamBlocks {
  public:
    // Memory in one piece; `owner` is the caller's own.
    struct Chunk {
        Address begin = Address::null;
        std::uint32_t owner = 0;
    };

    StreamBlocks(Bytes block, std::uint64_t count) : block_(block), count_(count) {}

    Bytes block_size() const { return block_; }

    Bytes chunk_size() const { return block_ * count_; }

    // Gives `stream` its position in the order in which lists are searched.
    void meet(StreamId stream) { lists_.number_of(stream); }

    // Its memory belongs to `stream`: others that get some of it are ordered behind what that
    // stream has queued so far.
    void add_chunk(Chunk chunk, StreamId stream, Device& device);

    // A block for `stream`; kNoBlock: a chunk is needed.
    DeviceResult<BlockId> allocate(StreamId stream, Device& device);

    // Frees it on `stream`, ordered behind all streams in its StreamSet.
    void deallocate(BlockId id, StreamId stream, Device& device);

    // Offers each chunk without allocated blocks to give_back(chunk, users), which returns whether
    // it took it. `users` may have queued work that touches it. O(blocks).
    template <class GiveBack>
    void trim(GiveBack give_back) {
        std::erase_if(chunks_, [&](const auto& chunk) {
            BlockId id = chunk.second;
            while (id != kNoBlock && blocks_[id].state == Block::State::free)
                id = blocks_[id].next;
            if (id != kNoBlock || !give_back(chunk.first, lists_.users()))
                return false;
            for (id = chunk.second; id != kNoBlock; id = blocks_[id].next)
                blocks_[id].state = Block::State::unmapped;
            lists_.for_each([this](QueueList& list) {
                list.erase_if(
                    [this](BlockId each) { return blocks_[each].state == Block::State::unmapped; });
            });
            for (id = chunk.second; id != kNoBlock;) {
                const BlockId next = blocks_[id].next;
                blocks_.release(id);
                id = next;
            }
            return true;
        });
    }

    Block& operator[](BlockId id) { return blocks_[id]; }

    const Blocks& blocks() const { return blocks_; }

    StreamId stream_of(const Block& free) const { return lists_.stream(free.list); }

    bool any_free() const {
        bool any = false;
        lists_.for_each([&](const QueueList& list) { any = any || list.has(block_, blocks_); });
        return any;
    }

  private:
    Bytes block_;
    std::uint64_t count_;
    std::vector<std::pair<Chunk, BlockId>> chunks_;  // with the first block
    Blocks blocks_;
    StreamLists<QueueList> lists_;
};

}  // namespace tidemark
