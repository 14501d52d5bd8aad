// UnfitRequest: a request that didn't fit into what was reserved, and what lay free on its device
// then.
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

// Requests that were out of memory: of this run (MarkKind::out_of_memory), or when it was recorded
// (recorded_out_of_memory). The first `most` of them whole; their space is what there was when the
// allocator gave up, its caches emptied. Cancelled: some may be missing.
RefusedRequests refused_requests(const History& history, MarkKind kind, std::size_t most,
                                 const std::atomic<bool>& cancelled);

// The request for which reserved memory grew towards its peak when most lay free, if that would
// have been enough on its device but lay in smaller pieces. O(growths log events) more.
std::optional<UnfitRequest> grown_for(const History& history, const std::atomic<bool>& cancelled);

}  // namespace tidemark::facts
