// buddy: blocks are powers of two, and only twins join.
//
// Model: Knowlton's binary buddies. A request takes the smallest power of two that holds it, at
// least `min_block`, from the smallest free block that fits, at its lowest address. Larger blocks
// are halved down to it, the lower half first. A freed block joins its twin (the offset in the
// segment with the bit of its size flipped) if that is free and whole. A miss reserves a segment of
// `segment` bytes, or one of the request's own power of two if that is more or the device has no
// more. Blocks remember the streams that used them; a stream that gets another stream's memory is
// first ordered behind it (regions/stream_set.h). Pools share all memory.
//
// Promises: internal waste below half of a block, no search, O(log(segment / min_block)) splits or
// joins a call; no wait as long as one stream is used.
#include <algorithm>
#include <array>
#include <bit>

#include <fmt/format.h>

#include "core/allocator/allocator.h"
#include "core/base/check.h"
#include "core/regions/blocks.h"
#include "core/regions/segments.h"
#include "core/regions/size_index.h"

namespace tidemark::policies {
namespace {

constexpr Bytes kBuddyDeviceAlignment = 512;  // what Device::malloc promises

// Two of a Block's fields are the policy's own: `stamp` is the address of the segment, from which
// a block's twin is computed, and `list` the stream of the last grant.
class Buddy final : public Allocator {
  public:
    Buddy(Device& device, Bytes min_block, Bytes segment)
        : device_(&device), min_block_(min_block), segment_(segment) {}

    tl::expected<Allocation, OutOfMemory> allocate(const Request& request) override {
        if (request.size >= kLargestRequest) [[unlikely]]
            return refuse({OutOfMemory::Cause::too_large});
        const Bytes padding = request.alignment > kBuddyDeviceAlignment
                                  ? request.alignment - kBuddyDeviceAlignment
                                  : 0;
        const Bytes size =
            std::max(std::bit_ceil(std::max<Bytes>(request.size, 1) + padding), min_block_);
        BlockId id = index_.first_from(size, blocks_);
        if (id == kNoBlock) [[unlikely]] {
            const auto grown = grow(size);
            if (!grown)
                return refuse(grown.error());
            id = *grown;
        }
        // Ordered before anything changes: a failure here leaves the block where it was.
        if (const StreamSet users = blocks_[id].streams; !users.empty()) {
            if (const auto ordered = users.order_before(request.stream, *device_); !ordered)
                return refuse({OutOfMemory::Cause::device_error, ordered.error().status});
        }
        index_.erase(id, blocks_);
        halve_down_to(id, size);
        Block& block = blocks_[id];
        block.state = Block::State::allocated;
        block.streams = StreamSet(request.stream);
        block.list = to_integer(request.stream);
        count_allocated(size);
        return Allocation{Address{align_up(to_integer(block.address), request.alignment)}, size,
                          id};
    }

    void deallocate(const Allocation& allocation, StreamId /*stream*/) override {
        BlockId id = allocation.node;
        TM_CHECK(blocks_[id].state == Block::State::allocated);
        count_deallocated(allocation);
        blocks_[id].state = Block::State::free;
        // The caller saw the other streams finish. The work of the block's own stream may still be
        // queued, as it is when PyTorch completes a free.
        if (allocation.retired)
            blocks_[id].streams = StreamSet(StreamId{blocks_[id].list});
        while (!blocks_[id].whole_segment()) {
            const bool upper =
                ((to_integer(blocks_[id].address) - blocks_[id].stamp) & blocks_[id].size) != 0;
            const BlockId twin = upper ? blocks_[id].prev : blocks_[id].next;
            if (blocks_[twin].state != Block::State::free || blocks_[twin].size != blocks_[id].size)
                break;
            index_.erase(twin, blocks_);
            id = upper ? twin : id;
            blocks_.merge_next(id);
        }
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
            visit({{block.address, block.size}, segment, state, StreamId{block.list}});
        });
    }

    std::unique_ptr<Allocator> clone(Device& device) const override {
        std::unique_ptr<Buddy> copy(new Buddy(*this));
        copy->device_ = &device;
        return copy;
    }

  private:
    Buddy(const Buddy&) = default;

    // Halves a block that is in no index until it has `size` bytes; the upper halves go free.
    void halve_down_to(BlockId id, Bytes size) {
        while (blocks_[id].size > size) {
            const BlockId upper = blocks_.split(id, blocks_[id].size / 2);
            blocks_[upper].stamp = blocks_[id].stamp;
            index_.insert(upper, blocks_);
        }
    }

    // A new free block of at least `size`, in the index.
    tl::expected<BlockId, OutOfMemory> grow(Bytes size) {
        const Bytes needed = std::max(size, device_->granularity());
        const Bytes preferred = std::max(needed, segment_);
        const auto range =
            malloc_segment(*device_, preferred, needed, [this] { return trim_for_retry(); });
        if (!range)
            return tl::make_unexpected(refused_by(range.error()));
        count_taken(range->size);
        const BlockId id = blocks_.create(range->begin, range->size, 0);
        blocks_[id].stamp = to_integer(range->begin);
        index_.insert(id, blocks_);
        return id;
    }

    Device* device_;
    Bytes min_block_;
    Bytes segment_;
    Blocks blocks_;
    SizeIndex index_;
};

constexpr std::array<OptionInfo, 2> kBuddyOptions{{
    {.name = "min_block",
     .type = OptionType::bytes,
     .unit = "bytes",
     .default_value = "512",
     .minimum = "512",
     .maximum = "1GiB",
     .summary = "the smallest block, a power of two"},
    {.name = "segment",
     .type = OptionType::bytes,
     .unit = "bytes",
     .default_value = "32MiB",
     .minimum = "512",
     .maximum = "1TiB",
     .summary = "what is reserved from the device at once, a power of two",
     .source = "the growth step of the CUDA driver's own pool, measured"},
}};

Result<std::unique_ptr<Allocator>> make_buddy(Device& device, const Options& options) {
    for (const std::string_view name : {"min_block", "segment"}) {
        if (!is_power_of_two(options.bytes(name)))
            return fail(ErrorCode::bad_option,
                        fmt::format("{} is {}, not a power of two", name, options.text(name)),
                        "policy buddy");
    }
    return std::make_unique<Buddy>(device, options.bytes("min_block"), options.bytes("segment"));
}

}  // namespace

PolicyInfo buddy() {
    return {
        .name = "buddy",
        .summary = "blocks are powers of two, halved on demand; only twins join again",
        .source = "K. C. Knowlton, A fast storage allocator, CACM 8(10), 1965",
        .options = kBuddyOptions,
        .make = make_buddy,
    };
}

}  // namespace tidemark::policies
