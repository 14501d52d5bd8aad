// What a tm_store is made of: tiers of memory, a TieredStore over them, and with a GPU the
// DeferrableStore over that.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "backends/disk/disk_files.h"
#include "backends/sim/process_device.h"
#include "backends/tiers/device_transfers.h"
#include "core/deferrable/deferrable_store.h"
#include "core/tiers/store/tiered_store.h"
#include "replay/c_api/context.h"
#include "replay/c_api/tidemark.h"

namespace tidemark::c_api {

// The caller's options, parsed.
struct StorePlan {
    tm_context* gpu = nullptr;
    Bytes gpu_bytes = 0;
    Bytes host_bytes = 0;
    std::string directory;  // "" = none
    Bytes disk_bytes = 0;
    std::string victims;
    Nanoseconds controller_patience = 0;  // 0 = the default
    double spill_start = 0;               // 0 = 1: never before room is needed
    double spill_stop = 0;                // 0 = spill_start
    std::string prefetch;                 // "" = as the victims' policy foresees
};

// A buffer as the caller knows it: never 0. One that keeps its address by its id, which no other
// ever has.
std::uint64_t number_of(BufferRef buffer);
std::uint64_t number_of_deferrable(std::uint64_t id);
tm_tier tier_of(SpaceId space);
Nanoseconds nanoseconds_of(std::uint64_t given);  // the longest there are, at most

// Thread-safe except for its destruction.
class StoreState {
  public:
    static Result<std::unique_ptr<StoreState>> open(const StorePlan& plan);
    ~StoreState();
    StoreState(const StoreState&) = delete;
    StoreState& operator=(const StoreState&) = delete;

    TieredStore& store() { return *store_; }

    // Errors: bad_option for a tier that the store does not have.
    Result<MemorySpace*> memory_of(tm_tier tier);

    // 0 stands for none. Errors: not_found.
    Result<ReservationId> reservation_of(std::uint64_t number);
    std::uint64_t keep(MemoryReservation reservation);
    Result<void> end(std::uint64_t number);

    StreamId stream_of(tm_stream stream);

    // The GPU, and what is deferrable there. Errors: bad_option without a GPU tier.
    Result<Device*> device();
    Result<DeferrableStore*> deferrables();

    // Deferrable buffers by their numbers. Errors: as of DeferrableStore; not_found.
    Result<std::uint64_t> create_deferrable(Bytes size, bool patient);
    Result<Deferrable> deferrable(std::uint64_t number) const;

    // Its number, of either kind. O(deferrable buffers).
    std::uint64_t number_of(BufferRef buffer) const;

    // Over the program's memory of the GPU. Errors: bad_option without a GPU tier.
    Result<BufferRef> adopt(Range range);

    // Buffers of either kind. Errors: not_found.
    Result<BufferRef> buffer(std::uint64_t number) const;
    Result<void> destroy(std::uint64_t number);

  private:
    StoreState() = default;

    Result<void> prepare(const StorePlan& plan);
    Result<void> add_gpu(const StorePlan& plan, DeviceTransfersConfig& config);
    Result<void> add_host(const StorePlan& plan, DeviceTransfersConfig& config);
    Result<void> add_disk(const StorePlan& plan, DeviceTransfersConfig& config);
    void add_deferrables(const StorePlan& plan);
    Result<void> free_deferrable(std::uint64_t number);

    MachineSpec machine_{"store", {}, {}, {}};
    std::shared_ptr<ContextState> context_;  // whose device and streams are used
    Streams* streams_ = nullptr;             // its
    std::unique_ptr<ProcessDevice> simulated_;
    Device* device_ = nullptr;  // that, or the context's card
    std::unique_ptr<PinnedSource> memory_;
    std::unique_ptr<HostBlocks> blocks_;
    std::unique_ptr<HostBlocks> staging_;
    DiskFiles files_;
    std::unique_ptr<DiskStore> disk_;
    std::unique_ptr<DeviceTransfers> transfers_;
    std::vector<std::unique_ptr<MemorySpace>> spaces_;
    std::shared_ptr<DeferrableMoves> moves_ = std::make_shared<DeferrableMoves>();
    std::unique_ptr<TieredStore> store_;
    std::unique_ptr<DeferrableStore> deferrables_;
    mutable std::mutex mutex_;  // guards what is below
    std::map<std::uint64_t, MemoryReservation> reservations_;
    std::uint64_t last_reservation_ = 0;
    std::unordered_map<std::uint64_t, Deferrable> kept_;
};

}  // namespace tidemark::c_api

struct tm_store {
    std::shared_ptr<tidemark::c_api::StoreState> state;
};

// An access to one buffer, or pins of several.
struct tm_access {
    std::shared_ptr<tidemark::c_api::StoreState> store;  // which must not end before the access
    tidemark::Access access;
    std::vector<tidemark::DeferrablePin> pins;
};
