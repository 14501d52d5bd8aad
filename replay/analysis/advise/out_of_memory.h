// Why a request ran out of memory, and what would have made it succeed.
//
// For each out-of-memory event of a run: what was requested and at which call site, how much was
// free, the largest hole, which blocks keep free memory from being used, and remedies. Each remedy
// is replayed: its outcome is measured, not guessed. A remedy helps if the request succeeds with
// it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "replay/analysis/advise/gaps.h"
#include "replay/analysis/trace/event_position.h"
#include "replay/scenario/scenario.h"
#include "replay/scenario/trial.h"
#include "traces/model/trace.h"

namespace tidemark {

enum class RemedyKind : std::uint8_t {
    setting,      // the allocator has other settings
    empty_cache,  // caches are emptied just before the request
    move_blocks,  // the blocks that pin most free memory are elsewhere
    more_memory,  // the limit, or the card, is larger
};

// "setting", ...: stable names, used in JSON.
std::string_view to_text(RemedyKind kind);

struct Remedy {
    RemedyKind kind = RemedyKind::setting;
    std::string what = {};  // the settings; the site whose blocks move
    Bytes bytes = 0;        // of the blocks; of the limit or the card
    bool helps = false;     // the request succeeds
    // False: the recording begins in the middle of the run, so the holes in its memory at that time
    // aren't known, and a replay in which the request succeeds had none of them.
    bool certain = true;
    Bytes peak_reserved = 0;          // of that replay
    std::uint64_t out_of_memory = 0;  // that remain in it, in total
};

struct OutOfMemoryCase {
    Refusal refusal;
    EventPosition position;
    Gaps gaps;  // what was free just before
    // Requested for a private pool (a graph's, a MemPool's) of PyTorch, which releases nothing to
    // the driver while one is in use: such a request fails without a retry.
    bool without_retry = false;
    std::vector<PinningSite> pins;  // most pinned bytes first
    std::vector<Remedy> remedies;
};

struct OutOfMemoryReport {
    std::uint64_t count = 0;             // events, in total
    std::vector<OutOfMemoryCase> cases;  // the first few
};

struct OutOfMemoryQuestion {
    TrialSetup base;                       // the run
    std::optional<TrialSetup> rival = {};  // that remedies are replayed on; none: `base`
    // The program's call that releases cached memory; "" = it has none.
    std::string empties_cache = "torch.cuda.empty_cache()";
    std::string best_setting = {};  // a policy to try as a remedy; "" = none is known
    Bytes enough_memory = 0;        // a limit (or `card`) on which everything succeeds; 0 = none
    bool card = false;
    std::size_t most = 3;  // cases
    std::size_t top = 3;   // pins of each
};

// Replays `base` once, and then about five times for each case. Errors: as run_trial.
Result<OutOfMemoryReport> explain_out_of_memory(const Trace& trace,
                                                const OutOfMemoryQuestion& question);

// The first request that ran out of memory in `run`, a simulated run of `trace`: as above, without
// remedies. Empty if there was none, or sizes were scaled. Errors: as run_trial.
Result<OutOfMemoryReport> explain_first(const Trace& trace, const Run& run);

}  // namespace tidemark
