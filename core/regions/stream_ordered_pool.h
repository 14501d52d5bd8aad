// StreamOrderedPool: memory that is split to size and joined again, by the rules of RMM's pool:
// best fit in lists of streams (stream_lists.h), growth by doubling, not released before a trim.
//
// Model: sizes are multiples of kUnit. A block is joined only with neighbours of its segment in the
// same list. Without a maximum the pool grows by what it has, at least by what is missing. With a
// maximum it grows by half of what it may still grow. If that isn't enough, whole segments that are
// free in the requester's list are released to the device first, even if it doesn't help in the
// end. What the device refuses is halved. The initial memory is reserved at the first request.
//
// Allocated blocks belong to the caller. A value. Not thread-safe. O(log blocks) plus the cost of
// the device and StreamLists.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/regions/segments.h"
#include "core/regions/size_index.h"
#include "core/regions/stream_lists.h"

namespace tidemark {

// Why there is no memory: the device's refusal, or none if the pool's own rules forbid it.
struct NoRoom {
    std::optional<DeviceError> device;
};

// Free blocks, for best fit.
class FittingList {
  public:
    bool has(Bytes size, const Blocks& blocks) const {
        return index_.first_from(size, blocks) != kNoBlock;
    }

    BlockId take(Bytes size, Blocks& blocks) { return index_.take_first_from(size, blocks); }

    // Joined with its free neighbours of the same list, whose number is `number`.
    void put(BlockId id, std::uint32_t number, Blocks& blocks);

    void erase(BlockId id, Blocks& blocks) { index_.erase(id, blocks); }

    void absorb(FittingList other, std::uint32_t number, Blocks& blocks);

    Bytes largest(const Blocks& blocks) const { return index_.largest(blocks); }

  private:
    SizeIndex index_;
};

class StreamOrderedPool {
  public:
    static constexpr Bytes kUnit = 256;

    // `maximum` 0: none.
    StreamOrderedPool(Bytes initial, Bytes maximum) : initial_(initial), maximum_(maximum) {}

    // Gives `stream` its position in the order in which lists are searched.
    void meet(StreamId stream) { lists_.number_of(stream); }

    // A block of exactly `size` for `stream`.
    tl::expected<BlockId, NoRoom> allocate(Bytes size, StreamId stream, Device& device);

    // Frees it on `stream`, ordered behind all streams in its StreamSet.
    void deallocate(BlockId id, StreamId stream, Device& device);

    // Releases every segment without allocated blocks.
    void trim(Device& device);

    Block& operator[](BlockId id) { return blocks_[id]; }

    const Blocks& blocks() const { return blocks_; }

    StreamId stream_of(const Block& free) const { return lists_.stream(free.list); }

    Bytes largest_free() const;

    const HeldMemory& held() const { return held_; }

  private:
    DeviceResult<void> take_initial(Device& device);
    tl::expected<BlockId, NoRoom> grow(std::uint32_t own, Bytes size, Device& device);
    void reclaim(std::uint32_t own, Bytes size, Device& device);
    void give_back(BlockId head, Device& device);
    BlockId add_segment(Range range, std::uint32_t list);

    Bytes initial_;
    Bytes maximum_;
    bool begun_ = false;
    Bytes size_ = 0;              // as requested from the device
    std::vector<BlockId> heads_;  // the first block of each segment, by address
    Blocks blocks_;
    StreamLists<FittingList> lists_;
    HeldMemory held_;
};

}  // namespace tidemark
