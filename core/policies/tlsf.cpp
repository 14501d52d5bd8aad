// tlsf: two-level segregated fit, as in real-time systems and in Vulkan's memory allocator.
//
// Model: Masmano et al. 2004. Free blocks are in lists by size, `steps` for each octave. A request
// is rounded up to the next list, and the newest block of the first list that has one is split for
// it (regions/segregated_lists.h). A freed block joins its free neighbours. A miss reserves a
// segment from the device: the rounded request, or `segment` if that is more. Blocks remember the
// streams that used them; a stream that gets another stream's memory is first ordered behind it
// (regions/stream_set.h). VMA's additions (its strategies, its last free block outside of the
// lists) are left out.
//
// Promises: O(1) a call, apart from the device; a block that fits may be overlooked if it is larger
// than the request by less than a step, 1 / `steps` of it; no wait as long as one stream is used.
#include <algorithm>
#include <array>

#include "core/policies/coalescing_allocator.h"
#include "core/regions/segregated_lists.h"

namespace tidemark::policies {
namespace {

constexpr Bytes kTlsfUnit = SegregatedLists::kUnit;

class Tlsf final : public CoalescingAllocator<SegregatedLists> {
  public:
    Tlsf(Device& device, Bytes segment, unsigned steps)
        : CoalescingAllocator(device, SegregatedLists(steps)), segment_(segment) {}

    tl::expected<Allocation, OutOfMemory> allocate(const Request& request) override {
        return cut_for(
            request, kTlsfUnit,
            [this](Bytes size) {
                return take_segment(std::max(index().rounded_up(size), segment_), size);
            },
            [](Bytes /*rest*/, Bytes /*size*/) { return true; });
    }

    std::unique_ptr<Allocator> clone(Device& device) const override {
        std::unique_ptr<Tlsf> copy(new Tlsf(*this));
        copy->device_ = &device;
        return copy;
    }

  private:
    Tlsf(const Tlsf&) = default;

    Bytes segment_;
};

constexpr std::array<OptionInfo, 2> kTlsfOptions{{
    {.name = "segment",
     .type = OptionType::bytes,
     .unit = "bytes",
     .default_value = "32MiB",
     .minimum = "512",
     .maximum = "1TiB",
     .summary = "smallest segment that is reserved from the device, a multiple of 512",
     .source = "the growth step of the CUDA driver's own pool, measured; VMA's is 256 MiB"},
    {.name = "steps",
     .type = OptionType::count,
     .unit = "lists",
     .default_value = "32",
     .minimum = "4",
     .maximum = "64",
     .summary = "lists for each octave of sizes, a power of two",
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
