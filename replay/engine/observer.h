// Observer: sees the events of a replay with what became of them, in batches. Metrics, timelines
// and histories are observers; the engine knows no other kind of output.
//
// An observer may not touch the allocator or the device. Called from the replay's thread only; each
// function may be left out.
//
//     class Refusals final : public Observer {
//         void on_refusal(const Refusal& refusal) override { events.push_back(refusal.event); }
//     };
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/allocator/allocator.h"
#include "traces/model/event.h"

namespace tidemark {

// What became of each event of a batch, as columns of the batch's length. `usage` and `requested`
// are sums over all GPUs, after the event.
struct OutcomeBatch {
    const Usage* usage = nullptr;
    const Bytes* requested = nullptr;   // requested by the program and not yet finished: the floor
    const Address* granted = nullptr;   // of allocate events; null = refused, or another kind
    const Nanoseconds* time = nullptr;  // virtual: recorded time + what the allocator cost so far
    std::uint64_t first_event = 0;      // index in the trace of the batch's first event
    // The same of the host's memory; null: the trace has none.
    const Usage* host_usage = nullptr;
    const Bytes* host_requested = nullptr;

    // With the host's memory: what an event changes of these, it changes on its own device.
    Usage usage_everywhere(std::size_t i) const {
        Usage sum = usage[i];
        if (host_usage != nullptr)
            sum += host_usage[i];
        return sum;
    }

    Bytes requested_everywhere(std::size_t i) const {
        return requested[i] + (host_requested == nullptr ? 0 : host_requested[i]);
    }
};

// A refusal, reported at once (before the rest of its batch). Of an out_of_memory event: the
// request was refused already when it was recorded.
struct Refusal {
    std::uint64_t event = 0;
    TraceEvent what;
    OutOfMemory why;
    Usage usage;  // of the device that refused
    Bytes largest_free = 0;
};

// What a sample of the allocators' insides showed (every few thousand events, and at the end).
struct Sample {
    std::uint64_t event = 0;
    Usage usage;
    Bytes largest_free = 0;  // the largest over the devices
};

class Observer {
  public:
    virtual ~Observer() = default;

    // Events in order; every event of the trace exactly once, truth included.
    virtual void on_events(const EventBatch& /*events*/, const OutcomeBatch& /*outcomes*/) {}

    virtual void on_refusal(const Refusal& /*refusal*/) {}

    virtual void on_sample(const Sample& /*sample*/) {}

    // `time` is the virtual end of the run: the makespan.
    virtual void on_end(Nanoseconds /*time*/) {}
};

}  // namespace tidemark
