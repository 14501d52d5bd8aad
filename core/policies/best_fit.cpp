// best-fit: one coalescing pool that grows.
//
// Model: the textbook allocator. All free memory is one index ordered by (size, address), whatever
// stream let it go; the smallest block that fits is taken, at its lowest address, cut to the
// request (rounded to 512 bytes) and joined with its neighbours again when it comes back. A miss
// takes a segment from the device: the request, or `segment` if that is more. Blocks remember the
// streams that used them; a stream that gets somebody else's memory is first ordered behind them
// (regions/stream_set.h), so memory is shared between streams at the price of waiting.
//
// Promises: no wait as long as one stream is used; O(log free blocks) a call.
#include <algorithm>
#include <array>

#include "core/allocator/allocator.h"
#include "core/base/check.h"
#include "core/regions/blocks.h"
#include "core/regions/segments.h"
#include "core/regions/size_index.h"

namespace tidemark::policies {
namespace {

constexpr Bytes kBestFitUnit = SizeIndex::kUnit;

class BestFit final : public Allocator {
  public:
    BestFit(Device& device, Bytes segment, Bytes split)
        : device_(&device), segment_(segment), split_(split) {}

    tl::expected<Allocation, OutOfMemory> allocate(const Request& request) override {
        if (request.size >= kLargestRequest)
            return refuse({OutOfMemory::Cause::too_large, DeviceStatus::out_of_memory});
        const Bytes padding =
            request.alignment > kBestFitUnit ? request.alignment - kBestFitUnit : 0;
        const Bytes size = align_up(std::max<Bytes>(request.size, 1) + padding, kBestFitUnit);
        BlockId id = index_.take_first_from(size, blocks_);
        if (id == kNoBlock) [[unlikely]] {
            const auto grown = grow(size);
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
        if (blocks_[id].size - size >= split_)
            index_.insert(blocks_.split(id, size), blocks_);
        Block& block = blocks_[id];
        block.state = Block::State::allocated;
        block.streams = StreamSet(request.stream);
        count_allocated(block.size);
        return Allocation{Address{align_up(to_integer(block.address), request.alignment)},
                          block.size, id};
    }

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

    std::unique_ptr<Allocator> clone(Device& device) const override {
        std::unique_ptr<BestFit> copy(new BestFit(*this));
        copy->device_ = &device;
        return copy;
    }

  private:
    BestFit(const BestFit&) = default;

    // A new free block of at least `size`, not in the index.
    tl::expected<BlockId, OutOfMemory> grow(Bytes size) {
        const Bytes needed = align_up(size, device_->granularity());
        const Bytes preferred = std::max(needed, segment_);
        const auto range =
            malloc_segment(*device_, preferred, needed, [this] { return trim_for_retry(); });
        if (!range)
            return tl::make_unexpected(refused_by(range.error()));
        count_taken(range->size);
        return blocks_.create(range->begin, range->size, 0);
    }

    Device* device_;
    Bytes segment_;
    Bytes split_;
    Blocks blocks_;
    SizeIndex index_;
};

constexpr std::array<OptionInfo, 2> kBestFitOptions{{
    {.name = "segment",
     .type = OptionType::bytes,
     .unit = "bytes",
     .default_value = "32MiB",
     .minimum = "512",
     .maximum = "1TiB",
     .summary = "the least that is taken from the device at once",
     .source = "the growth step of the CUDA driver's own pool, measured"},
    {.name = "split",
     .type = OptionType::bytes,
     .unit = "bytes",
     .default_value = "512",
     .minimum = "512",
     .maximum = "1TiB",
     .summary = "a block is cut if at least this much would be left over"},
}};

}  // namespace

PolicyInfo best_fit() {
    return {
        .name = "best-fit",
        .summary = "one coalescing pool that grows; smallest fitting block, lowest address",
        .source = "Knuth, The Art of Computer Programming, vol. 1, 2.5",
        .options = kBestFitOptions,
        .make = [](Device& device, const Options& options) -> Result<std::unique_ptr<Allocator>> {
            return std::make_unique<BestFit>(device, options.bytes("segment"),
                                             options.bytes("split"));
        },
    };
}

}  // namespace tidemark::policies
