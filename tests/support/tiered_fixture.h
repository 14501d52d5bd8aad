// A small machine with a TieredStore on ManualTransfers, and content that tells buffers apart.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/check.h"
#include "core/tiers/spaces/memory_space.h"
#include "core/tiers/store/tiered_store.h"
#include "tests/support/manual_transfers.h"
#include "tests/support/spaces.h"

namespace tidemark::support {

struct TieredSizes {
    Bytes gpu = 1000;
    Bytes host = 2000;
    Bytes disk = 100'000;  // 0: there is none
    Bytes gpu1 = 0;
    double spill_start = 1;
    double spill_stop = 1;
    bool peers = true;  // the GPUs have a link
};

// Every two spaces have a link; the GPU's to the host is the fastest.
MachineSpec tiered_machine(const TieredSizes& sizes);

using Spaces = std::vector<SpaceId>;

// A request for an access in `space`, all else as it comes.
inline AccessSpec access_spec(SpaceId space, AccessMode mode) {
    AccessSpec spec;
    spec.space = space;
    spec.mode = mode;
    return spec;
}

struct TieredFixture {
    explicit TieredFixture(const TieredSizes& sizes = {}, StoreOptions options = {},
                           const std::string& policy = "lru");

    // What is in flight ends by itself from here on.
    ~TieredFixture() { transfers.set_automatic(true); }

    MemorySpace& space(SpaceId id);

    // Without waiting: the answer must be there, or come by pumping and finishing copies.
    BufferRef create(Bytes size, SpaceId space);
    Access access(BufferRef buffer, SpaceId space, AccessMode mode);

    // What a request became, with copies carried out and points passed as far as it needs.
    template <class T>
    T settle(Pending<T> pending) {
        for (int i = 0; i < 1000 && !pending.ready(); ++i) {
            store->pump();
            transfers.step();
            if (transfers.in_flight() == 0)
                transfers.pass_all();
        }
        TM_CHECK(pending.ready());
        return pending.take();
    }

    // Nothing is in flight, nothing waits for the device.
    void calm();

    // A buffer with content `seed`, as by a writing access.
    BufferRef filled(Bytes size, SpaceId space, std::uint64_t seed);
    void write(BufferRef buffer, SpaceId space, std::uint64_t seed);

    // Whether its bytes, read in `space`, are those of `seed`.
    bool reads(BufferRef buffer, SpaceId space, std::uint64_t seed);

    Bytes allocated(SpaceId id);

    MachineSpec machine;
    std::vector<std::unique_ptr<MemorySpace>> spaces;
    ManualTransfers transfers;
    std::unique_ptr<TieredStore> store;
};

// Bytes that only `seed` has.
void fill_content(std::span<std::byte> bytes, std::uint64_t seed);
bool has_content(std::span<const std::byte> bytes, std::uint64_t seed);

}  // namespace tidemark::support
