// More buffers than GPU memory: three buffers of 4 MiB on a simulated GPU of 8 MiB. Each keeps its
// address. Pinned buffers are on the GPU; buffers that nobody uses may be in host memory meanwhile.
#include <array>
#include <cstdio>
#include <memory>
#include <vector>

#include <tidemark/backends/sim/sim_device.h>
#include <tidemark/backends/tiers/device_transfers.h>
#include <tidemark/core/deferrable/launch.h>

using namespace tidemark;

namespace {

constexpr SpaceId kGpu{Tier::gpu, 0};
constexpr SpaceId kHost{Tier::host, 0};
constexpr StreamId kStream{1};

MachineSpec two_tiers() {
    SpaceSpec gpu;
    gpu.id = kGpu;
    gpu.capacity = 8_MiB;
    SpaceSpec host;
    host.id = kHost;
    host.capacity = 64_MiB;
    host.granularity = host.block;
    return {"two tiers",
            {gpu, host},
            {{kGpu, kHost, 50e9, 0, 10'000, {}}, {kHost, kGpu, 50e9, 0, 10'000, {}}},
            {}};
}

}  // namespace

int main() {
    SimConfig config;
    config.capacity = 8_MiB;
    config.backed = true;
    SimDevice device(config);
    DevicePinnedSource pinned(device);
    HostBlocksSpec spec;
    spec.capacity = 64_MiB;
    const std::unique_ptr<HostBlocks> blocks = *HostBlocks::create(pinned, spec);
    DeviceTransfersConfig ways;
    ways.gpus = {{kGpu, &device}};
    ways.hosts = {{kHost, blocks.get()}};
    DeviceTransfers transfers(ways);

    const MachineSpec machine = two_tiers();
    MemorySpace gpu(machine.spaces[0]);
    MemorySpace host(machine.spaces[1]);
    const std::array<MemorySpace*, 2> spaces = {&gpu, &host};
    const auto moves = std::make_shared<DeferrableMoves>();
    StoreOptions options;
    options.on_moves = DeferrableStore::listen(moves);
    TieredStore tiers(machine, spaces, transfers, options);
    DeferrableStore memory(
        tiers, gpu, [&](Bytes size) { return AddressRange::reserve(device, size); }, moves, {});

    std::vector<Deferrable> buffers;
    for (std::uint64_t i = 0; i < 3; ++i) {
        buffers.push_back(*memory.create(4_MiB, i));
        const DeferrablePin pin = *memory.pin(buffers.back());
        (void)device.fill(pin.address(), static_cast<std::uint8_t>(i + 1), 4_MiB, kStream);
    }
    bool right = true;
    for (std::uint64_t i = 0; i < 3; ++i) {
        const auto there = launch(
            memory, kStream,
            [&](const Deferrable& buffer) {
                std::array<std::byte, 1> first{};
                return device.read(memory.info(buffer).address, first) &&
                       first[0] == static_cast<std::byte>(i + 1);
            },
            buffers[i]);
        right = right && there.value_or(false);
    }
    const DeferrableStatistics figures = memory.statistics();
    std::printf("3 buffers of 4 MiB in 8 MiB: %llu deferrals, %llu retrievals, bytes %s\n",
                static_cast<unsigned long long>(figures.deferrals),
                static_cast<unsigned long long>(figures.retrievals), right ? "right" : "WRONG");
    return right ? 0 : 1;
}
