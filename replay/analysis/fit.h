// fit: would this run have survived on that card, or under that limit, and what is the smallest
// memory on which it does? For the recorded settings and for each candidate, by exact replays with
// everything that the policy does before it gives up.
//
// A policy survives if it refuses nothing that the recorded program was granted. What the recorded
// program itself was refused is asked again; it lived on without it, so a refusal is no death,
// unless it was the last request of the trace: then the program ended there. Each device of a trace
// has the memory that is asked about.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "replay/analysis/event_place.h"
#include "replay/scenario/trial.h"

namespace tidemark {

// What a process takes from a card beside what its allocator reserves: the CUDA context and the
// code of libraries. Measured on an H200 (driver 580.159, CUDA 13.0, torch 2.11, module loading
// lazy) as total - free - reserved: 527 MiB for the context alone, 619 with the first kernel, 685
// with cuBLAS, 703 with cuDNN and attention, 767 after training steps, 941 with FFT, linear algebra
// and sorting. The default is what the training steps took.
constexpr Bytes kMeasuredOverhead = 768_MiB;

// The steps in which memory sizes are searched.
constexpr Bytes kFitResolution = 2_MiB;

struct FitQuestion {
    // Candidates beside the recorded settings; empty: usual_candidates().
    std::vector<std::string> policies = {};
    Bytes memory = 0;                    // of the card, as the driver tells it; 0 = not asked
    Bytes overhead = kMeasuredOverhead;  // of `memory`, not the allocator's
    Bytes limit = 0;                     // on reserved bytes, instead of a card; 0 = not asked
    std::string profile = "h200";        // costs of device calls
    unsigned threads = 0;                // 0 = one for each core
    // Called now and then, never by two threads at once; may be empty. Replays of the whole trace
    // are counted, their total is an estimate.
    std::function<void(std::uint64_t done, std::uint64_t total)> progress = {};
};

// Where a run would have ended.
struct Death {
    Refusal refusal;  // the event, the request, and the device's figures at that moment
    EventPlace place;
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
    bool survives = false;  // what was asked; if nothing was, with unlimited memory
    std::optional<Death> died_at;
    FitCosts costs;  // up to the end, or to the death, in what was asked

    TrialResult unlimited;  // with all the memory that it wants

    // The smallest card, overhead included, and the smallest limit on which a replay survived;
    // every larger size that was tried survived as well. 0 = none found: it dies with any memory,
    // or (the limit) has a limit of its own.
    Bytes smallest_memory = 0;
    Bytes smallest_limit = 0;
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
    std::vector<std::string> notes;  // sentences: what the figures don't say
    std::uint64_t profile_hash = 0;

    bool asked() const { return question.memory > 0 || question.limit > 0; }
};

// Answers `question` for `trace`. Candidates equal to the recorded settings or to each other make
// one row; where the recorded settings aren't known the candidates come alone. Deterministic for
// every number of threads. Some 15 replays a row. Errors (bad_option): a policy that cannot be,
// memory and limit at once, an overhead that leaves no memory; bad_input: a damaged trace.
Result<FitReport> fit(const Trace& trace, const FitQuestion& question);

// Candidates for when nobody names any: PyTorch's defaults and the settings that people try, those
// that need a limit only if there is one.
std::vector<std::string> usual_candidates(bool limited);

}  // namespace tidemark
