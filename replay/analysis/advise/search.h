// The search for the best PYTORCH_ALLOC_CONF: structured starts, then coordinate descent from the
// best of each kind, then a list of roundings octave by octave, then a finer max_split_size, and
// last, whether it works with fewer keys. Every setting is replayed whole, and once.
//
// What is best, in this order:
//   1. fewest refused requests;
//   2. acceptable cost: driver time + stalls, without those that reach the peak (paid once,
//      however long the program runs), exceed the recorded settings' by no more than 1 % of the
//      run, or a quarter of the share of memory that is saved (8 % less memory: 2 % of the run),
//      or, where they are below 5 % of the run, by no more than their own. Without times in the
//      trace they at most double. Where the recorded settings are refused, any cost is acceptable;
//   3. lowest peak of reserved memory; each key, and each entry of a list, must lower it by 0.5 %;
//      within 1 % of the lowest counts as equal;
//   4. driver time + stalls within 1 % of the run of the least, then fewest keys, then least time.
// It is an improvement if no request fails that succeeded in the recorded program, and: fewer
// requests fail in total, or the peak is at least kWorthwhileSaving lower, or the peak isn't higher
// and at least that share of the run's time is saved.
//
// Deterministic: the order of trials and the answer are the same for every number of threads.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "replay/analysis/advise/settings.h"
#include "replay/scenario/peak_spread.h"
#include "replay/scenario/trial.h"

namespace tidemark {

// A setting and its result.
struct Tried {
    TorchChoice choice;
    PolicySpec policy;
    TrialResult result;
    // Apart from settings: as in TrialSetup.
    Bytes prime = 0;
    bool one_graph_pool = false;
    bool largest_graph_first = false;  // captures by falling size (graph_order.h)
    std::optional<PeakSpread> peak_spread =
        {};  // where it differs from run to run (advice_spread.h)
    // Its name for the user, "" for PyTorch's defaults; and what to write to set it, in a shell or
    // in the program (setting_names.h).
    std::string name = {};
    std::string line = {};

    // It consists only of `policy`: no change of the program.
    bool is_setting() const { return prime == 0 && !one_graph_pool && !largest_graph_first; }

    Nanoseconds device_time() const { return result.driver_time + result.stall_time; }

    // Without the cost of reaching the peak: what every further step costs.
    Nanoseconds steady_time() const { return device_time() - result.growth_time; }
};

struct SearchSetup {
    TrialSetup base;             // its policy, torch, is what the settings are compared with
    bool timed = true;           // the trace has times
    bool collects = false;       // there is a limit, so that garbage collection does something
    bool expandable = true;      // expandable segments may be tried
    bool large_segments = true;  // and large_segment_size_mb
    std::vector<Bytes> sizes;    // requested sizes, ascending: where thresholds may be
    std::size_t budget = 200;    // most trials
    unsigned threads = 0;        // 0 = one for each core
    std::function<void(std::size_t done, std::size_t total)> progress;
    std::function<bool()> stop = {};  // once it returns true, the best so far is the answer
};

struct SearchResult {
    Tried before;  // the settings of SearchSetup::base
    Tried best;    // `before` if nothing is an improvement
    bool improves = false;
    std::vector<Tried> others;  // the best of each other family that improves too, best first
    std::optional<Tried> dear;  // the lowest peak of all, 1 % or more below `best`, at too high a
                                // price
    Bytes floor = 0;            // the least that any setting had active at its peak
    std::size_t trials = 0;
    bool interrupted = false;  // SearchSetup::stop: there would have been more trials
};

// Errors: those of the policy in `base`, of a damaged trace. O(budget * events).
Result<SearchResult> search_settings(const Trace& trace, const SearchSetup& setup);

// The rules above, for tests and reports.
bool acceptable_price(const Tried& tried, const Tried& before, bool timed);
bool is_improvement(const Tried& tried, const Tried& before, bool timed);

}  // namespace tidemark
