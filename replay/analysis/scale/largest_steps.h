// Largest steps: how much larger the steps of a recorded program can be on a card, as a further
// fact for other answers (fit, advise).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "traces/model/trace.h"

namespace tidemark {

// Relative to the recorded steps: 2 = twice as large. 0: not even small ones fit.
struct LargestStep {
    std::string policy;
    bool recorded = false;
    double surely = 0, perhaps = 0;
    std::int64_t batch = 0;  // recorded; 0: not known
};

struct LargestStepsQuestion {
    Bytes memory = 0;                        // of the card; 0: not requested
    std::optional<Bytes> overhead = {};      // of `memory`; none = card_overhead()
    std::vector<std::string> policies = {};  // in addition to the recorded settings
    std::string profile = "h200";
    unsigned threads = 0;             // 0 = one for each core
    std::function<bool()> stop = {};  // asked between replays; may be empty
};

// Of the recorded settings, if they are known, then of the others. Empty if the recording shows
// nothing (no steps, or all of one size without shapes) or is too long for an answer in addition to
// another one. About 50 replays a setting. Errors: as scale(), but cancelled: then empty.
Result<std::vector<LargestStep>> largest_steps(const Trace& trace,
                                               const LargestStepsQuestion& question);

}  // namespace tidemark
