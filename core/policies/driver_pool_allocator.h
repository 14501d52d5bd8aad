// DriverPoolAllocator: an allocator that leaves every decision to the device's stream-ordered pool
// (cudaMallocAsync); cuda-async, rmm-cuda-async and torch's backend cudaMallocAsync use it.
//
// Model: every call goes to the pool. What happens inside is up to the device: on the simulator
// DriverPool (core/regions), on a GPU the driver. Initial memory is requested once and freed to the
// pool. Three things that no program's wrapper does: a trim releases what the pool doesn't need,
// memory freed on a stream that didn't use it is ordered there, and a request for 0 bytes is
// granted 512 bytes. What the pool holds beyond allocated blocks counts as it was at the last call.
//
// Promises: one call of the device per call; it waits only at a trim.
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

    // `threshold` is what the pool keeps when the program waits for the device.
    DriverPoolAllocator(Device& device, Bytes initial, Bytes threshold)
        : device_(&device), initial_(initial), threshold_(threshold) {}

    tl::expected<Allocation, OutOfMemory> allocate(const Request& request) override;
    void deallocate(const Allocation& allocation, StreamId stream) override;

    void record_use(const Allocation& allocation, StreamId stream) override {
        buffers_[allocation.node].streams.add(stream);
    }

    void trim(TrimLevel level) override;

    Bytes largest_free() const override { return 0; }

    // The rest of the pool is at addresses that only the pool knows, and is shown behind the
    // highest block.
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
