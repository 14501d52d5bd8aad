// advise: where a program's GPU memory went, why, and which PYTORCH_ALLOC_CONF would have needed
// less. The parts are in advise_memory (where), advise_gaps (why) and advise_search (what to do);
// here they are put together with what the trace lets one say.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "replay/analysis/advise_gaps.h"
#include "replay/analysis/advise_memory.h"
#include "replay/analysis/advise_search.h"
#include "traces/model/trace.h"

namespace tidemark {

struct AdviseOptions {
    std::string policy =
        {};  // compare with this one, of torch; "" = as recorded, else the defaults
    std::string profile = "h200";
    Bytes memory = 0;  // of each device; 0 = as recorded, else unlimited
    Bytes limit =
        0;  // on what each allocator reserves; 0 = none; without this and `memory`: as inferred
    std::size_t budget = 0;  // most settings to replay; 0 = by the length of the trace
    std::size_t top = 5;     // entries of each list
    unsigned threads = 0;    // 0 = one for each core
    // Called now and then, never by two threads at once; may be empty. The total is an upper bound.
    std::function<void(std::uint64_t events_done, std::uint64_t events_total)> progress = {};
};

// What another policy of the catalogue would have come to: context, no advice.
struct OtherPolicy {
    std::string name;
    TrialResult result;
};

struct Advice {
    std::string policy;       // text of the settings that the answer is compared with
    bool from_torch = false;  // the trace was recorded under PyTorch's allocator
    bool has_stacks = false;
    bool paged = false;  // under those settings segments grow page by page
    Bytes memory = 0;    // of each device, 0 = unlimited
    Bytes limit = 0;
    bool limit_is_inferred = false;  // from what the recorded run was refused
    Bytes peak_requested = 0;        // by the program: no setting can do with less
    Bytes recorded_peak = 0;         // reserved by the recorded system, 0 = the trace doesn't say
    std::uint64_t recorded_refusals = 0;  // out_of_memory events
    SearchResult search;
    PeakPicture picture;  // under the settings compared with
    MemoryUse use;
    Gaps gaps;
    std::vector<Pin> pins;
    std::vector<Holder> holders;
    std::vector<OtherPolicy> others;    // by rising peak
    std::vector<std::string> warnings;  // what the answer may be wrong by
    std::vector<std::string> notes;     // what to know beside it
};

// How many settings are replayed by default for a trace of so many events: as many as take a few
// seconds on two cores, within bounds.
std::size_t default_budget(std::uint64_t events);

// Errors: bad_option for a policy that isn't torch, an unknown profile, a limit that contradicts
// the policy's; those of a damaged trace. O(budget * events).
Result<Advice> advise(const Trace& trace, const AdviseOptions& options);

}  // namespace tidemark
