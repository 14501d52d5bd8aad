// What is measured, call by call.
#include "replay/analysis/calibrate/calibrate_units.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/base/text.h"
#include "core/regions/driver_pool.h"

namespace tidemark {
namespace {

constexpr StreamId kStream{1};
constexpr StreamId kCalibrateUnitsOther{2};

// How often a unit is run.
constexpr unsigned kOften = 100;
constexpr unsigned kSometimes = 15;
constexpr unsigned kRarely = 5;

constexpr std::size_t kChurning = 40;  // live at a time
constexpr Bytes kBusyPool = 512_MiB;

constexpr std::array<Bytes, 14> kPlainSizes{512,         4_KiB, 64_KiB, 256_KiB, 1_MiB,
                                            2_MiB - 512, 2_MiB, 4_MiB,  20_MiB,  64_MiB,
                                            256_MiB,     1_GiB, 4_GiB,  16_GiB};
constexpr std::array<Bytes, 8> kPoolSizes{512,    64_KiB,  2_MiB, 32_MiB,
                                          64_MiB, 256_MiB, 1_GiB, 4_GiB};
constexpr std::array<Bytes, 5> kHandlePages{1, 10, 32, 128, 512};
constexpr std::array<Bytes, 4> kRoomSizes{1_GiB, 64_GiB, 1024_GiB, 8192_GiB};
constexpr std::array<Bytes, 5> kTransferSizes{64_KiB, 1_MiB, 64_MiB, 128_MiB, 1_GiB};

template <class T>
void shuffle(std::vector<T>& values, Random& random) {
    for (std::size_t i = values.size(); i > 1; --i)
        std::swap(values[i - 1], values[random.below(i)]);
}

// Plain memory: several new pieces of one size, freed in any order.
DeviceResult<void> plain_fresh(Probe& probe, Random& random, Bytes size, std::size_t count) {
    std::vector<Address> live;
    for (std::size_t i = 0; i < count; ++i) {
        TM_ASSIGN(const Address address, probe.malloc(size, "fresh"));
        live.push_back(address);
    }
    shuffle(live, random);
    for (const Address address : live)
        TM_TRY(probe.free(address, "fresh"));
    return {};
}

// Plain memory of all sizes, in a program that frees and allocates again.
DeviceResult<void> plain_churn(Probe& probe, Random& random, const std::vector<Bytes>& sizes) {
    std::vector<Address> live;
    for (std::size_t i = 0; i < 2 * kChurning; ++i) {
        if (live.size() == kChurning) {
            const std::size_t chosen = random.below(kChurning);
            TM_TRY(probe.free(live[chosen], "churn"));
            live.erase(live.begin() + static_cast<std::ptrdiff_t>(chosen));
        }
        TM_ASSIGN(const Address address, probe.malloc(sizes[random.below(sizes.size())], "churn"));
        live.push_back(address);
    }
    shuffle(live, random);
    for (const Address address : live)
        TM_TRY(probe.free(address, "churn"));
    return {};
}

// Virtual memory: handles of one size that are new, mapped one by one; the same ones again, made
// accessible and unmapped in one call.
DeviceResult<void> mappings(Probe& probe, Random& random, Bytes size) {
    const std::uint64_t count = mappings_in_range(size);
    // Room for both, so that no address is mapped twice in a run.
    TM_ASSIGN(const Range room, probe.hold_room(2 * count * size));
    std::vector<PhysicalId> handles;
    std::vector<Range> ranges;
    for (std::uint64_t i = 0; i < count; ++i) {
        TM_ASSIGN(const PhysicalId handle, probe.create(size));
        handles.push_back(handle);
        ranges.push_back({room.begin + i * size, size});
        TM_TRY(probe.map(ranges.back(), handle, "fresh"));
        TM_TRY(probe.set_access(ranges.back(), "fresh"));
    }
    shuffle(ranges, random);
    for (const Range& range : ranges)
        TM_TRY(probe.unmap(range, {"unmap", "", size}));
    shuffle(handles, random);
    const Range all{room.begin + count * size, count * size};
    for (std::uint64_t i = 0; i < count; ++i)
        TM_TRY(probe.map({all.begin + i * size, size}, handles[i], "again"));
    TM_TRY(probe.timed(DeviceCall::set_access, {kSetAccessOfRange, "again", size}, Between::much,
                       [&] { return probe.device().set_access(all, true); }));
    TM_TRY(probe.unmap(all, {kUnmapOfRange, "", size}));
    for (const PhysicalId handle : handles)
        TM_TRY(probe.release(handle));
    return probe.let_go(room);
}

DeviceResult<void> reservations(Probe& probe, Random& random, Bytes size) {
    std::vector<Range> live;
    for (int i = 0; i < 4; ++i) {
        TM_ASSIGN(const Range range, probe.reserve(size));
        live.push_back(range);
    }
    shuffle(live, random);
    for (const Range& range : live)
        TM_TRY(probe.unreserve(range));
    return {};
}

DeviceResult<Address> malloc_async(Probe& probe, Bytes size, std::string_view state) {
    return probe.timed(DeviceCall::malloc_async, {"malloc_async", state, size}, Between::little,
                       [&] { return probe.device().malloc_async(size, kStream); });
}

DeviceResult<void> free_async(Probe& probe, Address address, Bytes size,
                              std::string_view state = "") {
    return probe.timed(DeviceCall::free_async, {"free_async", state, size}, Between::little,
                       [&] { return probe.device().free_async(address, kStream); });
}

DeviceResult<void> trim(Probe& probe, Bytes held) {
    return probe.timed(DeviceCall::trim_pool, {"trim_pool", "", held}, Between::much,
                       [&] { return probe.device().trim_pool(0); });
}

// Stream-ordered memory: a pool that has to grow, serves again what it holds, and releases it.
DeviceResult<void> pool(Probe& probe, Random&, Bytes size, std::size_t count) {
    Device& device = probe.device();
    TM_TRY(probe.timed(DeviceCall::set_pool_threshold, {"set_pool_threshold", "", 0},
                       Between::little,
                       [&] { return device.set_pool_threshold(kLargestRequest); }));
    const Bytes growth = DriverPool::growth(size);
    TM_ASSIGN(const Address first, malloc_async(probe, size, "grows"));
    TM_TRY(free_async(probe, first, size));
    for (std::size_t i = 0; i < count; ++i) {
        TM_ASSIGN(const Address address, malloc_async(probe, size, "held"));
        TM_TRY(free_async(probe, address, size));
    }
    TM_TRY(device.synchronize(kStream));
    TM_TRY(trim(probe, growth));
    TM_TRY(trim(probe, 0));
    return device.set_pool_threshold(0);
}

// Stream-ordered memory in a program: a pool that holds enough, with many pieces of several sizes
// in it, and holes between them.
DeviceResult<void> busy_pool(Probe& probe, Random& random) {
    constexpr std::array<Bytes, 3> kSizes{512, 64_KiB, 2_MiB};
    constexpr std::size_t kLive = 256;
    constexpr std::size_t kCalls = 128;
    Device& device = probe.device();
    TM_TRY(device.set_pool_threshold(kLargestRequest));
    TM_ASSIGN(const Address room, device.malloc_async(kBusyPool, kStream));
    TM_TRY(device.free_async(room, kStream));
    std::vector<std::pair<Address, Bytes>> live;
    const auto churn = [&]() -> DeviceResult<void> {
        for (std::size_t i = 0; i < kLive + kCalls; ++i) {
            if (i >= kLive) {
                std::swap(live[random.below(live.size())], live.back());
                TM_TRY(free_async(probe, live.back().first, live.back().second, "busy"));
                live.pop_back();
            }
            const Bytes size = kSizes[random.below(kSizes.size())];
            TM_ASSIGN(const Address address, i < kLive ? device.malloc_async(size, kStream)
                                                       : malloc_async(probe, size, "busy"));
            live.emplace_back(address, size);
        }
        return {};
    };
    const DeviceResult<void> done = churn();
    for (const auto& [address, size] : live)
        TM_TRY(device.free_async(address, kStream));
    TM_TRY(device.synchronize(kStream));
    TM_TRY(device.trim_pool(0));
    TM_TRY(device.set_pool_threshold(0));
    return done;
}

// Points in streams: as an allocator uses them that frees memory which other streams still use.
DeviceResult<void> order(Probe& probe, Random&) {
    Device& device = probe.device();
    std::vector<EventId> events;
    for (int i = 0; i < 16; ++i) {
        TM_ASSIGN(const EventId event,
                  probe.timed(DeviceCall::record, {"record", "", 0}, Between::little, [&] {
                      return device.record(i % 4 == 3 ? kCalibrateUnitsOther : kStream);
                  }));
        events.push_back(event);
    }
    for (const EventId event : events)
        TM_TRY(probe.timed(DeviceCall::complete, {"complete", "", 0}, Between::little,
                           [&] { return device.complete(event); }));
    TM_TRY(probe.timed(DeviceCall::synchronize, {"synchronize", "", 0}, Between::little,
                       [&] { return device.synchronize(kStream); }));
    TM_TRY(probe.timed(DeviceCall::synchronize_device, {"synchronize_device", "", 0},
                       Between::little, [&] { return device.synchronize_device(); }));
    // A stream is ordered behind one that has little to do: the usual case.
    for (int i = 0; i < 8; ++i) {
        TM_ASSIGN(const EventId event, device.record(kStream));
        TM_TRY(probe.timed(DeviceCall::wait, {"wait", "", 0}, Between::little,
                           [&] { return device.wait(kCalibrateUnitsOther, event); }));
    }
    TM_TRY(device.synchronize(kCalibrateUnitsOther));
    return {};
}

// How long one more transfer in a batch takes: `make` queues one.
template <class Make>
DeviceResult<void> batch(Probe& probe, DeviceCall call, const Samples::Key& key, Make make) {
    Device& device = probe.device();
    const std::size_t more = key.bytes >= 256_MiB ? 2 : 8;
    const auto time_of = [&](std::size_t count) -> DeviceResult<Nanoseconds> {
        TM_TRY(device.synchronize(kStream));
        const Nanoseconds begin = device.now();
        for (std::size_t i = 0; i < count; ++i)
            TM_TRY(
                probe.timed(call, {to_text(call), key.state, key.bytes}, Between::nothing, make));
        TM_TRY(device.synchronize(kStream));
        return device.now() - begin;
    };
    TM_ASSIGN(const Nanoseconds one, time_of(1));
    TM_ASSIGN(const Nanoseconds several, time_of(1 + more));
    probe.samples().add(key, (several - one) / static_cast<Nanoseconds>(more));
    return {};
}

DeviceResult<void> transfers(Probe& probe, Random&, Bytes size) {
    Device& device = probe.device();
    TM_ASSIGN(const Address here, probe.hold(size));
    TM_ASSIGN(const Address there, probe.hold(size));
    TM_TRY(batch(probe, DeviceCall::fill, {kTransfer, "fill", size},
                 [&] { return device.fill(here, 0x5a, size, kStream); }));
    TM_TRY(batch(probe, DeviceCall::copy, {kTransfer, "on_device", size},
                 [&] { return device.copy(there, here, size, kStream); }));
    TM_TRY(probe.let_go(here));
    return probe.let_go(there);
}

// Pinned host memory, and the way to it and back.
DeviceResult<void> host(Probe& probe, Random&, Bytes size, bool copies) {
    Device& device = probe.device();
    TM_ASSIGN(const Address there, probe.host_malloc(size));
    if (copies) {
        TM_ASSIGN(const Address here, probe.hold(size));
        TM_TRY(batch(probe, DeviceCall::copy, {kTransfer, "to_host", size},
                     [&] { return device.copy(there, here, size, kStream); }));
        TM_TRY(batch(probe, DeviceCall::copy, {kTransfer, "to_device", size},
                     [&] { return device.copy(here, there, size, kStream); }));
        TM_TRY(probe.let_go(here));
    }
    return probe.host_free(there);
}

// Collects the units that there is room for.
class Catalogue {
  public:
    Catalogue(Bytes memory, bool quick) : memory_(memory), quick_(quick) {}

    // `bytes` are taken at a time.
    void add(std::string_view what, Bytes size, Bytes bytes, unsigned runs,
             std::function<DeviceResult<void>(Probe&, Random&)> run) {
        if (bytes > memory_ || (quick_ && size > kLargestQuick && size <= kLargestMemory))
            return;
        units_.push_back({fmt::format("{} of {}", what, format_bytes(size)),
                          quick_ ? std::max(runs / 5, 3U) : runs, std::move(run)});
    }

    std::vector<CalibrationUnit> take() { return std::move(units_); }

  private:
    static constexpr Bytes kLargestQuick = 1_GiB;
    static constexpr Bytes kLargestMemory = 64_GiB;  // address space beyond it costs nothing

    Bytes memory_;
    bool quick_;
    std::vector<CalibrationUnit> units_;
};

void add_plain(Catalogue& catalogue, Bytes memory) {
    std::vector<Bytes> churning;
    for (const Bytes size : kPlainSizes) {
        const std::size_t count = size < 2_MiB ? 24 : size <= 256_MiB ? 6 : size <= 4_GiB ? 2 : 1;
        catalogue.add(
            "malloc", size, count * size, size <= 4_GiB ? kOften : kSometimes,
            [=](Probe& probe, Random& random) { return plain_fresh(probe, random, size, count); });
        if (size <= memory / (2 * kChurning))
            churning.push_back(size);
    }
    if (!churning.empty())
        catalogue.add("malloc in a program", churning.back(), kChurning * churning.back(), kOften,
                      [churning](Probe& probe, Random& random) {
                          return plain_churn(probe, random, churning);
                      });
}

void add_pool(Catalogue& catalogue) {
    for (const Bytes size : kPoolSizes)
        catalogue.add("malloc_async", size, DriverPool::growth(size), kOften,
                      [=](Probe& probe, Random& random) {
                          return pool(probe, random, size, size <= 1_MiB ? 16 : 4);
                      });
    catalogue.add("malloc_async in a program", kBusyPool, kBusyPool, kOften, busy_pool);
}

void add_virtual(Catalogue& catalogue, Bytes granularity) {
    for (const Bytes pages : kHandlePages) {
        const Bytes size = pages * granularity;
        catalogue.add("create and map", size, mappings_in_range(size) * size, kOften,
                      [=](Probe& probe, Random& random) { return mappings(probe, random, size); });
    }
    for (const Bytes size : kRoomSizes)
        catalogue.add("reserve", align_up(size, granularity), 0, kOften,
                      [=](Probe& probe, Random& random) {
                          return reservations(probe, random, align_up(size, granularity));
                      });
}

void add_movement(Catalogue& catalogue, const Device& device) {
    const bool copies = device.has(Feature::copies);
    for (const Bytes size : kTransferSizes) {
        const unsigned runs = size >= 64_MiB ? kRarely : kSometimes;
        if (copies)
            catalogue.add(
                "copy and fill", size, 2 * size, kSometimes,
                [=](Probe& probe, Random& random) { return transfers(probe, random, size); });
        if (device.has(Feature::host_memory))
            catalogue.add("host memory", size, size, runs, [=](Probe& probe, Random& random) {
                return host(probe, random, size, copies);
            });
    }
}

}  // namespace

std::vector<CalibrationUnit> calibration_units(const Device& device, Bytes memory, bool quick) {
    Catalogue catalogue(memory, quick);
    add_plain(catalogue, memory);
    if (device.has(Feature::async_pool))
        add_pool(catalogue);
    if (device.has(Feature::virtual_memory))
        add_virtual(catalogue, device.granularity());
    catalogue.add("order", 0, 0, kOften, order);
    add_movement(catalogue, device);
    return catalogue.take();
}

DeviceResult<void> measure_pool_creation(Probe& probe) {
    TM_ASSIGN(const Address address, malloc_async(probe, kPoolSizes.front(), "first"));
    TM_TRY(probe.device().free_async(address, kStream));
    TM_TRY(probe.device().synchronize(kStream));
    return probe.device().trim_pool(0);
}

}  // namespace tidemark
