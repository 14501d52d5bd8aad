// See tiered_fixture.h.
#include "tests/support/tiered_fixture.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/base/random.h"

namespace tidemark::support {

MachineSpec tiered_machine(const TieredSizes& sizes) {
    MachineSpec machine;
    machine.name = "small";
    const std::pair<SpaceId, Bytes> all[] = {
        {kGpu, sizes.gpu}, {kGpu1, sizes.gpu1}, {kHost, sizes.host}, {kDisk, sizes.disk}};
    for (const auto& [id, capacity] : all) {
        if (capacity == 0)
            continue;
        SpaceSpec space;
        space.id = id;
        space.capacity = capacity;
        if (id.tier != Tier::disk) {
            space.spill_start = sizes.spill_start;
            space.spill_stop = sizes.spill_stop;
        }
        machine.spaces.push_back(space);
    }
    for (const SpaceSpec& source : machine.spaces) {
        for (const SpaceSpec& target : machine.spaces) {
            const bool gpus = source.id.tier == Tier::gpu && target.id.tier == Tier::gpu;
            if (source.id == target.id || (gpus && !sizes.peers))
                continue;
            LinkSpec link;
            link.source = source.id;
            link.target = target.id;
            const bool disk = source.id.tier == Tier::disk || target.id.tier == Tier::disk;
            link.bytes_per_second = disk ? 2e9 : 50e9;
            machine.links.push_back(link);
        }
    }
    TM_CHECK(machine.validate());
    return machine;
}

namespace {

std::vector<MemorySpace*> views(const std::vector<std::unique_ptr<MemorySpace>>& spaces) {
    std::vector<MemorySpace*> all;
    for (const auto& space : spaces)
        all.push_back(space.get());
    return all;
}

}  // namespace

TieredFixture::TieredFixture(const TieredSizes& sizes, StoreOptions options,
                             const std::string& policy)
    : machine(tiered_machine(sizes)) {
    for (const SpaceSpec& spec : machine.spaces)
        spaces.push_back(std::make_unique<MemorySpace>(spec));
    options.spill.victims = *parse_victim_policy(policy);
    store = std::make_unique<TieredStore>(machine, views(spaces), transfers, std::move(options));
}

MemorySpace& TieredFixture::space(SpaceId id) {
    const auto found = std::find_if(spaces.begin(), spaces.end(),
                                    [&](const auto& space) { return space->id() == id; });
    TM_CHECK(found != spaces.end());
    return **found;
}

BufferRef TieredFixture::create(Bytes size, SpaceId where) {
    BufferSpec spec;
    spec.size = size;
    spec.space = where;
    return *settle(store->create(spec));
}

Access TieredFixture::access(BufferRef buffer, SpaceId where, AccessMode mode) {
    AccessSpec spec;
    spec.space = where;
    spec.mode = mode;
    Result<Access> access = settle(store->acquire(buffer, spec));
    TM_CHECK(access);
    return std::move(*access);
}

void TieredFixture::calm() {
    for (int i = 0; i < 1000; ++i) {
        transfers.finish_all();
        transfers.pass_all();
        if (!store->pump() && transfers.in_flight() == 0)
            return;
    }
}

BufferRef TieredFixture::filled(Bytes size, SpaceId where, std::uint64_t seed) {
    const BufferRef buffer = create(size, where);
    write(buffer, where, seed);
    return buffer;
}

void TieredFixture::write(BufferRef buffer, SpaceId where, std::uint64_t seed) {
    const Access writing = access(buffer, where, AccessMode::write);
    fill_content(transfers.bytes(writing.location()), seed);
}

bool TieredFixture::reads(BufferRef buffer, SpaceId where, std::uint64_t seed) {
    const Access reading = access(buffer, where, AccessMode::read);
    return has_content(transfers.bytes(reading.location()), seed);
}

Bytes TieredFixture::allocated(SpaceId id) {
    return space(id).counters().allocated;
}

void fill_content(std::span<std::byte> bytes, std::uint64_t seed) {
    Random random(seed);
    std::uint64_t word = random.next();
    for (std::byte& byte : bytes) {
        byte = static_cast<std::byte>(word);
        word = word * 6364136223846793005U + 1442695040888963407U;
        word = (word >> 7U) ^ (word << 57U);
    }
}

bool has_content(std::span<const std::byte> bytes, std::uint64_t seed) {
    std::vector<std::byte> expected(bytes.size());
    fill_content(expected, seed);
    return std::equal(bytes.begin(), bytes.end(), expected.begin());
}

}  // namespace tidemark::support
