// The resources of a computer that a replay over tiers needs.
#include "replay/analysis/tiers/device_tiers.h"

#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "backends/disk/disk_files.h"
#include "backends/tiers/numa_pinned.h"
#include "core/allocator/spec.h"
#include "core/base/text.h"
#include "core/tiers/disk/disk_store.h"
#include "core/tiers/host/host_blocks.h"
#include "replay/analysis/tiers/device_stage.h"
#include "replay/scenario/open_device.h"
#include "replay/tiers/tier_timeline.h"

namespace tidemark {
namespace {

constexpr SpaceId kRealGpu{Tier::gpu, 0};
constexpr const char* kAllocatorPolicy = "best-fit";
constexpr Bytes kStaging = 256_MiB;
constexpr Bytes kPool = 128_MiB;
constexpr Bytes kPinnedBeyondPrediction = 512_MiB;

Bytes peak_of(const TierRun& run, SpaceId space) {
    for (const TierSpacePeak& each : run.spaces)
        if (each.space == space)
            return each.peak;
    return 0;
}

// Real memory for a machine of one GPU, a host and maybe disks.
class RealMachine {
  public:
    RealMachine(Device& device, MachineSpec spec) : device_(device), spec_(std::move(spec)) {}

    ~RealMachine() {
        transfers_.reset();
        if (allocator_)
            allocator_->trim(TrimLevel::all);
    }

    const MachineSpec& spec() const { return spec_; }

    // The part of the machine that is real here: its first GPU, the host node that is nearest to
    // it, and disks with directories.
    Result<void> reduce() {
        double nearest = 0;
        for (const SpaceSpec& space : spec_.spaces) {
            const LinkSpec* link = spec_.link(kRealGpu, space.id);
            if (space.id.tier != Tier::host || !link || link->bytes_per_second <= nearest)
                continue;
            nearest = link->bytes_per_second;
            host_ = space.id;
        }
        const auto usable = [&](const SpaceSpec& space) {
            if (space.id.tier == Tier::disk)
                return !space.directories.empty();
            return space.id == kRealGpu || space.id == host_;
        };
        std::erase_if(spec_.spaces, [&](const SpaceSpec& space) { return !usable(space); });
        std::erase_if(spec_.links, [&](const LinkSpec& link) {
            return !spec_.space(link.source) || !spec_.space(link.target);
        });
        if (nearest == 0)
            return fail(ErrorCode::bad_option, "the machine has no host linked to gpu:0",
                        "--machine", "a replay on a device spills to the host first");
        return spec_.validate();
    }

    Result<void> make(const TierRun& predicted) {
        TM_TRY(make_gpu_memory());
        TM_TRY(make_host_memory(peak_of(predicted, host_)));
        DeviceTransfersConfig config;
        config.gpus = {{.space = kRealGpu, .device = &device_, .allocator = allocator_.get()}};
        config.hosts = {{host_, blocks_.get()}};
        for (const SpaceSpec& space : spec_.spaces) {
            if (space.id.tier != Tier::disk)
                continue;
            DiskStoreOptions options;
            options.directories = space.directories;
            if (!files_) {
                TM_ASSIGN(DiskFiles opened, open_disk_files());
                files_ = std::move(opened.files);
            }
            TM_ASSIGN(std::unique_ptr<DiskStore> store, DiskStore::open(*files_, options));
            disks_.push_back(std::move(store));
            config.disks.push_back({space.id, disks_.back().get()});
        }
        config.staging = staging_.get();
        transfers_ = std::make_unique<DeviceTransfers>(config);
        return {};
    }

    DeviceTransfers& transfers() { return *transfers_; }

  private:
    // Allocated and freed once, so that the driver isn't called while the program runs.
    Result<void> make_gpu_memory() {
        const Bytes capacity = spec_.space(kRealGpu)->capacity;
        const Bytes wanted = capacity + capacity / 8;
        if (wanted > device_.memory().free)
            return fail(ErrorCode::no_space,
                        fmt::format("the GPU has {} free, and {} are needed",
                                    format_bytes(device_.memory().free), format_bytes(wanted)),
                        "--device", "choose a smaller --gpu-memory, or end other programs");
        TM_ASSIGN(const PolicySpec policy, parse_policy(kAllocatorPolicy));
        TM_ASSIGN(allocator_, policy.make(device_));
        const auto whole = allocator_->allocate(
            {.size = wanted, .alignment = 512, .stream = StreamId::default_stream});
        if (!whole)
            return fail(ErrorCode::no_space, "the GPU's memory is not available in one piece",
                        "--device", "choose a smaller --gpu-memory");
        allocator_->deallocate(*whole, StreamId::default_stream);
        return {};
    }

    Result<void> make_host_memory(Bytes predicted) {
        const SpaceSpec& host = *spec_.space(host_);
        // On a computer of several nodes pages are taken from the one that the space names.
        if (numa_.nodes().nodes.size() > 1 && !numa_.obstacle())
            pinned_ = std::make_unique<NumaPinnedSource>(device_, numa_,
                                                         static_cast<unsigned>(host_.index));
        else
            pinned_ = std::make_unique<DevicePinnedSource>(device_);
        HostBlocksSpec blocks;
        blocks.block = host.block;
        blocks.blocks_per_pool = static_cast<std::uint32_t>(std::max<Bytes>(1, kPool / host.block));
        blocks.capacity = host.capacity;
        const Bytes first = std::min(host.capacity, predicted + kPinnedBeyondPrediction);
        blocks.initial_pools = static_cast<std::uint32_t>(first / kPool + 1);
        TM_ASSIGN(blocks_, HostBlocks::create(*pinned_, blocks));
        blocks.capacity = kStaging;
        blocks.initial_pools = static_cast<std::uint32_t>(kStaging / kPool);
        TM_ASSIGN(staging_, HostBlocks::create(*pinned_, blocks));
        return {};
    }

    Device& device_;
    MachineSpec spec_;
    std::unique_ptr<Allocator> allocator_;
    SpaceId host_{Tier::host, 0};
    NumaHost numa_ = NumaHost::open();
    std::unique_ptr<PinnedSource> pinned_;
    std::unique_ptr<HostBlocks> blocks_;
    std::unique_ptr<HostBlocks> staging_;
    std::unique_ptr<BlockFiles> files_;
    std::vector<std::unique_ptr<DiskStore>> disks_;
    std::unique_ptr<DeviceTransfers> transfers_;
};

Result<TierRun> play(const TierProgram& program, const MachineSpec& machine,
                     const TierScenario& scenario, const TierRun& predicted, Device& device,
                     CudaPacing* pacing, const TierListeners& listeners) {
    if (program.devices > 1)
        return fail(ErrorCode::unsupported,
                    fmt::format("the trace uses {} GPUs; a replay on a device can use only one",
                                program.devices),
                    "--device");
    TM_ASSIGN(MachineSpec sized, sized_machine(program, machine, scenario));
    RealMachine real(device, std::move(sized));
    TM_TRY(real.reduce());
    TM_TRY(real.make(predicted));
    TierTimeline timeline(scenario.timeline);
    DeviceStage stage(device, pacing, real.transfers());
    TM_TRY(stage.start());
    TM_ASSIGN(TierRun run,
              run_tiers_on(stage, timeline, program, real.spec(), scenario, listeners));
    run.device = device.name();
    return run;
}

}  // namespace

Result<TierRun> run_tiers_on_device(const TierProgram& program, const MachineSpec& machine,
                                    const TierScenario& scenario, const TierRun& predicted,
                                    Device& device, const TierListeners& listeners) {
    return play(program, machine, scenario, predicted, device, nullptr, listeners);
}

Result<TierRun> run_tiers_on_gpu(const TierProgram& program, const MachineSpec& machine,
                                 const TierScenario& scenario, const TierRun& predicted,
                                 int ordinal, const TierListeners& listeners) {
    TM_ASSIGN(const auto driver, open_cuda_driver());
    CudaConfig config;
    config.ordinal = ordinal;
    TM_ASSIGN(const std::unique_ptr<CudaDevice> device, open_cuda_device(driver, config));
    TM_ASSIGN(const std::unique_ptr<CudaPacing> pacing, CudaPacing::open(*device));
    return play(program, machine, scenario, predicted, *device, pacing.get(), listeners);
}

}  // namespace tidemark
