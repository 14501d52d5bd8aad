// Loader: opens traces, replays them under policies or over tiers, and puts the results into a
// session: histories as soon as they have started, figures when they are complete, what `advise`
// finds at the end. All work is done on threads of its own; only poll() touches the session.
//
// The screen's thread only.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "replay/scenario/scenario.h"
#include "traces/model/trace.h"
#include "viz/model/session/session.h"

namespace tidemark::viz {

// Any of these set: the traces are replayed over tiers instead of under allocator policies.
struct TierRequest {
    std::string machine;                  // see `tidemark machines`, or a JSON file
    std::vector<std::string> gpu_memory;  // "80GiB", or "60%" of the program's peak
    std::vector<std::string> spill;       // victim policies with their options
    Bytes host_memory = 0;

    bool wanted() const {
        return !machine.empty() || !gpu_memory.empty() || !spill.empty() || host_memory > 0;
    }
};

// Every file under every policy: a run each.
struct LoadRequest {
    std::vector<std::string> files;     // of any format, "-", "generate:NAME:options"
    std::vector<std::string> policies;  // with their options; none: as it was recorded
    Scenario scenario;                  // device, memory, limit, profile and scale of all of them
    TierRequest tiers;
    // Of traces with several GPUs the one that is shown; none: the one that ran out of memory
    // first, else the one with the highest peak.
    std::optional<std::size_t> gpu = {};
    bool strict = false;
    bool lenient = false;
    bool as_recorded = false;  // nothing is inferred (replay/record/infer_missing_events.h)
    bool keep = true;          // histories, beside .tmk files
    bool advises = true;       // findings of each run, and with the first of each file `advise`'s
    std::uint64_t most_advised_events = 20'000'000;  // more replays of a longer trace take minutes
    // Asks `advise` in another process, called by the thread that would do it here; the findings of
    // the file's first run are loading until its owner brings them.
    std::function<void()> advise_elsewhere = {};
    // In addition to poll(): how far the work is, called by the thread that does it.
    std::function<void(double share, const std::string& activity)> on_progress = {};
};

// The runs that a request makes: labels differ. Pure; O(files * policies).
std::vector<ViewedRun> planned_runs(const LoadRequest& request);

class Loader {
  public:
    // `session` must outlive it.
    explicit Loader(Session& session);
    Loader(const Loader&) = delete;
    Loader& operator=(const Loader&) = delete;

    // Stops all work and waits until it has stopped.
    ~Loader();

    // Adds the runs to the session and starts them. Wrong names (an unknown policy) become the
    // error of their run, reported before a file is read.
    void add(LoadRequest request);

    // Runs `advise` on the file whose first run this is, although it is longer than its request
    // allows, or was cancelled; the results become findings of that run. Nothing if it cannot run:
    // see ViewedRun::unadvised_events.
    void advise(std::size_t run);

    // Replays the run's trace under another policy, as a run of its own, unless that exists
    // already: returns its index either way. Errors: bad_option (no such policy; a run without a
    // policy; a trace that can't be read again).
    Result<std::size_t> replay(std::size_t run, const std::string& policy);

    // Shows the next GPU of the run's trace, as a run of its own, unless that exists already:
    // returns its index either way. Errors: bad_option (the trace has only one; it can't be read
    // again).
    Result<std::size_t> show_next_gpu(std::size_t run);

    // Brings new results into the session; true if there were any. O(runs).
    bool poll();

    // Something is still being read, replayed or advised.
    bool running() const;

    // Without threads (see kHasThreads): does the next piece of work, here; false: there is none.
    // With threads nothing is left to do.
    bool step();

    // Waits until nothing is, and polls: for stills.
    void wait();

    // Stops all work; runs that aren't complete end with ErrorCode::cancelled, and what they have
    // shown so far stays.
    void cancel();

  private:
    struct Shared;  // threads and their results

    Session& session_;
    std::unique_ptr<Shared> shared_;
};

}  // namespace tidemark::viz
