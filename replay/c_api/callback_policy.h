// CallbackPolicy: an Allocator whose decisions are the caller's functions. It checks their
// decisions, so that a mistake is reported and never becomes memory with two owners.
//
// Not thread-safe, as any allocator. O(log grants) in addition to the caller's own time;
// for_each_region and largest_free are O(grants).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/allocator/allocator.h"
#include "replay/c_api/tidemark.h"

namespace tidemark::c_api {

class CallbackPolicy;

}  // namespace tidemark::c_api

struct tm_policy_device {
    tidemark::c_api::CallbackPolicy* policy;
};

namespace tidemark::c_api {

class CallbackPolicy final : public Allocator {
  public:
    CallbackPolicy(const tm_policy& calls, Device& device);
    CallbackPolicy(const CallbackPolicy&) = delete;
    CallbackPolicy& operator=(const CallbackPolicy&) = delete;

    // Releases what it holds to the device.
    ~CallbackPolicy() override;

    bool made() const { return self_ != nullptr; }

    tl::expected<Allocation, OutOfMemory> allocate(const Request& request) override;
    void deallocate(const Allocation& allocation, StreamId stream) override;
    void record_use(const Allocation& allocation, StreamId stream) override;
    void trim(TrimLevel level) override;
    Bytes largest_free() const override;
    void for_each_region(const std::function<void(const Region&)>& visit) const override;

    // What tm_policy_* do.
    DeviceResult<Address> take_segment(Bytes wanted);
    tm_status give_back(Address address);
    DeviceResult<void> order(StreamId before, StreamId after);

  private:
    struct Granted {
        Bytes size = 0;
        StreamId stream = StreamId::default_stream;
        PoolId pool = PoolId::default_pool;
        std::vector<StreamId> users;
    };

    std::string complaint(const Request& request, Range granted) const;

    tm_policy calls_;
    Device& device_;
    tm_policy_device handle_;
    void* self_ = nullptr;
    std::map<Address, Bytes> segments_;
    std::map<Address, Granted> grants_;
};

}  // namespace tidemark::c_api
