// scale: what a recorded program would reserve with a larger batch or length, with more steps, and
// the largest that a card holds. Sizes grow by the laws that steps of different sizes show
// (size_laws.h); replays of the grown trace show the rest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "replay/analysis/scale/scale_search.h"
#include "replay/analysis/trace/step_growth.h"

namespace tidemark {

struct ScaleQuestion {
    GrowthQuestion run = {};  // one_more is of `memory` alone: peaks are of both
    Bytes memory = 0;  // of a card: the largest growth that it holds is searched; 0 = not requested
    std::optional<Bytes> overhead = {};  // of `memory`; none = card_overhead()
    Axis along = Axis::batch;            // that is searched
    // In addition to the recorded settings; empty: for PyTorch, expandable segments and `extent`;
    // for others, their own settings and `extent`.
    std::vector<std::string> policies = {};
    std::string profile = "h200";
    unsigned threads = 0;  // 0 = one for each core
    // Called now and then, never by two threads at once; may be empty.
    std::function<void(std::size_t done, std::size_t total)> progress = {};
    std::function<bool()> stop = {};  // asked between replays; may be empty
};

struct ScaleRow {
    std::string policy;
    bool recorded = false;
    Bytes before = 0;          // as recorded, replayed the same way
    ScaledPeak peak = {};      // with all steps grown, and as many as requested
    ScaledPeak one_more = {};  // with one step behind the recorded ones, grown from the largest
    HeldBackPeak held_back = {};
    LargestGrowth fits = {};
};

// Requests of steps whose sizes fit no law.
struct UnknownSite {
    std::string site;  // Sites::site; "" = no stack recorded
    std::uint64_t requests = 0;
    Bytes bytes = 0;
};

struct ScaleReport {
    ScaleQuestion question;  // without its listeners, with the overhead that applied
    std::vector<ScaleRow> rows;
    std::vector<UnknownSite> unknown;  // the largest, if they matter
    std::vector<StepGrowth> growths;   // of the recorded steps, that go on where steps are added
    bool by_site = false;              // the names of growths are of sites, else of sizes
    std::vector<std::string> notes;
};

// Errors: those of plan_growth; bad_option: an invalid policy; cancelled; those of the trace. About
// 9 replays a row, with `memory` about 30 to 80.
Result<ScaleReport> scale(const Trace& trace, const ScaleModel& model,
                          const ScaleQuestion& question);

}  // namespace tidemark
