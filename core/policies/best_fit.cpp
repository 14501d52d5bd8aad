// best-fit: one coalescing pool that grows.
//
// Model: the textbook allocator. One index holds all free memory, ordered by (size, address),
// whatever stream freed it. The smallest block that fits is taken, at its lowest address, and split
// for the request (rounded to 512 bytes). A freed block joins its neighbours again. A miss reserves
// a segment from the device: the request, or `segment` if that is more. Blocks remember the streams
// that used them; a stream that gets another stream's memory is first ordered behind it
// (regions/stream_set.h), so sharing memory between streams costs waits.
//
// Promises: no wait as long as one stream is used; O(log free blocks) a call.
#include <algorithm>
#include <array>

#include "core/policies/coalescing_allocator.h"

namespace tidemark::policies {
namespace {

class BestFit final : public CoalescingAllocator<SizeIndex> {
  public:
    BestFit(Device& device, Bytes segment, Bytes split)
        : CoalescingAllocator(device), segment_(segment), split_(split) {}

    tl::expected<Allocation, OutOfMemory> allocate(const Request& request) override {
        const auto grow = [this](Bytes size) {
            const Bytes needed = align_up(size, device_->granularity());
            return take_segment(std::max(needed, segment_), needed);
        };
        return cut_for(request, SizeIndex::kUnit, grow,
                       [this](Bytes rest, Bytes /*size*/) { return rest >= split_; });
    }

    std::unique_ptr<Allocator> clone(Device& device) const override {
        std::unique_ptr<BestFit> copy(new BestFit(*this));
        copy->device_ = &device;
        return copy;
    }

  private:
    BestFit(const BestFit&) = default;

    Bytes segment_;
    Bytes split_;
};

constexpr std::array<OptionInfo, 2> kBestFitOptions{{
    {.name = "segment",
     .type = OptionType::bytes,
     .unit = "bytes",
     .default_value = "32MiB",
     .minimum = "512",
     .maximum = "1TiB",
     .summary = "smallest segment that is reserved from the device",
     .source = "the growth step of the CUDA driver's own pool, measured"},
    {.name = "split",
     .type = OptionType::bytes,
     .unit = "bytes",
     .default_value = "512",
     .minimum = "512",
     .maximum = "1TiB",
     .summary = "a block is split if at least this much would be left over"},
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
