// PeakSummary: what to read first about a run: how much at its peak, whose it was, and where memory
// was out.
//
// Pure; for jobs: O((blocks alive at the peak + segments) log segments), and O(marks) up to the
// first refusal.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "replay/timeline/history.h"
#include "viz/model/session/job.h"
#include "viz/model/session/session.h"

namespace tidemark::viz {

// Who held memory: one call site, one tag; without these, blocks of a size.
struct PeakHolder {
    std::string name;
    Bytes bytes = 0;
    std::uint64_t blocks = 0;
    BlockIndex largest = kNoBlock;  // of its blocks, the first of equals
    Filter filter;                  // what finds them; hides nothing if no filter can
};

// A request that didn't fit into what was reserved: the first that was refused, or the one that
// reserved memory grew to its peak for.
struct UnfitRequest {
    EventIndex event = 0;
    bool was_recorded = false;  // when it was recorded, but not in this run
    Bytes requested = 0;
    Bytes held = 0;           // from devices at that moment
    Bytes free = 0;           // of it
    Bytes largest_free = 0;   // in one piece
    std::uint64_t count = 0;  // of such requests in the whole run
};

struct PeakSummary {
    std::uint64_t events = 0;  // so many there were when this was made
    EventIndex peak = 0;       // of what is reserved, where most of it is in use
    SeriesValues at_peak;
    Bytes fragmentation = 0;  // at the peak: free, beside what is taken
    Bytes most_reserved = 0;
    std::vector<PeakHolder> holders;  // the largest first, at most kMostHolders
    bool holders_are_sizes = false;   // no tag or stack was recorded: who is of one size
    PeakHolder others;                // the rest of them as one
    std::uint64_t other_names = 0;    // so many are in it
    std::optional<UnfitRequest> refused;
    std::optional<UnfitRequest> grown_for;  // if as much lay free, but in smaller pieces
};

constexpr std::size_t kMostHolders = 10;

// Of what `history` holds now. Cancelled: without holders.
PeakSummary peak_summary(const History& history, const Cancelled& cancelled);

}  // namespace tidemark::viz
