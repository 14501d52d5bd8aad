// See device_fixture.h.
#include "tests/backends/tiers/device_fixture.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"

namespace tidemark::support {

namespace {

std::vector<MemorySpace*> views(const std::vector<std::unique_ptr<MemorySpace>>& spaces) {
    std::vector<MemorySpace*> all;
    for (const auto& space : spaces)
        all.push_back(space.get());
    return all;
}

DiskStoreOptions disk_options() {
    DiskStoreOptions options;
    options.directories = {"/spill"};
    options.chunk = 64_KiB;
    return options;
}

SimConfig sim_config(const DeviceSizes& sizes, const CostProfile& profile) {
    SimConfig config;
    config.capacity = sizes.gpu;
    config.profile = &profile;
    config.backed = true;
    return config;
}

MachineSpec machine_of(const DeviceSizes& sizes) {
    MachineSpec machine =
        tiered_machine({.gpu = sizes.gpu, .host = sizes.host, .disk = sizes.disk});
    for (SpaceSpec& space : machine.spaces)
        space.granularity = space.id.tier == Tier::host ? sizes.block : Bytes{512};
    return machine;
}

}  // namespace

DeviceFixture::DeviceFixture(const DeviceSizes& sizes)
    : machine(machine_of(sizes)),
      profile(*load_profile("h200")),
      sim(sim_config(sizes, profile)),
      real(sim),
      device(real, {}),
      pinned(device) {
    for (const SpaceSpec& spec : machine.spaces)
        spaces.push_back(std::make_unique<MemorySpace>(spec));
    blocks = *HostBlocks::create(pinned, {.block = sizes.block,
                                          .blocks_per_pool = 8,
                                          .initial_pools = sizes.pinned_pools,
                                          .capacity = sizes.host});
    staging = *HostBlocks::create(
        pinned, {.block = 64_KiB, .blocks_per_pool = 8, .initial_pools = 1, .capacity = 8_MiB});
    files.add_directory("/spill");
    disk = *DiskStore::open(files, disk_options());
    DeviceTransfersConfig config;
    config.gpus = {{.space = kGpu, .device = &device}};
    config.hosts = {{kHost, blocks.get()}};
    config.disks = {{kDisk, disk.get()}};
    config.staging = staging.get();
    config.chunk = sizes.chunk;
    config.in_flight = sizes.in_flight;
    transfers = std::make_unique<DeviceTransfers>(config);
    StoreOptions options;
    options.spill.victims = *parse_victim_policy("lru");
    store = std::make_unique<TieredStore>(machine, views(spaces), *transfers, options);
}

MemorySpace& DeviceFixture::space(SpaceId id) {
    const auto found = std::find_if(spaces.begin(), spaces.end(),
                                    [&](const auto& one) { return one->id() == id; });
    TM_CHECK(found != spaces.end());
    return **found;
}

bool DeviceFixture::holds(const Access& access, std::uint64_t seed) {
    std::vector<std::byte> bytes;
    for (const Range& piece : access.pieces()) {
        std::vector<std::byte> part(piece.size);
        if (access.location().space.tier == Tier::gpu)
            TM_CHECK(sim.read(piece.begin, part));
        else
            std::copy_n(pointer_of(piece.begin), piece.size, part.begin());
        bytes.insert(bytes.end(), part.begin(), part.end());
    }
    return has_content(bytes, seed);
}

void DeviceFixture::fill(const Access& access, std::uint64_t seed) {
    std::vector<std::byte> bytes(access.location().size);
    fill_content(bytes, seed);
    Bytes done = 0;
    for (const Range& piece : access.pieces()) {
        const std::span<const std::byte> part = std::span(bytes).subspan(done, piece.size);
        if (access.location().space.tier == Tier::gpu)
            TM_CHECK(sim.write(piece.begin, part));
        else
            std::copy(part.begin(), part.end(), pointer_of(piece.begin));
        done += piece.size;
    }
}

Result<Access> DeviceFixture::acquire(BufferRef buffer, SpaceId where, AccessMode mode) {
    return wait(store->acquire(buffer, {.space = where, .mode = mode}));
}

BufferRef DeviceFixture::filled(Bytes size, SpaceId where, std::uint64_t seed) {
    const BufferRef buffer = *wait(store->create({.size = size, .space = where}));
    fill(*acquire(buffer, where, AccessMode::write), seed);
    return buffer;
}

bool DeviceFixture::reads(BufferRef buffer, SpaceId where, std::uint64_t seed) {
    const Result<Access> access = acquire(buffer, where, AccessMode::read);
    return access && holds(*access, seed);
}

}  // namespace tidemark::support
