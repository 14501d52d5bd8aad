// PeakSummary: what to read first about a run: its peak, who held the memory there, and where the
// run was out of memory.
//
// Pure; for jobs: O((blocks live at the peak + segments) log segments), and O(marks) up to the
// first refusal.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "replay/facts/memory_parts.h"
#include "replay/facts/unfit_request.h"
#include "replay/timeline/history.h"
#include "viz/model/session/job.h"
#include "viz/model/session/session.h"

namespace tidemark::viz {

// Who held memory: one call site or one tag; without these, blocks of a size.
struct PeakHolder {
    std::string name;
    Bytes bytes = 0;
    std::uint64_t blocks = 0;
    BlockIndex largest = kNoBlock;  // of its blocks, the first of equals
    Filter filter;                  // finds them; hides nothing if no filter can
};

struct PeakSummary {
    std::uint64_t events = 0;  // how many there were when this was made
    EventIndex peak = 0;       // of what is reserved, where most of it is in use
    SeriesValues at_peak;
    facts::MemoryParts parts;         // at the peak
    std::vector<PeakHolder> holders;  // the largest first, at most kMostHolders
    bool holders_are_sizes = false;   // no tag or stack was recorded: holders are blocks of one
                                      // size
    PeakHolder others;                // the rest of them as one
    std::uint64_t other_names = 0;    // how many holders are in it
    facts::RefusedRequests refused;   // the first of them
    bool was_recorded = false;        // they were refused when this was recorded, not in this run
    std::optional<facts::UnfitRequest> grown_for;
};

constexpr std::size_t kMostHolders = 10;

// Of what `history` holds now. Cancelled: without holders.
PeakSummary peak_summary(const History& history, const Cancelled& cancelled);

}  // namespace tidemark::viz
