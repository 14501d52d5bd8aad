// fit: would this run have survived on a given card, or under a given limit, and what is the
// smallest memory on which it does? It answers for the recorded settings and for each candidate, by
// replays that include everything that the policy does before it gives up.
//
// A policy survives if no request fails that succeeded in the recorded program. Requests that
// failed in the recorded program are made again. The program went on without that memory, so a
// failure there does not end the run, unless it was the last request of the trace. Each device of a
// trace has the memory in question.
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
    // Candidates in addition to the recorded settings; empty: usual_candidates().
    std::vector<std::string> policies = {};
    Bytes memory = 0;  // of the card, as the driver reports it; 0 = none given
    // The part of `memory` that is not the allocator's; none = card_overhead(). A report has the
    // value that applied.
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
    // Called between replays, by any thread; once it returns true, the complete rows are the answer
    // (FitReport::interrupted). May be empty.
    std::function<bool()> stop = {};
};

// Where a run would have ended.
struct Death {
    Refusal refusal;  // the event, the request, and the device's figures at that moment
    EventPosition position;
    std::uint64_t refused_in_all = 0;  // if the program had gone on without that memory
};

// What it cost up to there.
struct FitCosts {
    std::uint64_t retries = 0;   // times that caches were emptied to try the device again
    Nanoseconds flush_time = 0;  // releasing memory and waiting in those
    Nanoseconds driver_time = 0;
    Nanoseconds stall_time = 0;

    friend bool operator==(const FitCosts&, const FitCosts&) = default;
};

struct FitRow {
    std::string policy;     // as understood, "torch:max_split_size_mb=128"
    bool recorded = false;  // the settings that the trace was recorded under
    // Do all requests of the program succeed, with the memory in question? Without one: with
    // unlimited memory.
    bool survives = false;
    // Do all requests succeed that succeeded in the recorded program?
    bool no_worse = false;
    std::uint64_t out_of_memory = 0;  // all failed requests, also those that failed when recorded
    std::optional<Death> died_at;
    FitCosts costs;  // under the memory in question, to the end of the trace

    TrialResult requested;                       // under the memory in question
    TrialResult unlimited;                       // with unlimited memory
    std::optional<PeakSpread> peak_spread = {};  // of the latter, where it differs from run to run
    // Of as many replays with the memory in question, those in which no request runs out of memory.
    std::optional<unsigned> granted_runs = {};

    // The smallest card, overhead included, and the smallest limit on which no request fails, and
    // those on which no request fails that succeeded in the recorded program. The same holds on
    // every larger size that was tested. 0 = none found: some request fails with any memory, or
    // (the limit) the policy has its own limit.
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
    std::vector<std::string> notes;  // sentences: what the figures don't show
    // With `memory`, of the recorded settings and the best of the others; empty: not known.
    std::vector<LargestStep> largest_steps;
    OfflineBound offline;
    std::uint64_t profile_hash = 0;
    bool interrupted = false;  // FitQuestion::stop: rows are missing

    bool requested() const { return question.memory > 0 || question.limit.value_or(0) > 0; }
};

// Answers `question` for `trace`. Candidates equal to the recorded settings or to each other make
// one row; if the recorded settings aren't known, there are only the candidates. Deterministic for
// every number of threads. About 15 replays a row. Errors (bad_option): an invalid policy, memory
// and limit at once, an overhead that leaves no memory; bad_input: a damaged trace; cancelled:
// stopped before one row was complete.
Result<FitReport> fit(const Trace& trace, const FitQuestion& question);

// The default candidates: what the recorded system's user can choose (policy_offers) and our own
// policies; for PyTorch its defaults and common settings, those that need a limit only if there is
// one. O(events). Errors: those of reading the trace.
Result<std::vector<std::string>> usual_candidates(const Trace& trace, bool limited);

}  // namespace tidemark
