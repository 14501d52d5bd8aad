// Rank divergence: where ranks that should do the same stop doing so. Two questions, in this order,
// since ranks that do the same need not run at the same speed:
//
// Requests, by order: which rank's sequence of requested sizes diverges from that of the others,
// and where. The others are the largest set of ranks that agree; of equally large ones the set with
// the lowest rank. A rank that ends earlier than others has not diverged.
//
// Reserved memory: where a rank differs from a reference by more than a threshold. As long as both
// have requested the same, it is compared request by request; from where one of them diverges, or
// ends, by the time on the shared axis.
//
// Pure; on any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "replay/timeline/history.h"
#include "viz/model/session/job.h"

namespace tidemark::viz {

// A rank's history, complete; its first `preamble` events rebuild what was live before.
struct RankHistory {
    std::shared_ptr<const History> history;
    EventIndex preamble = 0;
};

struct RequestDivergence {
    std::uint64_t index = 0;  // requests that were the same
    EventIndex event = 0;     // of this rank's first different one
    Bytes size = 0;           // that it requests there
    Bytes usual = 0;          // that the others request

    friend bool operator==(const RequestDivergence&, const RequestDivergence&) = default;
};

struct ReservedDivergence {
    Nanoseconds time = 0;    // from when on
    std::int64_t more = 0;   // than the reference, there
    bool by_request = true;  // compared after the same request; else at the same time

    friend bool operator==(const ReservedDivergence&, const ReservedDivergence&) = default;
};

struct RankDivergences {
    std::vector<std::optional<RequestDivergence>> requests;  // of each rank
    std::vector<std::optional<ReservedDivergence>> reserved;

    // Who diverges from the others after the fewest requests, the lowest of several; none: nobody
    // does. O(ranks).
    std::optional<std::size_t> first_to_leave() const;

    friend bool operator==(const RankDivergences&, const RankDivergences&) = default;
};

// O(requests of all ranks), and for reserved memory as much as differs, times log(events). Cut
// short, with what was found, if cancelled.
RankDivergences find_divergences(std::span<const RankHistory> ranks, std::size_t reference,
                                 Bytes threshold, const Cancelled& cancelled);

}  // namespace tidemark::viz
