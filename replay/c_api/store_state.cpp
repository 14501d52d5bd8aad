// A store's parts, created in order and destroyed in reverse order.
#include "replay/c_api/store_state.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "core/tiers/victims/learned_forecast.h"
#include "replay/c_api/waits.h"

namespace tidemark::c_api {
namespace {

constexpr SpaceId kGpu{Tier::gpu, 0};
constexpr SpaceId kHost{Tier::host, 0};
constexpr SpaceId kDisk{Tier::disk, 0};
constexpr std::uint64_t kDeferrable = std::uint64_t{1} << 62U;  // in numbers of buffers
constexpr Bytes kUnlimited = Bytes{1} << 50;
constexpr Bytes kStaging = 256_MiB;

// What the links of a usual server do: they decide what is worth moving, not whether it can be.
constexpr double kBusBytesPerSecond = 50e9;
constexpr double kDiskBytesPerSecond = 2.5e9;
constexpr Nanoseconds kBusLatency = 10'000;
constexpr Nanoseconds kDiskLatency = 80'000;

Result<SpaceId> space_of(tm_tier tier) {
    switch (tier) {
        case TM_TIER_GPU:
            return kGpu;
        case TM_TIER_HOST:
            return kHost;
        case TM_TIER_DISK:
            return kDisk;
    }
    return fail(ErrorCode::bad_option, fmt::format("{} is not a tier", static_cast<int>(tier)),
                "tier");
}

// A program's future is not known here, but its past may be learned from.
Result<void> learn(const std::string& prefetch, SpillOptions& options) {
    const bool policy_learns = options.victims.policy != nullptr &&
                               options.victims.policy->foresight == Foresight::learned;
    if (!prefetch.empty() && prefetch != "learned" && prefetch != "none")
        return fail(ErrorCode::bad_option, fmt::format("there is no prefetch '{}'", prefetch),
                    "prefetch", "learned or none");
    options.prefetch = prefetch == "learned" || (prefetch.empty() && policy_learns);
    if (options.prefetch || policy_learns)
        options.forecast = std::make_shared<LearnedForecast>();
    return {};
}

void spill_ahead(SpaceSpec& space, const StorePlan& plan) {
    if (plan.spill_start != 0)
        space.spill_start = plan.spill_start;
    space.spill_stop = plan.spill_stop != 0 ? plan.spill_stop : space.spill_start;
}

}  // namespace

std::uint64_t number_of(BufferRef buffer) {
    return (std::uint64_t{buffer.generation} << 32U | to_integer(buffer.id)) + 1;
}

std::uint64_t number_of_deferrable(std::uint64_t id) {
    return kDeferrable | id;
}

tm_tier tier_of(SpaceId space) {
    return space == kGpu ? TM_TIER_GPU : space == kHost ? TM_TIER_HOST : TM_TIER_DISK;
}

Nanoseconds nanoseconds_of(std::uint64_t given) {
    constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<Nanoseconds>::max());
    return static_cast<Nanoseconds>(std::min(given, kMost));
}

Result<std::unique_ptr<StoreState>> StoreState::open(const StorePlan& plan) {
    auto state = std::unique_ptr<StoreState>(new StoreState);
    TM_TRY(state->prepare(plan));
    return state;
}

StoreState::~StoreState() {
    reservations_.clear();
    kept_.clear();
    deferrables_.reset();
    if (store_)
        (void)store_->close();
}

Result<MemorySpace*> StoreState::memory_of(tm_tier tier) {
    TM_ASSIGN(const SpaceId wanted, space_of(tier));
    for (const std::unique_ptr<MemorySpace>& space : spaces_) {
        if (space->id() == wanted)
            return space.get();
    }
    return fail(ErrorCode::bad_option, "the store was opened without that tier", "tier");
}

Result<ReservationId> StoreState::reservation_of(std::uint64_t number) {
    if (number == 0)
        return ReservationId{};
    const std::lock_guard lock(mutex_);
    const auto found = reservations_.find(number);
    if (found == reservations_.end())
        return fail(ErrorCode::not_found, fmt::format("there is no reservation {}", number),
                    "reservation");
    return found->second.id();
}

std::uint64_t StoreState::keep(MemoryReservation reservation) {
    const std::lock_guard lock(mutex_);
    reservations_.emplace(++last_reservation_, std::move(reservation));
    return last_reservation_;
}

Result<void> StoreState::end(std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    if (reservations_.erase(number) == 0)
        return fail(ErrorCode::not_found, fmt::format("there is no reservation {}", number),
                    "reservation");
    return {};
}

StreamId StoreState::stream_of(tm_stream stream) {
    return streams_ == nullptr ? StreamId::default_stream : streams_->id_of_kept(stream);
}

// Deferrable buffers.

Result<Device*> StoreState::device() {
    if (device_ == nullptr)
        return fail(ErrorCode::bad_option, "the store was opened without a GPU", "gpu");
    return device_;
}

Result<DeferrableStore*> StoreState::deferrables() {
    TM_TRY(device());
    return deferrables_.get();
}

Result<std::uint64_t> StoreState::create_deferrable(Bytes size, bool patient) {
    TM_ASSIGN(DeferrableStore* const memory, deferrables());
    TM_ASSIGN(Deferrable made, memory->create(size, 0, patient));
    const std::uint64_t number = number_of_deferrable(made.id());
    const std::lock_guard lock(mutex_);
    kept_.emplace(number, std::move(made));
    return number;
}

Result<Deferrable> StoreState::deferrable(std::uint64_t number) const {
    const std::lock_guard lock(mutex_);
    const auto found = kept_.find(number);
    if (found == kept_.end())
        return fail(ErrorCode::not_found,
                    fmt::format("there is no buffer {} that keeps its address", number), "buffer");
    return found->second;
}

std::uint64_t StoreState::number_of(BufferRef buffer) const {
    const std::lock_guard lock(mutex_);
    const auto kept = std::ranges::find_if(
        kept_, [&](const auto& entry) { return entry.second.buffer() == buffer; });
    return kept == kept_.end() ? c_api::number_of(buffer) : kept->first;
}

Result<BufferRef> StoreState::adopt(Range range) {
    TM_TRY(device());
    BufferSpec spec;
    spec.size = range.size;
    spec.space = kGpu;
    return store_->adopt(spec, transfers_->adopt(kGpu, range));
}

Result<BufferRef> StoreState::buffer(std::uint64_t number) const {
    if ((number & kDeferrable) == 0)
        return BufferRef{BufferId{static_cast<std::uint32_t>(number - 1)},
                         static_cast<std::uint32_t>((number - 1) >> 32U)};
    TM_ASSIGN(const Deferrable one, deferrable(number));
    return one.buffer();
}

Result<void> StoreState::destroy(std::uint64_t number) {
    if ((number & kDeferrable) != 0)
        return free_deferrable(number);
    TM_ASSIGN(const BufferRef one, buffer(number));
    return store_->destroy(one);
}

Result<void> StoreState::free_deferrable(std::uint64_t number) {
    TM_ASSIGN(DeferrableStore* const memory, deferrables());
    Deferrable ended;
    {
        const std::lock_guard lock(mutex_);
        auto node = kept_.extract(number);
        if (!node.empty())
            ended = std::move(node.mapped());
    }
    if (!ended)
        return fail(ErrorCode::not_found, "the buffer has been freed", "buffer");
    return memory->free(ended);
}

// Its parts.

Result<void> StoreState::add_gpu(const StorePlan& plan, DeviceTransfersConfig& config) {
    if (plan.gpu == nullptr)
        return {};
    context_ = plan.gpu->state;
    ContextState& context = *context_;
    if (plan.gpu_bytes == 0)
        return fail(ErrorCode::bad_option, "a GPU tier needs memory", "gpu_bytes");
    device_ = context.card();
    if (device_ == nullptr) {
        TM_ASSIGN(simulated_, ProcessDevice::open(plan.gpu_bytes));
        device_ = simulated_.get();
    }
    SpaceSpec gpu;
    gpu.id = kGpu;
    gpu.capacity = plan.gpu_bytes;
    spill_ahead(gpu, plan);
    machine_.spaces.push_back(gpu);
    machine_.links.push_back({kGpu, kHost, kBusBytesPerSecond, 0, kBusLatency, {}});
    machine_.links.push_back({kHost, kGpu, kBusBytesPerSecond, 0, kBusLatency, {}});
    GpuSpace space;
    space.space = kGpu;
    space.device = device_;
    config.gpus.push_back(space);
    streams_ = &context.streams();
    memory_ = std::make_unique<DevicePinnedSource>(*device_);
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
    if (!plan.directory.empty())
        spill_ahead(host, plan);
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
    options.directories = {plan.directory};
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
    TM_TRY(learn(plan.prefetch, options.spill));
    options.wait_ends = wait_ended;
    if (plan.gpu != nullptr)
        options.on_moves = DeferrableStore::listen(moves_);
    transfers_ = std::make_unique<DeviceTransfers>(config);
    std::vector<MemorySpace*> spaces;
    for (const SpaceSpec& spec : machine_.spaces) {
        spaces_.push_back(std::make_unique<MemorySpace>(spec));
        spaces.push_back(spaces_.back().get());
    }
    store_ = std::make_unique<TieredStore>(machine_, spaces, *transfers_, options);
    if (plan.gpu != nullptr)
        add_deferrables(plan);
    return store_->start_worker();
}

void StoreState::add_deferrables(const StorePlan& plan) {
    DeferrableOptions options;
    options.wait_ends = wait_ended;
    if (plan.controller_patience != 0)
        options.controller_patience = plan.controller_patience;
    deferrables_ = std::make_unique<DeferrableStore>(
        *store_, *spaces_.front(),
        [this](Bytes size) { return AddressRange::reserve(*device_, size); }, moves_, options);
}

}  // namespace tidemark::c_api
