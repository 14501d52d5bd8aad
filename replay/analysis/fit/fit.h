// fit: would this run have survived on a given card, or under a given limit, and what is the
// smallest memory on which it does? Answered for the recorded settings and for each candidate, by
// replays with everything that the policy does before it gives up.
//
// A policy survives if it refuses nothing that the recorded program was granted. Requests that the
// recorded program itself was refused are made again; it went on without that memory, so a refusal
// there does not end the run, unless it was the last request of the trace. Each device of a trace
// has the memory in question.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "replay/analysis/bound/offline_bound.h"
#include "replay/analysis/scale/largest_steps.h"
#include "replay/analysis/trace/event_position.h"
#include "replay/scenario/peak_spread.h"
#include "replay/scenario/scenario.h"
#include "replay/scenario/trial.h"

namespace tidemark {

// The steps in which memory sizes are searched.
constexpr Bytes kFitResolution = 2_MiB;

struct FitQuestion {
    // Candidates beside the recorded settings; empty: usual_candidates().
    std::vector<std::string> policies = {};
    Bytes memory = 0;  // of the card, as the driver reports it; 0 = none given
    // Of `memory`, not the allocator's; none = card_overhead(). A report has the one that held.
    std::optional<Bytes> overhead = {};
    // On reserved bytes, instead of a card; 0 = none. Without one and without `memory`: as the
    // recorded program had it, as far as that is known.
    std::optional<Bytes> limit = {};
    std::string profile = "h200";  // costs of device calls
    unsigned threads = 0;          // 0 = one for each core
    // Replays of each row for the range of its peaks; none = as usual, 0 = no range.
    std::optional<unsigned> spread = {};
    bool bound = false;  // search for the offline bound, as long as `tidemark bound` does
    // Called now and then, never by two threads at once; may be empty. Replays of the whole trace
    // are counted, their total is an estimate.
    std::function<void(std::uint64_t done, std::uint64_t total)> progress = {};
    // Asked between replays, by any thread; once true the rows that are complete are the answer
    // (FitReport::interrupted). May be empty.
    std::function<bool()> stop = {};
};

// Where a run would have ended.
struct Death {
    Refusal refusal;  // the event, the request, and the device's figures at that moment
    EventPosition position;
    std::uint64_t refused_in_all = 0;  // if the program had gone on without what it was refused
};

// What the way there cost.
struct FitCosts {
    std::uint64_t retries = 0;   // times that caches were emptied to ask the device again
    Nanoseconds flush_time = 0;  // giving memory back and waiting in those
    Nanoseconds driver_time = 0;
    Nanoseconds stall_time = 0;

    friend bool operator==(const FitCosts&, const FitCosts&) = default;
};

struct FitRow {
    std::string policy;     // as understood, "torch:max_split_size_mb=128"
    bool recorded = false;  // the settings that the trace was recorded under
    // Is nothing that the program requests refused, under the memory in question? Without one: with
    // unlimited memory.
    bool survives = false;
    // Is nothing refused that the recorded program was granted?
    bool no_worse = false;
    std::uint64_t out_of_memory = 0;  // requests refused in all, those that were when recorded too
    std::optional<Death> died_at;
    FitCosts costs;  // under the memory in question, to the end of the trace

    TrialResult requested;                       // under the memory in question
    TrialResult unlimited;                       // with all the memory that it wants
    std::optional<PeakSpread> peak_spread = {};  // of the latter, where it differs from run to run
    // Of as many replays under the memory in question those in which nothing is out of memory.
    std::optional<unsigned> granted_runs = {};

    // The smallest card, overhead included, and the smallest limit on which nothing is refused, and
    // those on which nothing is that the recorded program was granted; so it is on every larger
    // size that was tried. 0 = none found: some request is refused with any memory, or (the limit)
    // the policy has a limit of its own.
    Bytes smallest_memory = 0;
    Bytes smallest_limit = 0;
    Bytes smallest_memory_no_worse = 0;
    Bytes smallest_limit_no_worse = 0;
    FitCosts at_smallest;  // on the smallest card
    std::uint64_t replays = 0;
};

struct FitReport {
    FitQuestion question;      // without its listener
    std::vector<FitRow> rows;  // the recorded settings first, then the candidates as given
    // The row that the answer is about: the first, which are the recorded settings if those are
    // known; where candidates were named, the one of them that survives with the smallest memory.
    std::size_t answer = 0;
    std::uint64_t recorded_refusals = 0;
    std::string limit_text;          // "limit 6.00 GiB, inferred from ..."; "" = none
    std::vector<std::string> notes;  // sentences: what the figures don't say
    // Under `memory`, of the recorded settings and the best of the others; empty: nothing tells.
    std::vector<LargestStep> largest_steps;
    OfflineBound offline;
    std::uint64_t profile_hash = 0;
    bool interrupted = false;  // FitQuestion::stop: rows are missing

    bool requested() const { return question.memory > 0 || question.limit.value_or(0) > 0; }
};

// Answers `question` for `trace`. Candidates equal to the recorded settings or to each other make
// one row; where the recorded settings aren't known the candidates come alone. Deterministic for
// every number of threads. Some 15 replays a row. Errors (bad_option): a policy that cannot be,
// memory and limit at once, an overhead that leaves no memory; bad_input: a damaged trace;
// cancelled: stopped before one row was complete.
Result<FitReport> fit(const Trace& trace, const FitQuestion& question);

// Candidates for when nobody names any: what the recorded system's user can choose (policy_offers)
// and our own; of PyTorch its defaults and the settings that people try, those that need a limit
// only if there is one. O(events). Errors: those of reading the trace.
Result<std::vector<std::string>> usual_candidates(const Trace& trace, bool limited);

}  // namespace tidemark
