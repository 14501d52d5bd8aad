// tlsf: two-level segregated fit, as in real-time systems and in Vulkan's memory allocator.
//
// Model: Masmano et al. 2004: free blocks in lists by size, `steps` to an octave; a request is
// rounded up to the next list, and the block that came last into the first list that has one is
// cut to it (regions/segregated_lists.h). Blocks join their free neighbours as they come back. A
// miss takes a segment from the device: the request, or `segment` if that is more. Blocks remember
// the streams that used them; a stream that gets somebody else's memory is first ordered behind
// them (regions/stream_set.h). What VMA adds (its strategies, its last free block outside of the
// lists) is left out.
//
// Promises: O(1) a call, besides the device; a block that fits may be overlooked if it is larger
// than the request by less than a step, 1 / `steps` of it; no wait as long as one stream is used.
#include <algorithm>
#include <array>

#include "core/allocator/allocator.h"
#include "core/base/check.h"
#include "core/regions/blocks.h"
#include "core/regions/segments.h"
#include "core/regions/segregated_lists.h"
#include "core/regions/size_index.h"

namespace tidemark::policies {
namespace {

constexpr Bytes kTlsfUnit = SegregatedLists::kUnit;

class Tlsf final : public Allocator {
  public:
    Tlsf(Device& device, Bytes segment, unsigned steps)
        : device_(&device), segment_(segment), lists_(steps) {}

    tl::expected<Allocation, OutOfMemory> allocate(const Request& request) override {
        if (request.size >= kLargestRequest) [[unlikely]]
            return refuse({OutOfMemory::Cause::too_large});
        const Bytes padding = std::max(request.alignment, kTlsfUnit) - kTlsfUnit;
        const Bytes size = align_up(std::max<Bytes>(request.size, 1) + padding, kTlsfUnit);
        BlockId id = lists_.first_from(size);
        if (id == kNoBlock) [[unlikely]] {
            const auto grown = grow(size);
            if (!grown)
                return refuse(grown.error());
            id = *grown;
        }
        // Ordered before anything changes: a failure here leaves the block where it was.
        if (!blocks_[id].streams.only(request.stream)) [[unlikely]] {
            const auto ordered = blocks_[id].streams.order_before(request.stream, *device_);
            if (!ordered)
                return refuse({OutOfMemory::Cause::device_error, ordered.error().status});
        }
        lists_.erase(id, blocks_);
        if (blocks_[id].size > size)
            lists_.insert(blocks_.split(id, size), blocks_);
        Block& block = blocks_[id];
        block.state = Block::State::allocated;
        block.streams = StreamSet(request.stream);
        count_allocated(size);
        return Allocation{Address{align_up(to_integer(block.address), request.alignment)}, size,
                          id};
    }

    void deallocate(const Allocation& allocation, StreamId /*stream*/) override {
        BlockId id = allocation.node;
        TM_CHECK(blocks_[id].state == Block::State::allocated);
        count_deallocated(allocation);
        blocks_[id].state = Block::State::free;
        id = join_neighbours(id, Block::State::free, blocks_, lists_);
        lists_.insert(id, blocks_);
    }

    void record_use(const Allocation& allocation, StreamId stream) override {
        blocks_[allocation.node].streams.add(stream);
    }

    void trim(TrimLevel /*level*/) override {
        for (const BlockId id : blocks_.segments()) {
            const Block block = blocks_[id];
            if (block.state != Block::State::free || !block.whole_segment() ||
                !device_->free(block.address))
                continue;
            lists_.erase(id, blocks_);
            blocks_.release(id);
            count_given_back(block.size);
        }
    }

    Bytes largest_free() const override { return lists_.largest(); }

    void for_each_region(const std::function<void(const Region&)>& visit) const override {
        blocks_.for_each([&](const Block& block, Range segment) {
            const auto state = block.state == Block::State::allocated ? Region::State::allocated
                                                                      : Region::State::free;
            visit({{block.address, block.size}, segment, state});
        });
    }

    std::unique_ptr<Allocator> clone(Device& device) const override {
        std::unique_ptr<Tlsf> copy(new Tlsf(*this));
        copy->device_ = &device;
        return copy;
    }

  private:
    Tlsf(const Tlsf&) = default;

    // A new free block of at least `size`, in the lists.
    tl::expected<BlockId, OutOfMemory> grow(Bytes size) {
        const auto range = malloc_segment(*device_, std::max(size, segment_), size,
                                          [this] { return trim_for_retry(); });
        if (!range)
            return tl::make_unexpected(refused_by(range.error()));
        count_taken(range->size);
        const BlockId id = blocks_.create(range->begin, range->size, 0);
        lists_.insert(id, blocks_);
        return id;
    }

    Device* device_;
    Bytes segment_;
    Blocks blocks_;
    SegregatedLists lists_;
};

constexpr std::array<OptionInfo, 2> kTlsfOptions{{
    {.name = "segment",
     .type = OptionType::bytes,
     .unit = "bytes",
     .default_value = "32MiB",
     .minimum = "512",
     .maximum = "1TiB",
     .summary = "the least that is taken from the device at once, a multiple of 512",
     .source = "the growth step of the CUDA driver's own pool, measured; VMA's is 256 MiB"},
    {.name = "steps",
     .type = OptionType::count,
     .unit = "lists",
     .default_value = "32",
     .minimum = "4",
     .maximum = "64",
     .summary = "lists to an octave of sizes, a power of two",
     .source = "2^SLI; Masmano and VMA: 32"},
}};

Result<std::unique_ptr<Allocator>> make_tlsf(Device& device, const Options& options) {
    const Bytes segment = options.bytes("segment");
    const auto steps = static_cast<unsigned>(options.count("steps"));
    if (segment % kTlsfUnit != 0 || !is_power_of_two(steps))
        return fail(ErrorCode::bad_option,
                    "segment must be a multiple of 512 bytes, steps a power of two", "tlsf");
    return std::make_unique<Tlsf>(device, segment, steps);
}

}  // namespace

PolicyInfo tlsf() {
    return {
        .name = "tlsf",
        .summary = "lists by size, two levels of bitmaps: a good fit in constant time",
        .source = "Masmano, Ripoll, Crespo, Real, TLSF, ECRTS 2004",
        .options = kTlsfOptions,
        .make = make_tlsf,
        .tried_unasked = false,
    };
}

}  // namespace tidemark::policies
