// A TieredStore over a simulated GPU with content, pinned blocks and a disk store in memory.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/sim/profile_text.h"
#include "backends/sim/sim_device.h"
#include "backends/tiers/device_transfers.h"
#include "backends/wrap/faulty.h"
#include "core/tiers/host/host_blocks.h"
#include "core/tiers/store/tiered_store.h"
#include "tests/support/memory_files.h"
#include "tests/support/real_host_device.h"
#include "tests/support/tiered_fixture.h"

namespace tidemark::support {

struct DeviceSizes {
    Bytes gpu = 4_MiB;
    Bytes host = 4_MiB;
    Bytes disk = 64_MiB;
    Bytes chunk = 128_KiB;
    unsigned in_flight = 4;
    Bytes block = 64_KiB;
    std::uint32_t pinned_pools = 1;  // of 8 blocks, at first
};

struct DeviceFixture {
    explicit DeviceFixture(const DeviceSizes& sizes = {});

    MemorySpace& space(SpaceId id);

    template <class T>
    T wait(Pending<T> pending) {
        return store->wait(std::move(pending));
    }

    // A buffer on the GPU or host with content `seed`.
    BufferRef filled(Bytes size, SpaceId where, std::uint64_t seed);

    // Whether the bytes that `access` gives are those of `seed`; or makes them so.
    bool holds(const Access& access, std::uint64_t seed);
    void fill(const Access& access, std::uint64_t seed);

    Result<Access> acquire(BufferRef buffer, SpaceId where, AccessMode mode);

    // Reads there; false if it is refused or differs.
    bool reads(BufferRef buffer, SpaceId where, std::uint64_t seed);

    // In the order in which they are needed.
    MachineSpec machine;
    std::vector<std::unique_ptr<MemorySpace>> spaces;
    CostProfile profile;
    SimDevice sim;
    RealHostDevice real;
    FaultyDevice device;
    DevicePinnedSource pinned;
    std::unique_ptr<HostBlocks> blocks;
    std::unique_ptr<HostBlocks> staging;
    MemoryFiles files;
    std::unique_ptr<DiskStore> disk;
    std::unique_ptr<DeviceTransfers> transfers;
    std::unique_ptr<TieredStore> store;
};

}  // namespace tidemark::support
