// compare: replays the same traces under several policies, side by side, and says in a sentence
// which policy to use.
//
// Units of work are trace x scenario; they run on CompareOptions::threads threads, each with a
// device of its own, and the result is the same for every number of threads: order, figures, text.
// The only thing that differs from run to run is ComparisonRow::elapsed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "replay/analysis/compare/paired.h"
#include "replay/analysis/compare/ranks.h"
#include "replay/analysis/spread/jitter.h"
#include "replay/scenario/scenario.h"

namespace tidemark {

// One figure of the table.
struct ComparisonCell {
    Measurement measurement;
    double change = 0;        // to the baseline's: 0.041 = 4.1 % more; see `comparable`
    bool comparable = false;  // false: this is the baseline, its figure is 0, or the unit is no
                              // bytes, time or count of which less or more is better
    bool best = false;        // no row of this trace has a better one, and some row a worse one
};

struct ComparisonRow {
    Run run;                   // summary.elapsed and elapsed_total are 0: see `elapsed`
    std::string label;         // "best-fit"; with its options where two rows share a name
    std::size_t scenario = 0;  // its index among the scenarios given; 0 is the baseline
    bool baseline = false;
    bool other_allocator = false;  // not the one that the trace was recorded under
    bool recommended = false;      // the verdict's choice: the lowest peak whose price
                                   // in device time is acceptable; none if all were refused
    bool pareto = false;           // on the Pareto front of memory and driver time
    std::optional<JitteredPeaks> jitter = {};  // CompareOptions::jitter
    std::vector<ComparisonCell> cells;         // one for each of comparison_columns()
    Nanoseconds elapsed = 0;  // wall time of the replay loop; differs from run to run
};

// All policies on one trace, best first.
struct TraceComparison {
    std::string name;
    std::uint64_t trace_hash = 0;
    std::uint64_t events = 0;
    std::vector<ComparisonRow> rows;
    // The recorded run itself, where the trace has one: address by address, with the caches of its
    // time. It does not compete: the rows are simulated, all with the same placement and from the
    // same live blocks.
    std::optional<ComparisonRow> recorded = {};
    std::string
        verdict;  // "best-fit would have peaked at 6.9 GiB, 4.1 % below torch (7.2 GiB); ..."
    std::vector<std::string> notes = {};  // model_limits (replay/record/allocator_family.h)
};

// One policy over all traces.
struct ComparisonTotal {
    std::string label;
    bool baseline = false;
    bool other_allocator = false;      // on the first trace
    bool recommended = false;          // as in ComparisonRow
    double overhead_ratio = 0;         // geometric mean of peak reserved / peak requested
    double change = 0;                 // geometric mean of peak reserved / the baseline's, - 1
    std::uint64_t out_of_memory = 0;   // sum
    std::uint64_t traces_refused = 0;  // traces with at least one failed request
    Nanoseconds driver_time = 0;       // sum, driver_ns
    Nanoseconds stall_time = 0;        // sum, stall_ns
    Nanoseconds growth_time = 0;       // sum, growth_ns
    Nanoseconds makespan = 0;          // sum, makespan_ns
    bool pareto = false;               // as in ComparisonRow, of overhead_ratio and driver_time
    // Against the baseline, on the traces on which neither was refused anything; none of the
    // baseline, and where there are fewer than two such traces. `effect` is `change` if all are.
    std::optional<PairedEffect> paired = {};
    std::string paired_verdict = {};  // that as a sentence; "" without
};

struct Comparison {
    std::vector<TraceComparison> traces;  // in the order given
    std::vector<ComparisonTotal> totals;  // with two traces or more; best first
    std::string verdict;                  // over all traces; the trace's own if there is one
    std::optional<RankReport> ranks;      // where the traces are ranks; reserved by the baseline
    bool settings_first = false;          // CompareOptions::settings_first
    bool interrupted = false;             // CompareOptions::stop: rows, or traces, are missing
};

// Names of the measurements that a comparison's table shows, in the order of its columns.
std::span<const std::string_view> comparison_columns();

struct CompareOptions {
    unsigned threads = 0;  // 0 = one for each core
    // Rows of allocators other than the recorded one come after all others, and verdicts do not
    // recommend them: a user who asks what to set can't change the allocator. Only if the first
    // scenario is of the recorded one.
    bool settings_first = false;
    // Called before each run, by any thread; once it returns true, no more runs start. May be
    // empty.
    std::function<bool()> stop = {};
    unsigned spread = 0;  // replays of each policy for the range of its peaks; 0 = no range
    unsigned jitter = 0;  // variants of each trace, to see whether a ranking is luck; 0 = none
    // Called now and then, never by two threads at once; may be empty. The total is an estimate
    // from the traces' headers.
    std::function<void(std::uint64_t events_done, std::uint64_t events_total)> progress;
};

// Runs every scenario on every trace. The first scenario is the baseline. Scenario::trace is set
// to the trace's name. At least one of each, else bad_option. Errors: the first, in the order of
// units, that any run had; units after it may not have run. cancelled: stopped before the first.
// Rows are ranked by: fewer refusals, then lower peak reserved, then less driver time + stall, then
// the order given. Memory O(units) + that of `threads` replays.
Result<Comparison> compare(std::span<const NamedTrace> traces, std::span<const Scenario> scenarios,
                           const CompareOptions& options = {});

}  // namespace tidemark
