// What a tm_context is made of: a device, perhaps its recorder, and a policy behind
// SharedAllocator.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/cuda/cuda_device.h"
#include "backends/sim/sim_device.h"
#include "backends/wrap/observed_device.h"
#include "core/allocator/observed_allocator.h"
#include "core/concurrent/shared_allocator.h"
#include "replay/c_api/fenced_frees.h"
#include "replay/c_api/stream_pool.h"
#include "replay/c_api/streams.h"
#include "replay/c_api/tidemark.h"
#include "traces/live/publisher.h"

namespace tidemark::c_api {

constexpr Bytes kDefaultAlignment = 512;

// The caller's options, parsed.
struct ContextPlan {
    std::string machine;
    std::string policy;
    std::string record;  // "" = none
    bool overwrite = false;
    Bytes memory = 0;
    Bytes limit = 0;
    std::uint64_t thread_cache = 0;
    std::uint32_t streams = 0;  // of its pool; 0 = the default
};

// Thread-safe except for its destruction.
class ContextState {
  public:
    static Result<std::unique_ptr<ContextState>> open(const ContextPlan& plan);

    const std::string& machine() const { return machine_; }

    const std::string& device_name() const { return device_name_; }

    const std::string& policy() const { return policy_; }

    tl::expected<Range, OutOfMemory> allocate(const tm_request& request);
    tl::expected<void, BadAddress> free(Address address, Bytes size, tm_stream stream);
    tl::expected<void, BadAddress> record_use(Address address, tm_stream stream);
    void name_tag(std::uint32_t tag, std::string_view name);
    Result<void> end_recording();
    void trim(bool wait);
    std::optional<LiveAllocation> range_of(Address address);
    Result<void> plan_pool(PoolId pool, std::span<const PlannedAllocation> expected);
    tm_statistics statistics();
    std::vector<tm_region> regions();

    SharedAllocator& shared() { return *shared_; }

    Streams& streams() { return *streams_; }

    StreamPool& stream_pool() { return *stream_pool_; }

    void set_oom_handler(tm_oom_handler handler, void* user);

    CudaDevice* card() { return card_; }  // null: the device is simulated

    // Of this process's memory for others, and of theirs here.
    DeviceResult<std::uint64_t> ipc_export(Address address, IpcHandle& handle);
    DeviceResult<Address> ipc_open(const IpcHandle& handle, std::uint64_t offset);
    DeviceResult<void> ipc_close(Address address);
    Error explain(const DeviceError& error);

    std::uint64_t close();

  private:
    // The addresses of empty blocks are odd; those of memory never are.
    static bool is_empty_block(Address address) { return (to_integer(address) & 1) != 0; }

    Result<void> open_device(const ContextPlan& plan);
    Result<void> open_policy(const ContextPlan& plan);
    tl::expected<Range, OutOfMemory> grant(const Request& query, std::uint32_t tag);
    bool handler_helps(Bytes size, std::uint32_t attempt);

    std::string machine_;
    std::string device_name_;
    std::string policy_;
    bool plans_pools_ = false;
    bool maps_segments_ = false;
    CostProfile profile_;
    std::unique_ptr<Device> device_;
    CudaDevice* card_ = nullptr;  // device_, if it is one
    std::unique_ptr<live::Publisher> publisher_;
    std::mutex end_mutex_;  // of the recording's end
    std::shared_mutex names_mutex_;
    std::map<std::uint32_t, std::string> names_;  // of tags, in a recording
    std::unique_ptr<ObservedDevice> observed_;
    std::unique_ptr<Allocator> recorded_;  // what an ObservedAllocator observes
    std::unique_ptr<Streams> streams_;
    std::unique_ptr<StreamPool> stream_pool_;
    std::unique_ptr<SharedAllocator> shared_;
    std::unique_ptr<FencedFrees> fenced_;
    std::atomic<std::uint64_t> empty_blocks_ = 0;
    std::atomic<std::uint64_t> second_attempts_ = 0;  // after a refusal that was none yet
    mutable std::shared_mutex handler_mutex_;         // guards the two below
    tm_oom_handler oom_handler_ = nullptr;
    void* oom_user_ = nullptr;
    std::mutex imports_mutex_;
    std::map<Address, Address> imports_;  // what ipc_open gave, and where its memory begins
};

}  // namespace tidemark::c_api

struct tm_context {
    std::shared_ptr<tidemark::c_api::ContextState> state;  // of stores on its GPU too
};
