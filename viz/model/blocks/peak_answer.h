// PeakAnswer: a sentence that sums up a run's memory, and the point of its curves that shows it:
// where the run was out of memory, else the peak.
//
// Pure; O(1).
#pragma once

#include <string>

#include "viz/model/blocks/peak_summary.h"

namespace tidemark::viz {

struct PeakAnswer {
    std::string headline;  // all of it: "8.30 GiB at the peak. 2.08 GiB was free, ..."
    std::string label;     // at the point: "2.08 GiB was free, but 643 MiB did not fit"
    std::string detail;    // below it: "the largest piece: 574 MiB"
    EventIndex event = 0;  // where it happened
    Bytes from = 0;        // what the label is about, in the curves: free memory, up to what was
    Bytes to = 0;          // reserved
    bool is_refusal = false;
    bool is_waste = false;  // it was free, but of no use
};

// Of a history with events, and its summary.
PeakAnswer peak_answer(const History& history, const PeakSummary& summary);

}  // namespace tidemark::viz
