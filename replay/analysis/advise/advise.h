// advise: where a program's GPU memory went, why, and which settings of its allocator would have
// needed less. Puts together memory.h (who holds memory at the peak), gaps.h (why free memory could
// not be used), search.h (which settings need less), out_of_memory.h and trace/step_growth.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "replay/analysis/advise/gaps.h"
#include "replay/analysis/advise/idle_stretch.h"
#include "replay/analysis/advise/memory.h"
#include "replay/analysis/advise/out_of_memory.h"
#include "replay/analysis/advise/search.h"
#include "replay/analysis/bound/offline_bound.h"
#include "replay/analysis/scale/largest_steps.h"
#include "replay/analysis/trace/gpus.h"
#include "replay/analysis/trace/step_growth.h"
#include "replay/record/explained_record.h"
#include "traces/model/trace.h"

namespace tidemark {

struct AdviseOptions {
    // What to compare with; "" = as recorded, else PyTorch's defaults. `advise` searches the
    // settings of torch; for another system it tries those that its user can choose
    // (allocator_family.h).
    std::string policy = {};
    bool without_vmm = false;    // advise nothing that needs the driver's virtual memory
    bool settings_only = false;  // and nothing but settings
    std::string profile = "h200";
    Bytes memory = 0;                    // of each device; 0 = as recorded, else unlimited
    std::optional<Bytes> overhead = {};  // of `memory`, what others hold; none = card_overhead()
    // On what each allocator reserves; 0 = none. Without one and without `memory`: as the recorded
    // program had it, as far as that is known.
    std::optional<Bytes> limit = {};
    std::size_t budget = 0;  // most settings to replay; 0 = by the length of the trace
    std::size_t top = 5;     // entries of each list
    unsigned threads = 0;    // 0 = one for each core
    // Replays of each setting found, for the range of its peaks; none = as usual, 0 = no range.
    std::optional<unsigned> spread = {};
    bool bound = false;  // search for the offline bound, as long as `tidemark bound` does
    // Called now and then, never by two threads at once; may be empty. The total is an upper bound.
    std::function<void(std::uint64_t events_done, std::uint64_t events_total)> progress = {};
    // Called between replays, by any thread; once it returns true, the best so far is the answer
    // (SearchResult::interrupted). May be empty.
    std::function<bool()> stop = {};
};

// The result of another policy of the catalogue: context, not advice.
struct OtherPolicy {
    std::string name;
    TrialResult result;
};

// For a run that no setting helps to survive: what is live at once, and the available memory.
struct NoFit {
    Bytes available = 0;  // memory or limit, whichever is less
    Bytes needed = 0;  // by what is live at once, and as the best setting packs it without running
                       // out of memory
    Bytes excess = 0;  // the least that would have to go
    std::uint64_t event = kNotInTrace;  // where allocated memory would peak
    std::vector<Holder> holders;        // what would be live then; `at_allocated_peak` counts
};

struct Advice {
    // The GPU that all figures belong to, and all GPUs of the trace; empty if it has one.
    std::size_t gpu = 0;
    std::vector<GpuRow> gpus = {};
    std::string policy;  // text of the settings that the answer is compared with
    std::string family;  // whose allocator the answer is about: "PyTorch", "RMM"; "" = unknown
    std::string empties_cache;  // its call that releases cached memory; "" = it has none
    bool can_be_set = true;     // it has settings that were tried
    bool from_torch = false;    // the trace was recorded under PyTorch's allocator
    bool has_stacks = false;
    bool paged = false;  // under those settings segments grow page by page
    Bytes memory = 0;    // of each device, 0 = unlimited
    Bytes overhead = 0;  // of `memory`
    Bytes limit = 0;
    LimitSource limit_source = LimitSource::settings;  // settings: also a requested one
    std::string limit_text;    // "limit 6.00 GiB, inferred from ..."; "" = none
    Bytes peak_requested = 0;  // by the program: no setting can need less
    OfflineBound offline;      // 0 if the search for settings was interrupted
    Bytes recorded_peak = 0;   // reserved by the recorded system, 0 = the trace doesn't say
    std::uint64_t recorded_refusals = 0;  // out_of_memory events
    // The recorded run itself, if the answer is compared with its settings. It does not compete,
    // because it has the caches and the placement of its time, which no other setting can have. The
    // search compares replays that all start with the same live blocks and use the same placement.
    std::optional<TrialResult> recorded = {};
    // If a request failed in that run that succeeds in a replay of its settings: in how many of
    // this many placements by the driver they run out of memory too.
    unsigned placements = 0;
    unsigned placements_refused = 0;
    SearchResult search;
    std::string spread_verdict;  // what differs from run to run, "" if nothing does
    PeakSnapshot snapshot;       // under the settings compared with
    facts::MemoryParts parts;
    Gaps gaps;
    std::vector<PinningSite> pins;
    std::vector<Holder> holders;
    std::vector<StreamShare> waiting;        // at the peak, for other streams
    std::vector<StreamShare> other_streams;  // free when it grew, of the same pool
    std::vector<StreamShare> other_pools;    // and of others
    std::vector<PoolShare> pools;            // at the peak, if there are private ones
    StepReport growth;                       // over the program's steps
    std::optional<NoFit> no_fit;             // if no setting survives
    std::optional<IdleStretch> idle;         // after a peak, where the program can empty the cache
    // On a known card, of the settings compared with and the best; empty: not known.
    std::vector<LargestStep> largest_steps;
    OutOfMemoryReport out_of_memory;    // under the settings compared with
    std::vector<OtherPolicy> others;    // by rising peak
    std::vector<std::string> warnings;  // what may make the answer wrong
    std::vector<std::string> notes;     // further facts

    // Is most of the peak idle after it?
    bool worth_emptying() const {
        return idle && idle->given_back() >= search.before.result.peak.reserved / 2;
    }

    // Under the settings compared with: the recorded run where there is one, else its replay.
    const TrialResult& happened() const { return recorded ? *recorded : search.before.result; }
};

// How many settings are replayed by default for a trace of so many events: as many as take a few
// seconds on two cores, within bounds.
std::size_t default_budget(std::uint64_t events);

// Of a trace with several GPUs everything is about one: the one that it has been cut down to
// (DeviceTrace), else the first that ran out of memory, else the one with the highest peak. Errors:
// bad_option for a policy that isn't torch, an unknown profile, a limit that contradicts
// the policy's, a GPU that the trace doesn't have; those of a damaged trace. O(budget * events).
Result<Advice> advise(const Trace& trace, const AdviseOptions& options);

}  // namespace tidemark
