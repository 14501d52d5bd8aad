// rmm-pool: RMM's pool_memory_resource.
//
// Model: RMM 26.10 over cudaMalloc. Sizes are multiples of 256 bytes; best fit, always split
// exactly. Each stream has free lists, which are joined only when a stream finds nothing elsewhere.
// The pool grows by doubling or, below a maximum, by half of the room
// (regions/stream_ordered_pool.h). Streams are visited in the order in which they first appeared;
// RMM visits them by the address of an event of each, which usually is the same order. Initial
// memory belongs to the default stream. What differs from RMM: a trim releases unused segments (RMM
// never does), memory freed on a stream that didn't use it is ordered there (RMM leaves that to
// programs), and a request for 0 bytes is granted 256 bytes.
//
// Promises: one event recorded per free, as RMM does; O(log blocks) a call while a stream finds
// blocks of its own.
#include <algorithm>
#include <array>

#include "core/allocator/allocator.h"
#include "core/base/check.h"
#include "core/regions/stream_ordered_pool.h"

namespace tidemark::policies {
namespace {

class RmmPool final : public Allocator {
  public:
    RmmPool(Device& device, Bytes initial, Bytes maximum)
        : device_(&device), pool_(initial, maximum) {}

    tl::expected<Allocation, OutOfMemory> allocate(const Request& request) override {
        if (request.size >= kLargestRequest) [[unlikely]]
            return refuse({OutOfMemory::Cause::too_large});
        const Bytes padding =
            std::max(request.alignment, StreamOrderedPool::kUnit) - StreamOrderedPool::kUnit;
        const Bytes size =
            align_up(std::max<Bytes>(request.size, 1) + padding, StreamOrderedPool::kUnit);
        const auto id = pool_.allocate(size, request.stream, *device_);
        count_held(pool_.held());
        if (!id) [[unlikely]]
            return refuse(id.error().device ? refused_by(*id.error().device)
                                            : OutOfMemory{OutOfMemory::Cause::limit});
        count_allocated(size);
        return Allocation{Address{align_up(to_integer(pool_[*id].address), request.alignment)},
                          size, *id};
    }

    void deallocate(const Allocation& allocation, StreamId stream) override {
        TM_CHECK(pool_[allocation.node].state == Block::State::allocated);
        count_deallocated(allocation);
        pool_.deallocate(allocation.node, stream, *device_);
    }

    void record_use(const Allocation& allocation, StreamId stream) override {
        pool_[allocation.node].streams.add(stream);
    }

    void trim(TrimLevel /*level*/) override {
        pool_.trim(*device_);
        count_held(pool_.held());
    }

    Bytes largest_free() const override { return pool_.largest_free(); }

    void for_each_region(const std::function<void(const Region&)>& visit) const override {
        pool_.blocks().for_each([&](const Block& block, Range segment) {
            const Range whole{segment.begin, HeldMemory::whole(segment.size)};
            const bool free = block.state == Block::State::free;
            visit({.range = {block.address, block.size},
                   .segment = whole,
                   .state = free ? Region::State::free : Region::State::allocated,
                   .stream = free ? pool_.stream_of(block) : StreamId::default_stream});
            if (block.next == kNoBlock && whole.size != segment.size)
                visit({.range = {segment.begin + segment.size, whole.size - segment.size},
                       .segment = whole,
                       .state = Region::State::hole});
        });
    }

    std::unique_ptr<Allocator> clone(Device& device) const override {
        std::unique_ptr<RmmPool> copy(new RmmPool(*this));
        copy->device_ = &device;
        return copy;
    }

  private:
    RmmPool(const RmmPool&) = default;

    void count_held(const HeldMemory& held) {
        usage_.reserved = held.bytes;
        usage_.mapped = held.bytes;
        stats_.segments_created = held.taken;
        stats_.segments_released = held.given_back;
    }

    Device* device_;
    StreamOrderedPool pool_;
};

constexpr std::array<OptionInfo, 2> kRmmPoolOptions{{
    {.name = "initial",
     .type = OptionType::bytes,
     .unit = "bytes",
     .default_value = "0",
     .minimum = "0",
     .maximum = "1TiB",
     .summary = "memory that the pool reserves at the first request, a multiple of 256",
     .source = "initial_pool_size; RMM's Python takes half of the free memory if it isn't given"},
    {.name = "maximum",
     .type = OptionType::bytes,
     .unit = "bytes",
     .default_value = "0",
     .minimum = "0",
     .maximum = "1TiB",
     .summary = "most that the pool may reserve, a multiple of 256; 0 = no bound",
     .source = "maximum_pool_size"},
}};

Result<std::unique_ptr<Allocator>> make_rmm_pool(Device& device, const Options& options) {
    const Bytes initial = options.bytes("initial");
    const Bytes maximum = options.bytes("maximum");
    if (initial % StreamOrderedPool::kUnit != 0 || maximum % StreamOrderedPool::kUnit != 0)
        return fail(ErrorCode::bad_option, "initial and maximum must be multiples of 256 bytes",
                    "rmm-pool", "RMM rejects other values as well");
    if (maximum != 0 && initial > maximum)
        return fail(ErrorCode::bad_option, "initial is above maximum", "rmm-pool",
                    "lower initial or raise maximum");
    return std::make_unique<RmmPool>(device, initial, maximum);
}

}  // namespace

PolicyInfo rmm_pool() {
    return {
        .name = "rmm-pool",
        .summary = "RMM's pool: best fit, free lists by stream, growth by doubling",
        .source = "RMM 26.10, pool_memory_resource, checked against its own decisions",
        .options = kRmmPoolOptions,
        .make = make_rmm_pool,
        .also_called = "pool-memory-resource",
        .tried_unasked = false,
    };
}

}  // namespace tidemark::policies
