// Trial: one quick replay, for searches that make hundreds: what a policy would have needed, and
// whether a given memory would have been enough.
//
// A trial runs the same engine and the same simulated devices as a Scenario and finds the same
// peaks and counters; it has no metrics, no timeline and no provenance, and costs little more than
// the engine's bare loop. Every device of the trace gets the memory that the setup names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/allocator/spec.h"
#include "replay/engine/engine.h"
#include "replay/record/completion_record.h"
#include "replay/scenario/machine.h"
#include "traces/model/trace.h"

namespace tidemark {

struct TrialSetup {
    PolicySpec policy = {};
    const CostProfile* profile = nullptr;  // must outlive the trial; null = calls cost nothing
    // Bytes of each simulated device: what the driver reports as its total. 0 = almost unlimited. A
    // policy that computes with the device's total (a fraction of it) needs the real figure.
    Bytes memory = 0;
    bool memory_assumed = false;  // `memory` is only for such policies: not given or recorded
    // Of `memory`, what others hold (the context, libraries, other processes), rounded up to the
    // device's granularity. Must be below `memory`, unless that is 0.
    Bytes overhead = 0;
    // On what each device's allocator reserves; 0 = none. Without one: as the recorded program had
    // it, as far as that is known (Trace::explained_record).
    std::optional<Bytes> limit = {};
    // The simulated driver places everything, including the live blocks, even under the recorded
    // settings: this is never the recorded run itself. Comparisons use this.
    bool simulated = false;
    // Another placement by the driver: where a hole may be. None: the usual one.
    std::optional<std::uint64_t> placement = {};
    // The replay stops when a request fails that succeeded in the recorded program, or
    // (`stop_at_probe`) also one that failed there.
    bool stop_at_refusal = false;
    bool stop_at_probe = false;
    // Another run of the recorded program: frees complete as a CompletionSampler draws it. Null: at
    // the recorded events. Must outlive the trial.
    const CompletionRecord* completions = nullptr;
    std::uint64_t seed = 0;  // with `completions`
    // What would have helped? Caches emptied just before this event; and these allocations, by
    // event, in separate memory that the allocator doesn't see.
    std::optional<std::uint64_t> trim_before = {};
    std::vector<std::uint64_t> elsewhere = {};  // ascending
    // The program allocates this much memory at its start and frees it at once: a cache that all of
    // the default stream's and pool's requests are cut from. 0 = it doesn't.
    Bytes prime = 0;
    // The program captures all its graphs into one pool (graph_pools), instead of one for each.
    bool one_graph_pool = false;
    bool time_flushes = false;  // fill TrialResult::flush_time; costs about 5 ns an event
};

// The result of a replay. Figures are sums over the devices; with stop_at_refusal they are those of
// the part that was replayed.
struct TrialResult {
    Usage peak;                            // of each field by itself: not of one moment
    Bytes peak_requested = 0;              // what the program had requested: no policy needs less
    std::uint64_t peak_event = 0;          // the first at which `peak.reserved` was reached
    std::vector<Bytes> device_peaks = {};  // reserved on each of several devices, at its own peak
    AllocatorStats stats;
    std::uint64_t device_calls = 0;
    Nanoseconds driver_time = 0;           // in those calls, excluding waits
    Nanoseconds stall_time = 0;            // waiting for queued work
    Nanoseconds growth_time = 0;           // of both, the cost of reaching the peak: paid once
    std::uint64_t refused = 0;             // requests that ended in out of memory
    std::optional<Refusal> first_refusal;  // with the figures of the device that refused
    std::optional<Refusal> first_probe;    // refused when recorded, and here
    // Requests that failed in the recorded program and fail here too when made again; they are not
    // among `refused`. If the last request of the trace is one, the program ended there: then it is
    // the first refusal, unless there was one before.
    std::uint64_t refused_again = 0;
    std::vector<std::uint64_t> refused_events = {};  // of all kinds, the first thousand
    std::uint64_t probes_granted = 0;                // and those that would have been granted here
    bool ends_refused = false;
    // Time in calls that release memory or wait, in events that had to empty caches and retry
    // (AllocatorStats::retries). 0 unless time_flushes.
    Nanoseconds flush_time = 0;
    std::uint64_t events = 0;  // replayed up to the end, or to the failed request (included)
    Nanoseconds makespan = 0;  // virtual

    // All requests that fail under this policy, whatever their result when recorded.
    std::uint64_t refusals() const { return refused + refused_again; }

    bool survived() const { return refused == 0 && !ends_refused; }

    // Every request succeeded that succeeded in the recorded program.
    bool no_worse_than_recorded() const { return refused == 0; }

    // Every request of the program succeeded.
    bool granted_all() const { return refusals() == 0; }
};

// The private pools that belong to graphs, ascending: all but those that a program makes by itself,
// which PyTorch calls (0, n). O(pools).
std::vector<std::uint32_t> graph_pools(const TraceInfo& info);

// The limit on the reserved memory of that device of the trace; 0 = none.
Bytes limit_of(const Trace& trace, const TrialSetup& setup, std::size_t device);

// The devices of a trial with their allocators, for code that examines them: the model with its
// record if `setup` is the recorded one. Errors: as run_trial.
Result<Machine> trial_machine(const Trace& trace, const TrialSetup& setup);

// Replays `trace` under `setup`; if that is what was recorded (explained_record), the recorded run
// itself. Thread-safe; deterministic. O(events), memory O(live). Errors
// (bad_option): a policy that cannot be made, that has another limit, or an overhead that leaves no
// memory; bad_input: a damaged trace.
Result<TrialResult> run_trial(const Trace& trace, const TrialSetup& setup);

struct TrialOptions {
    unsigned threads = 0;  // 0 = one for each core
    // Called after each trial, never by two threads at once; may be empty.
    std::function<void(std::size_t done, std::size_t total)> progress = {};
    // Called before each trial, by any thread; once it returns true, no more trials start. May be
    // empty.
    std::function<bool()> stop = {};
};

// All of `setups`, started in the order given, with the results in that order: the same for every
// number of threads. With a stop, those that had started by then: the first ones. Errors: the first
// one's, in that order.
Result<std::vector<TrialResult>> run_trials(const Trace& trace, std::span<const TrialSetup> setups,
                                            const TrialOptions& options = {});

}  // namespace tidemark
