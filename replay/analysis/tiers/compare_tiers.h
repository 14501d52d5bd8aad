// compare_tiers: the same programs over the tiers of one machine, under several victim policies and
// with several sizes of GPU memory: what each costs, and how far it is from what is possible.
//
// Units of work are program x memory x policy, and a bound for each program x memory; they run on
// the requested number of threads. The result is the same on one thread as on a hundred, but for
// TierComparisonRow::elapsed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/tiers/machine/machine.h"
#include "replay/analysis/tiers/tier_bound.h"
#include "replay/tiers/tier_run.h"

namespace tidemark {

// A size of GPU memory as a user writes it.
struct GpuMemory {
    Bytes bytes = 0;   // of each GPU; 0: `share`
    double share = 0;  // of the program's peak
};

// "60%" (of the program's peak) or "80GiB". Errors (bad_option, --gpu-memory): neither; nothing.
Result<GpuMemory> parse_gpu_memory(std::string_view text);

// "60 %", "80.0 GiB".
std::string to_text(const GpuMemory& memory);

// What spilling and fetching moved: out of GPU memory and into it.
Bytes moved_bytes(const TierRun& run);

// A program to compare on. `name` is what tables call it; `program` must outlive the call.
struct NamedProgram {
    std::string name;
    const TierProgram* program = nullptr;
};

struct TierComparisonRow {
    TierRun run;                // elapsed is 0: see below
    std::size_t memory = 0;     // its location among the sizes
    std::size_t policy = 0;     // and among the policies
    bool knows_future = false;  // a bound, not a usable policy
    bool best = false;          // the shortest of this size that knows no future
    double of_bound = 0;        // moved bytes / the bound's; 0: the bound is 0 or says nothing
    double of_belady = 0;       // moved bytes / belady's; 0: belady moved none or didn't run
    Nanoseconds elapsed = 0;    // wall time of the replay loop; differs from run to run
};

// All policies and sizes on one program: sizes in the order given, within each the best first.
struct TierComparisonBlock {
    std::string name;
    std::uint64_t trace_hash = 0;
    std::uint64_t events = 0;
    Bytes peak_bytes = 0;           // the program's
    std::vector<Bytes> capacities;  // by size: of each GPU
    std::vector<TierBound> bounds;  // by size
    std::vector<TierComparisonRow> rows;
    std::vector<std::string> verdicts;  // by size: a sentence
};

// One policy with one size over all programs.
struct TierTotal {
    std::string label;
    std::size_t memory = 0;
    std::size_t policy = 0;
    bool knows_future = false;
    bool best = false;
    double slowdown = 0;  // geometric mean
    double of_bound = 0;  // geometric mean over the programs whose bound isn't 0; 0: there are none
    Bytes moved = 0;      // sum, as below
    Nanoseconds stall = 0;
    std::uint64_t out_of_memory = 0;
};

struct TierComparison {
    std::string machine;
    std::uint64_t machine_hash = 0;
    std::vector<GpuMemory> memories;
    std::vector<TierComparisonBlock> programs;  // in the order given
    std::vector<TierTotal> totals;  // with two programs or more; sizes as given, best first in each
};

struct TierCompareOptions {
    unsigned threads = 0;  // 0 = one for each core
    bool bound = true;     // otherwise there are no bounds
    // Called now and then, never by two threads at once; may be empty.
    std::function<void(std::uint64_t steps_done, std::uint64_t steps_total)> progress;
    Cancelling cancelled = {};
};

// What to compare: every policy (TierScenario::spill's text) with every size on every program. What
// the spans and the pointer show must outlive the call.
struct TierQuestion {
    std::span<const NamedProgram> programs;
    const MachineSpec* machine = nullptr;
    std::span<const std::string> policies;
    std::span<const GpuMemory> memories;
    TierScenario common = {};  // the rest of the scenario
};

// Ranked by: fewer refusals, shorter makespan, fewer bytes moved, order given. At least one of
// each, else bad_option. Errors: the first, in the order of units, that any run had. Memory
// O(units) + that of `threads` replays.
Result<TierComparison> compare_tiers(const TierQuestion& question,
                                     const TierCompareOptions& options = {});

}  // namespace tidemark
