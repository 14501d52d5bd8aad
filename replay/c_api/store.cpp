// Buffers in tiers: a TieredStore with the memory that it works on.
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "backends/disk/disk_files.h"
#include "backends/tiers/device_transfers.h"
#include "core/tiers/store/tiered_store.h"
#include "replay/c_api/context.h"
#include "replay/c_api/errors.h"

namespace tidemark::c_api {
namespace {

constexpr SpaceId kGpu{Tier::gpu, 0};
constexpr SpaceId kHost{Tier::host, 0};
constexpr SpaceId kDisk{Tier::disk, 0};
constexpr Bytes kUnlimited = Bytes{1} << 50;
constexpr Bytes kStaging = 256_MiB;

// What the links of a usual server do: they decide what is worth moving, not whether it can be.
constexpr double kBusBytesPerSecond = 50e9;
constexpr double kDiskBytesPerSecond = 2.5e9;
constexpr Nanoseconds kBusLatency = 10'000;
constexpr Nanoseconds kDiskLatency = 80'000;

// What the caller wants, understood.
struct StorePlan {
    tm_context* gpu = nullptr;
    Bytes gpu_bytes = 0;
    Bytes host_bytes = 0;
    std::string directory;  // "" = none
    Bytes disk_bytes = 0;
    std::string victims;
};

Result<SpaceId> space_of(tm_tier tier) {
    switch (tier) {
        case TM_TIER_GPU:
            return kGpu;
        case TM_TIER_HOST:
            return kHost;
        case TM_TIER_DISK:
            return kDisk;
    }
    return fail(ErrorCode::bad_option, fmt::format("{} is no tier", static_cast<int>(tier)),
                "tier");
}

// A buffer as the caller knows it: never 0.
std::uint64_t number_of(BufferRef buffer) {
    return (std::uint64_t{buffer.generation} << 32U | to_integer(buffer.id)) + 1;
}

BufferRef buffer_of(std::uint64_t number) {
    return {BufferId{static_cast<std::uint32_t>(number - 1)},
            static_cast<std::uint32_t>((number - 1) >> 32U)};
}

}  // namespace

class StoreState {
  public:
    static Result<std::unique_ptr<StoreState>> open(const StorePlan& plan) {
        auto state = std::unique_ptr<StoreState>(new StoreState);
        TM_TRY(state->prepare(plan));
        return state;
    }

    ~StoreState() {
        reservations_.clear();
        if (store_)
            store_->close();
    }

    StoreState(const StoreState&) = delete;
    StoreState& operator=(const StoreState&) = delete;

    TieredStore& store() { return *store_; }

    // Errors: bad_option for a tier that the store hasn't.
    Result<MemorySpace*> memory_of(tm_tier tier) {
        TM_ASSIGN(const SpaceId wanted, space_of(tier));
        for (const std::unique_ptr<MemorySpace>& space : spaces_) {
            if (space->id() == wanted)
                return space.get();
        }
        return fail(ErrorCode::bad_option, "the store was opened without that tier", "tier");
    }

    // 0 stands for none. Errors: not_found.
    Result<ReservationId> reservation_of(std::uint64_t number) {
        if (number == 0)
            return ReservationId{};
        const std::lock_guard lock(mutex_);
        const auto found = reservations_.find(number);
        if (found == reservations_.end())
            return fail(ErrorCode::not_found, fmt::format("there is no reservation {}", number),
                        "reservation");
        return found->second.id();
    }

    std::uint64_t keep(MemoryReservation reservation) {
        const std::lock_guard lock(mutex_);
        reservations_.emplace(++last_reservation_, std::move(reservation));
        return last_reservation_;
    }

    Result<void> end(std::uint64_t number) {
        const std::lock_guard lock(mutex_);
        if (reservations_.erase(number) == 0)
            return fail(ErrorCode::not_found, fmt::format("there is no reservation {}", number),
                        "reservation");
        return {};
    }

    StreamId stream_of(tm_stream stream) {
        return streams_ == nullptr ? StreamId::default_stream : streams_->id_of_kept(stream);
    }

  private:
    StoreState() = default;

    Result<void> prepare(const StorePlan& plan);
    Result<void> add_gpu(const StorePlan& plan, DeviceTransfersConfig& config);
    Result<void> add_host(const StorePlan& plan, DeviceTransfersConfig& config);
    Result<void> add_disk(const StorePlan& plan, DeviceTransfersConfig& config);

    MachineSpec machine_{"store", {}, {}, {}};
    std::shared_ptr<ContextState> context_;  // whose device and streams are used
    Streams* streams_ = nullptr;             // its
    std::unique_ptr<PinnedSource> memory_;
    std::unique_ptr<HostBlocks> blocks_;
    std::unique_ptr<HostBlocks> staging_;
    DiskFiles files_;
    std::unique_ptr<DiskStore> disk_;
    std::unique_ptr<DeviceTransfers> transfers_;
    std::vector<std::unique_ptr<MemorySpace>> spaces_;
    std::unique_ptr<TieredStore> store_;
    std::mutex mutex_;  // guards what is below
    std::map<std::uint64_t, MemoryReservation> reservations_;
    std::uint64_t last_reservation_ = 0;
};

Result<void> StoreState::add_gpu(const StorePlan& plan, DeviceTransfersConfig& config) {
    if (plan.gpu == nullptr)
        return {};
    context_ = plan.gpu->state;
    ContextState& context = *context_;
    if (context.card() == nullptr)
        return fail(ErrorCode::unsupported, "buffers need a context on a real GPU",
                    context.machine(), "leave the GPU out: host memory and files need none");
    if (plan.gpu_bytes == 0)
        return fail(ErrorCode::bad_option, "a GPU tier needs memory", "gpu_bytes");
    SpaceSpec gpu;
    gpu.id = kGpu;
    gpu.capacity = plan.gpu_bytes;
    machine_.spaces.push_back(gpu);
    machine_.links.push_back({kGpu, kHost, kBusBytesPerSecond, 0, kBusLatency, {}});
    machine_.links.push_back({kHost, kGpu, kBusBytesPerSecond, 0, kBusLatency, {}});
    GpuSpace space;
    space.space = kGpu;
    space.device = context.card();
    config.gpus.push_back(space);
    streams_ = &context.streams();
    memory_ = std::make_unique<DevicePinnedSource>(*context.card());
    return {};
}

Result<void> StoreState::add_host(const StorePlan& plan, DeviceTransfersConfig& config) {
    if (plan.host_bytes == 0)
        return fail(ErrorCode::bad_option, "a store needs host memory", "host_bytes");
    if (memory_ == nullptr)
        memory_ = std::make_unique<PlainSource>();
    SpaceSpec host;
    host.id = kHost;
    host.capacity = align_up(plan.host_bytes, host.block);
    host.granularity = host.block;
    machine_.spaces.push_back(host);
    HostBlocksSpec blocks;
    blocks.capacity = host.capacity;
    blocks.initial_pools = 1;
    TM_ASSIGN(blocks_, HostBlocks::create(*memory_, blocks));
    config.hosts.push_back({kHost, blocks_.get()});
    return {};
}

Result<void> StoreState::add_disk(const StorePlan& plan, DeviceTransfersConfig& config) {
    if (plan.directory.empty())
        return {};
    SpaceSpec disk;
    disk.id = kDisk;
    disk.capacity = plan.disk_bytes == 0 ? kUnlimited : plan.disk_bytes;
    disk.directories = {plan.directory};
    machine_.spaces.push_back(disk);
    machine_.links.push_back({kHost, kDisk, kDiskBytesPerSecond, 0, kDiskLatency, {}});
    machine_.links.push_back({kDisk, kHost, kDiskBytesPerSecond, 0, kDiskLatency, {}});
    TM_ASSIGN(files_, open_disk_files());
    DiskStoreOptions options;
    options.directories = {{plan.directory, kNoQuota}};
    TM_ASSIGN(disk_, DiskStore::open(*files_.files, options));
    config.disks.push_back({kDisk, disk_.get()});
    if (!config.gpus.empty()) {
        machine_.links.push_back({kGpu, kDisk, kDiskBytesPerSecond, 0, kDiskLatency, {}});
        machine_.links.push_back({kDisk, kGpu, kDiskBytesPerSecond, 0, kDiskLatency, {}});
        HostBlocksSpec staging;
        staging.capacity = kStaging;
        staging.initial_pools = 1;
        TM_ASSIGN(staging_, HostBlocks::create(*memory_, staging));
        config.staging = staging_.get();
    }
    return {};
}

Result<void> StoreState::prepare(const StorePlan& plan) {
    DeviceTransfersConfig config;
    TM_TRY(add_gpu(plan, config));
    TM_TRY(add_host(plan, config));
    TM_TRY(add_disk(plan, config));
    TM_TRY(machine_.validate());
    StoreOptions options;
    if (!plan.victims.empty()) {
        TM_ASSIGN(options.spill.victims, parse_victim_policy(plan.victims));
    }
    transfers_ = std::make_unique<DeviceTransfers>(config);
    std::vector<MemorySpace*> spaces;
    for (const SpaceSpec& spec : machine_.spaces) {
        spaces_.push_back(std::make_unique<MemorySpace>(spec));
        spaces.push_back(spaces_.back().get());
    }
    store_ = std::make_unique<TieredStore>(machine_, spaces, *transfers_, options);
    return store_->start_worker();
}

namespace {

AccessMode mode_of(tm_mode mode) {
    switch (mode) {
        case TM_READ:
            return AccessMode::read;
        case TM_WRITE:
            return AccessMode::write;
        case TM_OVERWRITE:
            return AccessMode::overwrite;
        case TM_PIN:
            break;
    }
    return AccessMode::pin;
}

}  // namespace
}  // namespace tidemark::c_api

struct tm_store {
    std::shared_ptr<tidemark::c_api::StoreState> state;
};

struct tm_access {
    std::shared_ptr<tidemark::c_api::StoreState> store;  // which must not end before the access
    tidemark::Access access;
};

using namespace tidemark;
using namespace tidemark::c_api;

namespace {

// As with(), in a tier of the store.
template <class F>
tm_status with_space(const char* call, tm_store* store, tm_tier tier,
                     std::initializer_list<const void*> needed, F&& work) {
    return with(call, store, needed, [&](StoreState& state) -> tm_status {
        const auto space = state.memory_of(tier);
        return space ? std::forward<F>(work)(state, **space) : c_api::fail(space.error());
    });
}

}  // namespace

tm_status tm_store_open(const tm_store_options* given, tm_store** store) {
    return guarded([&]() -> tm_status {
        if (store == nullptr)
            return fail_of_null("tm_store_open");
        *store = nullptr;
        tm_store_options options{};
        if (const tm_status bad = copy_in(given, options); bad != TM_OK)
            return bad;
        auto opened = StoreState::open({.gpu = options.gpu,
                                        .gpu_bytes = options.gpu_bytes,
                                        .host_bytes = options.host_bytes,
                                        .directory = text_or_empty(options.directory),
                                        .disk_bytes = options.disk_bytes,
                                        .victims = text_or_empty(options.victims)});
        if (!opened)
            return c_api::fail(opened.error());
        *store = new tm_store{std::move(*opened)};
        return TM_OK;
    });
}

tm_status tm_store_close(tm_store* store) {
    delete store;
    return TM_OK;
}

tm_status tm_buffer_create(tm_store* store, uint64_t bytes, tm_tier tier, uint32_t flags,
                           uint64_t reservation, uint64_t* buffer) {
    return with_space(
        "tm_buffer_create", store, tier, {buffer},
        [&](StoreState& state, MemorySpace& space) -> tm_status {
            const auto paid_by = state.reservation_of(reservation);
            if (!paid_by)
                return c_api::fail(paid_by.error());
            if (bytes == 0)
                return c_api::fail({ErrorCode::bad_option, "a buffer of 0 bytes", "bytes", ""});
            BufferSpec spec;
            spec.size = bytes;
            spec.space = space.id();
            spec.reservation = *paid_by;
            spec.may_spill = (flags & TM_STAYS) == 0;
            spec.patient = (flags & TM_PATIENT) != 0;
            const auto made = state.store().create(spec).take();
            if (!made)
                return c_api::fail(made.error());
            *buffer = number_of(*made);
            return TM_OK;
        });
}

tm_status tm_buffer_destroy(tm_store* store, uint64_t buffer) {
    return with("tm_buffer_destroy", store, {}, [&](StoreState& state) -> tm_status {
        return status_of(state.store().destroy(buffer_of(buffer)));
    });
}

tm_status tm_buffer_acquire(tm_store* store, uint64_t buffer, tm_tier tier, tm_mode mode,
                            tm_stream stream, uint32_t flags, tm_access** access) {
    return with_space(
        "tm_buffer_acquire", store, tier, {access},
        [&](StoreState& state, MemorySpace& space) -> tm_status {
            *access = nullptr;
            if (tier == TM_TIER_GPU && !Streams::known(stream))
                return c_api::fail({ErrorCode::bad_option,
                                    "an access is for work of a known stream", "stream", ""});
            AccessSpec spec;
            spec.space = space.id();
            spec.mode = mode_of(mode);
            spec.stream = state.stream_of(stream);
            spec.patient = (flags & TM_PATIENT) != 0;
            auto granted = state.store().acquire(buffer_of(buffer), spec).take();
            if (!granted)
                return c_api::fail(granted.error());
            *access = new tm_access{store->state, std::move(*granted)};
            return TM_OK;
        });
}

tm_status tm_access_pieces(tm_access* access, tm_piece* pieces, size_t capacity, size_t* count) {
    return guarded([&]() -> tm_status {
        if (access == nullptr || (pieces == nullptr && capacity != 0))
            return fail_of_null("tm_access_pieces");
        const std::vector<Range> all = access->access.pieces();
        for (std::size_t i = 0; i < std::min(capacity, all.size()); ++i)
            pieces[i] = {to_integer(all[i].begin), all[i].size};
        if (count != nullptr)
            *count = all.size();
        return TM_OK;
    });
}

void tm_access_release(tm_access* access) {
    delete access;
}

tm_status tm_buffer_prefetch(tm_store* store, uint64_t buffer, tm_tier tier) {
    return with_space(
        "tm_buffer_prefetch", store, tier, {},
        [&](StoreState& state, MemorySpace& space) -> tm_status {
            return status_of(state.store().prefetch(buffer_of(buffer), space.id()).take());
        });
}

tm_status tm_buffer_hint(tm_store* store, uint64_t buffer, int32_t hint) {
    return with("tm_buffer_hint", store, {}, [&](StoreState& state) -> tm_status {
        if (!state.store().set_hint(buffer_of(buffer), hint))
            return c_api::fail({ErrorCode::not_found, "the buffer is gone", "buffer", ""});
        return TM_OK;
    });
}

tm_status tm_buffer_tiers(tm_store* store, uint64_t buffer, uint32_t* tiers) {
    return with("tm_buffer_tiers", store, {tiers}, [&](StoreState& state) -> tm_status {
        *tiers = 0;
        for (const SpaceId space : state.store().where(buffer_of(buffer)))
            *tiers |= 1U << (space == kGpu    ? TM_TIER_GPU
                             : space == kHost ? TM_TIER_HOST
                                              : TM_TIER_DISK);
        return TM_OK;
    });
}

tm_status tm_reserve(tm_store* store, tm_tier tier, uint64_t bytes, uint32_t flags,
                     uint64_t* reservation) {
    return with_space("tm_reserve", store, tier, {reservation},
                      [&](StoreState& state, MemorySpace& space) -> tm_status {
                          ReservationSpec spec;
                          spec.spaces = {space.id()};
                          spec.size = bytes;
                          spec.patient = (flags & TM_PATIENT) != 0;
                          auto made = state.store().reserve(spec).take();
                          if (!made)
                              return c_api::fail(made.error());
                          *reservation = state.keep(std::move(*made));
                          return TM_OK;
                      });
}

tm_status tm_reservation_end(tm_store* store, uint64_t reservation) {
    return with("tm_reservation_end", store, {},
                [&](StoreState& state) -> tm_status { return status_of(state.end(reservation)); });
}

tm_status tm_store_free_bytes(tm_store* store, tm_tier tier, uint64_t bytes, uint64_t* freed) {
    return with_space("tm_store_free_bytes", store, tier, {},
                      [&](StoreState& state, MemorySpace& space) -> tm_status {
                          const FreeReport report =
                              state.store().free_bytes(space.id(), bytes).take();
                          if (freed != nullptr)
                              *freed = report.freed;
                          return TM_OK;
                      });
}

tm_status tm_store_counters(tm_store* store, tm_tier tier, tm_tier_counters* counters) {
    return with_space("tm_store_counters", store, tier, {},
                      [&](StoreState& state, MemorySpace& space) -> tm_status {
                          const SpaceCounters now = space.counters();
                          const SpillCounters moved = state.store().counters(space.id());
                          tm_tier_counters all{};
                          all.capacity = space.spec().capacity;
                          all.used = now.allocated;
                          all.reserved = now.unused_reserved;
                          all.copied_out = moved.copied_out;
                          all.copied_in = moved.copied_in;
                          all.evictions = moved.evictions;
                          all.hits = moved.hits;
                          all.misses = moved.misses;
                          all.failed = moved.failed;
                          return copy_out(counters, all);
                      });
}
