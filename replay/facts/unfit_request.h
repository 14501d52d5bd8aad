// UnfitRequest: a request that didn't fit into reserved memory, and the free memory on its device
// at that time.
//
// Pure; O(marks), and O((segments + live blocks) log live blocks) for each that is looked at.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "replay/timeline/history.h"
#include "replay/timeline/memory_spans.h"

namespace tidemark::facts {

struct UnfitRequest {
    EventIndex event = 0;
    std::uint16_t device = 0;
    Bytes requested = 0;
    FreeSpace space;  // of the device
};

struct RefusedRequests {
    std::vector<UnfitRequest> first;
    std::uint64_t count = 0;
    EventIndex last = kNever;
};

// Requests that ran out of memory: in this run (MarkKind::out_of_memory), or in the recording
// (recorded_out_of_memory). The first `most` of them in full; their space is as it was when the
// allocator gave up, with its caches emptied. If cancelled, some may be missing.
RefusedRequests refused_requests(const History& history, MarkKind kind, std::size_t most,
                                 const std::atomic<bool>& cancelled);

// The request for which reserved memory grew towards its peak when most memory was free, if that
// would have been enough on its device but was in smaller pieces. O(growths log events) more.
std::optional<UnfitRequest> grown_for(const History& history, const std::atomic<bool>& cancelled);

}  // namespace tidemark::facts
