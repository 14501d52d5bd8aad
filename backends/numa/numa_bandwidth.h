// How fast a node's processor copies memory on its own node or on another.
//
// One thread, bound to the processors of a node, copies a buffer to another, both on one memory
// node or each on its own, until the time is up. The fastest round counts, since noise only ever
// adds time. Bytes are counted once: each is read once and written once. Takes `budget`, plus at
// most one round.
#pragma once

#include <optional>

#include "backends/numa/numa_host.h"

namespace tidemark {

struct BandwidthQuestion {
    unsigned cpu_node = 0;
    unsigned memory_node = 0;
    Bytes size = 32_MiB;  // of each buffer: larger than caches
    Nanoseconds budget = 100'000'000;
    std::optional<unsigned> source_node = {};  // where the source is; nothing: memory_node
};

struct NumaBandwidth {
    unsigned cpu_node = 0;
    unsigned memory_node = 0;
    double bytes_per_second = 0;
    std::uint64_t rounds = 0;
};

// Errors: as NumaHost::allocate; not_found: the node has no processors; driver: this process may
// not run on them.
Result<NumaBandwidth> measure_bandwidth(const NumaHost& host, const BandwidthQuestion& question);

}  // namespace tidemark
