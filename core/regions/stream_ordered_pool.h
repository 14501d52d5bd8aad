// StreamOrderedPool: memory that is cut to size and joined again, by the rules of RMM's pool: best
// fit in lists of streams (stream_lists.h), growth by doubling, never given back until it is
// trimmed.
//
// Model: sizes are multiples of kUnit. A block is joined with neighbours of its segment in the same
// list only. Without a maximum the pool grows by what it has, at least by what is missing; with one
// by half of what it may still grow, and where that isn't enough, whole segments that are free in
// the requester's list go back to the device first, and stay there even if it doesn't help. What
// the device refuses is halved. The initial memory is taken at the first request.
//
// Blocks are the caller's while they are allocated. A value. Not thread-safe. O(log blocks) besides
// the device and what StreamLists says.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/regions/segments.h"
#include "core/regions/size_index.h"
#include "core/regions/stream_lists.h"

namespace tidemark {

// Why there is no memory: the device's refusal, or none where it is one's own rules.
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

    // Gives `stream` its place in the order in which lists are searched.
    void meet(StreamId stream) { lists_.number_of(stream); }

    // A block of exactly `size` for `stream`.
    tl::expected<BlockId, NoRoom> allocate(Bytes size, StreamId stream, Device& device);

    // Lets it go on `stream`, ordered behind all in its StreamSet.
    void deallocate(BlockId id, StreamId stream, Device& device);

    // Gives back every segment of which nothing is allocated.
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
    Bytes size_ = 0;              // as asked of the device
    std::vector<BlockId> heads_;  // the first block of each segment, by address
    Blocks blocks_;
    StreamLists<FittingList> lists_;
    HeldMemory held_;
};

}  // namespace tidemark
