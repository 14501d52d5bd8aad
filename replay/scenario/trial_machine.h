// TrialMachine: the simulated devices of a trial, each with its allocator; or, where the trial is
// the recorded run itself, the model of it beside its record.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backends/sim/sim_device.h"
#include "backends/wrap/scripted.h"
#include "replay/engine/engine.h"
#include "replay/record/explained_record.h"
#include "replay/record/recorded_allocator.h"
#include "replay/scenario/trial.h"

namespace tidemark {

// The limit on the reserved memory of that device of the trace; 0 = none.
Bytes limit_of(const Trace& trace, const TrialSetup& setup, std::size_t device);

class TrialMachine {
  public:
    // Errors: as run_trial.
    static Result<TrialMachine> build(const Trace& trace, const TrialSetup& setup);

    std::span<const DeviceContext> contexts() const { return contexts_; }

    // Replays what `cursor` gives of the trace, once. `limits.before_event` is called before the
    // allocators get an event. Errors: those of the cursor.
    Result<ReplaySummary> run(const TraceInfo& info, TraceCursor& cursor,
                              std::span<Observer* const> observers, ReplayLimits limits = {});

    // Of each device, as they are now. O(regions log regions).
    std::vector<std::vector<Region>> regions() const;

  private:
    struct DeviceStack {
        std::unique_ptr<SimDevice> device;
        std::unique_ptr<ScriptedDevice> scripted;  // in front of it, where the record is followed
        std::unique_ptr<Allocator> allocator;      // destroyed first: it talks to the device
        RecordedAllocator* recorded = nullptr;     // with `scripted`: `allocator`
    };

    static Result<DeviceStack> simulated(const TrialSetup& setup, Bytes limit);
    static Result<DeviceStack> recorded(const TrialSetup& setup, const ExplainedRecord& record,
                                        std::size_t number);

    // Before the engine gives that event to the allocators.
    void set_event(std::uint64_t event);

    bool follows_ = false;  // the record, event by event
    std::vector<DeviceStack> stacks_;
    std::vector<DeviceContext> contexts_;
};

}  // namespace tidemark
