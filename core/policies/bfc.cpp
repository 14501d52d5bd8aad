// bfc: the best-fit allocator with coalescing of TensorFlow, XLA and JAX.
//
// Model: TSL's bfc_allocator over cudaMalloc. Sizes are multiples of 256 bytes. The smallest chunk
// that fits is taken, at its lowest address (its bins have that effect), and a freed chunk joins
// free neighbours. A chunk is split only if half of it or more would be left over, or
// `max_internal_frag` bytes; otherwise all of it is granted. A region is twice as large as the one
// before; the first has 2 MiB. A larger request doubles that until it fits, and where the device
// refuses, the allocator tries 10 % less. Without `growth` there is one region of everything that
// may be reserved. If a request still finds nothing, all unused regions are released, provided that
// is enough for the request (`gc`). What differs from BFC: regions are multiples of 512 bytes;
// memory that another stream used is ordered before it is reused (BFC knows one stream); chunks
// that wait for a safe frontier are left out.
//
// Promises: no wait as long as one stream is used; O(log free chunks) a call; less than half of a
// chunk is wasted, and less than `max_internal_frag`.
#include <algorithm>
#include <array>

#include "core/policies/coalescing_allocator.h"

namespace tidemark::policies {
namespace {

constexpr Bytes kBfcUnit = 256;
constexpr Bytes kBfcRegionUnit = 512;  // what Device::malloc promises
constexpr Bytes kBfcFirstRegion = 2_MiB;

constexpr Bytes whole_regions(Bytes size) {
    return size / kBfcRegionUnit * kBfcRegionUnit;
}

struct BfcSettings {
    Bytes limit = 0;
    Bytes max_internal_frag = 0;
    bool growth = true;
    bool gc = true;
};

class Bfc final : public CoalescingAllocator<SizeIndex> {
  public:
    Bfc(Device& device, const BfcSettings& settings)
        : CoalescingAllocator(device),
          settings_(settings),
          region_(settings.growth ? std::min(settings.limit, kBfcFirstRegion) : settings.limit) {}

    tl::expected<Allocation, OutOfMemory> allocate(const Request& request) override {
        return cut_for(
            request, kBfcUnit, [this](Bytes size) { return grow(size); },
            [this](Bytes rest, Bytes size) {
                return rest >= size || rest >= settings_.max_internal_frag;
            });
    }

    std::unique_ptr<Allocator> clone(Device& device) const override {
        std::unique_ptr<Bfc> copy(new Bfc(*this));
        copy->device_ = &device;
        return copy;
    }

  private:
    Bfc(const Bfc&) = default;

    Bytes room() const {
        const Bytes reserved = usage_.reserved;
        return settings_.limit > reserved ? whole_regions(settings_.limit - reserved) : 0;
    }

    // A new free block of at least `size`, in no index; unused regions may be released for it.
    tl::expected<BlockId, OutOfMemory> grow(Bytes size) {
        const auto grown = add_region(size);
        if (grown || !settings_.gc || room() + unused(index_, blocks_).bytes < size)
            return grown;
        return trim_for_retry() ? add_region(size) : grown;
    }

    tl::expected<BlockId, OutOfMemory> add_region(Bytes size) {
        const Bytes room = this->room();
        if (size > room)
            return tl::make_unexpected(OutOfMemory{OutOfMemory::Cause::limit});
        bool doubled = false;
        for (; region_ < size; region_ *= 2)
            doubled = true;
        const Bytes least = align_up(size, kBfcRegionUnit);
        Bytes bytes = std::min(align_up(region_, kBfcRegionUnit), room);
        DeviceResult<Address> begin = device_->malloc(bytes);
        while (!begin && begin.error().status == DeviceStatus::out_of_memory && bytes > least) {
            bytes = std::max(whole_regions(bytes / 10 * 9), least);
            begin = device_->malloc(bytes);
        }
        if (!begin)
            return tl::make_unexpected(refused_by(begin.error()));
        region_ *= doubled ? 1 : 2;
        count_taken(bytes);
        return blocks_.create(*begin, bytes, 0);
    }

    BfcSettings settings_;
    Bytes region_;  // size of the next one
};

constexpr std::array<OptionInfo, 4> kBfcOptions{{
    {.name = "limit",
     .type = OptionType::bytes,
     .unit = "bytes",
     .default_value = "0",
     .minimum = "0",
     .maximum = "1TiB",
     .summary = "most that may be reserved; 0 = as much as the device has",
     .source = "memory_limit; XLA_PYTHON_CLIENT_MEM_FRACTION of the device, 0.75 by default"},
    {.name = "growth",
     .type = OptionType::boolean,
     .default_value = "true",
     .summary =
         "reserve regions as they are needed; false: one region of everything that may be reserved",
     .source = "allow_growth; XLA_PYTHON_CLIENT_PREALLOCATE=false"},
    {.name = "gc",
     .type = OptionType::boolean,
     .default_value = "true",
     .summary = "release unused regions before a request fails",
     .source = "garbage_collection; TF_ENABLE_GPU_GARBAGE_COLLECTION"},
    {.name = "max_internal_frag",
     .type = OptionType::bytes,
     .unit = "bytes",
     .default_value = "128MiB",
     .minimum = "256",
     .maximum = "1TiB",
     .summary = "a chunk is split if at least this much would be left over, or half of the chunk",
     .source = "kMaxInternalFragmentation, or fragmentation_fraction of memory_limit"},
}};

}  // namespace

PolicyInfo bfc() {
    return {
        .name = "bfc",
        .summary = "TensorFlow's and JAX's: best fit, regions that double, few cuts",
        .source = "openxla/xla, tsl/framework/bfc_allocator.cc, 2026-07",
        .options = kBfcOptions,
        .make = [](Device& device, const Options& options) -> Result<std::unique_ptr<Allocator>> {
            const Bytes limit = options.bytes("limit");
            return std::make_unique<Bfc>(
                device, BfcSettings{.limit = limit != 0 ? limit : device.memory().total,
                                    .max_internal_frag = options.bytes("max_internal_frag"),
                                    .growth = options.boolean("growth"),
                                    .gc = options.boolean("gc")});
        },
        .also_called = "bfc-allocator",
        .tried_unasked = false,
        .only_read = true,
    };
}

}  // namespace tidemark::policies
