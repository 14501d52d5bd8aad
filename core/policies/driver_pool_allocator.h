// DriverPoolAllocator: an allocator that leaves every decision to the device's stream-ordered pool
// (cudaMallocAsync); cuda-async, rmm-cuda-async and torch's backend cudaMallocAsync are this one.
//
// Model: every call goes to the pool. What happens inside is the device's affair: on the simulator
// DriverPool's (core/regions), on a card the driver's. Initial memory is asked for once and given
// back to the pool. What no program's wrapper does: a trim gives back what the pool doesn't need,
// memory freed on a stream that didn't use it is ordered there, and a request for nothing is
// granted 512 bytes. What the pool holds besides what is allocated counts as it was at the last
// call.
//
// Promises: one call of the device a call; it waits at a trim only.
#pragma once

#include <memory>
#include <vector>

#include "core/allocator/allocator.h"
#include "core/base/vacant_ids.h"
#include "core/regions/stream_set.h"

namespace tidemark::policies {

class DriverPoolAllocator final : public Allocator {
  public:
    static constexpr Bytes kKeepAll = ~Bytes{0};  // as a threshold

    // `threshold` is what the pool keeps when the device is awaited.
    DriverPoolAllocator(Device& device, Bytes initial, Bytes threshold)
        : device_(&device), initial_(initial), threshold_(threshold) {}

    tl::expected<Allocation, OutOfMemory> allocate(const Request& request) override;
    void deallocate(const Allocation& allocation, StreamId stream) override;

    void record_use(const Allocation& allocation, StreamId stream) override {
        buffers_[allocation.node].streams.add(stream);
    }

    void trim(TrimLevel level) override;

    Bytes largest_free() const override { return 0; }

    // What the pool holds besides is at addresses that only it knows, and is shown behind the
    // highest.
    void for_each_region(const std::function<void(const Region&)>& visit) const override;
    std::unique_ptr<Allocator> clone(Device& device) const override;

  private:
    struct Buffer {
        Address begin = Address::null;
        Bytes size = 0;     // 0: vacant
        StreamSet streams;  // that used it
        Region::State state = Region::State::free;
        StreamId stream = StreamId::default_stream;  // that it was freed on
    };

    DriverPoolAllocator(const DriverPoolAllocator&) = default;

    DeviceResult<void> begin();
    void give_to_pool(std::uint32_t node);
    void count_held();

    Device* device_;
    Bytes initial_;
    Bytes threshold_;
    bool begun_ = false;
    Bytes buffered_ = 0;
    Address last_ = Address::null;  // the last address that came from the driver
    std::vector<Buffer> buffers_;
    VacantIds vacant_;
};

}  // namespace tidemark::policies
