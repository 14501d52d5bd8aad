// CoalescingAllocator: shared by policies that split segments for requests and join freed blocks
// with their free neighbours.
//
// The index decides which free block serves a request: SizeIndex, or a class with the same
// functions. The policy decides how large a segment is and what is split off. Blocks remember the
// streams that used them; a stream that gets another stream's memory is first ordered behind it
// (regions/stream_set.h).
#pragma once

#include <algorithm>

#include "core/allocator/allocator.h"
#include "core/base/check.h"
#include "core/regions/blocks.h"
#include "core/regions/segments.h"
#include "core/regions/size_index.h"

namespace tidemark::policies {

template <class Index>
class CoalescingAllocator : public Allocator {
  public:
    void deallocate(const Allocation& allocation, StreamId /*stream*/) override {
        BlockId id = allocation.node;
        TM_CHECK(blocks_[id].state == Block::State::allocated);
        count_deallocated(allocation);
        blocks_[id].state = Block::State::free;
        id = join_neighbours(id, Block::State::free, blocks_, index_);
        index_.insert(id, blocks_);
    }

    void record_use(const Allocation& allocation, StreamId stream) override {
        blocks_[allocation.node].streams.add(stream);
    }

    void trim(TrimLevel /*level*/) override {
        const Released released = release_unused(index_, blocks_, *device_);
        count_given_back(released.bytes, released.segments);
    }

    Bytes largest_free() const override { return index_.largest(blocks_); }

    void for_each_region(const std::function<void(const Region&)>& visit) const override {
        blocks_.for_each([&](const Block& block, Range segment) {
            const auto state = block.state == Block::State::allocated ? Region::State::allocated
                                                                      : Region::State::free;
            visit({{block.address, block.size}, segment, state});
        });
    }

  protected:
    explicit CoalescingAllocator(Device& device, Index index = Index())
        : device_(&device), index_(std::move(index)) {}

    CoalescingAllocator(const CoalescingAllocator&) = default;

    const Index& index() const { return index_; }

    // Serves `request` in multiples of `unit`, a power of two. If the index has no block,
    // grow(size) makes a free block of at least this size, which is in no index. The rest of a
    // block is split off if cuts(rest, size).
    template <class Grow, class Cuts>
    tl::expected<Allocation, OutOfMemory> cut_for(const Request& request, Bytes unit, Grow grow,
                                                  Cuts cuts) {
        if (request.size >= kLargestRequest) [[unlikely]]
            return refuse({OutOfMemory::Cause::too_large});
        const Bytes padding = std::max(request.alignment, unit) - unit;
        const Bytes size = align_up(std::max<Bytes>(request.size, 1) + padding, unit);
        BlockId id = index_.take_first_from(size, blocks_);
        if (id == kNoBlock) [[unlikely]] {
            const tl::expected<BlockId, OutOfMemory> grown = grow(size);
            if (!grown)
                return refuse(grown.error());
            id = *grown;
        }
        if (!blocks_[id].streams.only(request.stream)) [[unlikely]] {
            const auto ordered = blocks_[id].streams.order_before(request.stream, *device_);
            if (!ordered) {
                index_.insert(id, blocks_);
                return refuse({OutOfMemory::Cause::device_error, ordered.error().status});
            }
        }
        if (const Bytes rest = blocks_[id].size - size; rest > 0 && cuts(rest, size))
            index_.insert(blocks_.split(id, size), blocks_);
        Block& block = blocks_[id];
        block.state = Block::State::allocated;
        block.streams = StreamSet(request.stream);
        count_allocated(block.size);
        return Allocation{Address{align_up(to_integer(block.address), request.alignment)},
                          block.size, id};
    }

    // A segment of `preferred` bytes, or of `needed` if the device has no more, as one free block
    // that is not in the index.
    tl::expected<BlockId, OutOfMemory> take_segment(Bytes preferred, Bytes needed) {
        const auto range =
            malloc_segment(*device_, preferred, needed, [this] { return trim_for_retry(); });
        if (!range)
            return tl::make_unexpected(refused_by(range.error()));
        count_taken(range->size);
        return blocks_.create(range->begin, range->size, 0);
    }

    Device* device_;
    Blocks blocks_;
    Index index_;
};

}  // namespace tidemark::policies
