// Machine: the devices of a run or a trial with their allocators. It alone decides what a device of
// a trace is: a simulated one, or a GPU.
//
// Device i of the trace is the i-th simulated device, or cuda:N+i. If the setup requests them, the
// checker, the log of decisions and the wrapper that touches all memory are between device and
// allocator. If the run is the recorded one, the model and its record replace the allocator. On a
// GPU, events are replayed in the recorded order, as fast as possible; a query whether work is done
// waits for it, so that every run decides the same.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "backends/cuda/cuda_device.h"
#include "backends/sim/costs.h"
#include "backends/sim/sim_device.h"
#include "backends/wrap/checked.h"
#include "backends/wrap/closing.h"
#include "backends/wrap/observed_device.h"
#include "backends/wrap/scripted.h"
#include "backends/wrap/touching.h"
#include "core/allocator/spec.h"
#include "replay/engine/engine.h"
#include "replay/record/explained_record.h"
#include "replay/record/recorded_allocator.h"
#include "replay/scenario/decisions.h"
#include "replay/scenario/device_name.h"
#include "replay/scenario/scenario.h"

namespace tidemark {

struct MachineSetup {
    DeviceName device = {};
    PolicySpec policy = {};          // without a limit that only the record names
    std::vector<Bytes> limits = {};  // on reserved memory, by device of the trace; 0 = none
    const ExplainedRecord* record = nullptr;  // not null: the run is that one; simulated only
    // Of simulated devices: what calls cost (null: nothing; must outlive the machine), what the
    // driver reports as each one's total (0 = almost unlimited), and what others hold of it,
    // rounded up to the granularity.
    const CostProfile* profile = nullptr;
    std::vector<Bytes> memory = {};
    Bytes held = 0;
    LateHole late_hole = {};
    bool check = false;                // as Scenario::check
    bool touch = false;                // as Scenario::touch
    DecisionLog* decisions = nullptr;  // null: not needed; must outlive the machine
    // Who observes a device's memory; null or empty: nobody. They must outlive the machine.
    std::function<MemoryObserver*(std::size_t device)> observer = {};
};

class Machine {
  public:
    // A device and a fresh allocator for each device of the trace. Errors: unsupported and those of
    // the driver, if there is no such GPU or it cannot do what the setup requests; bad_option for
    // options that a real device can't use, or if others hold all of a simulated one; those of the
    // policy; those of reading the trace, if the policy plans (PolicyInfo::plans).
    static Result<Machine> build(const Trace& trace, const MachineSetup& setup);

    std::span<const DeviceContext> contexts() const { return contexts_; }

    // Replays the events of `cursor`, once. `limits.before_event` is called before anything here
    // sees the event. Errors: those of the cursor.
    Result<ReplaySummary> replay(const TraceInfo& info, TraceCursor& cursor,
                                 std::span<Observer* const> observers, ReplayLimits limits);

    // What each allocator holds now. O(regions log regions).
    std::vector<std::vector<Region>> regions() const;

    // Errors (driver): a device was lost during the run, by a fault of a kernel or of its own. The
    // measurements are then invalid.
    Result<void> check_alive() const;

    // Of the first device, for people.
    std::string device_name() const;

    // Ends the machine: checks what is still touched, destroys allocators and devices, and reports
    // what was found during the run (hazards, touch, device_memory). Counters must have been read.
    void finish(Run& run);

  private:
    // Destroyed from the last to the first: the allocator before its device.
    struct DeviceStack {
        std::unique_ptr<SimDevice> sim;
        std::unique_ptr<CudaDevice> cuda;
        std::unique_ptr<CudaDevice> witness;  // asks how much is free when `cuda` is gone
        MemoryInfo untouched;                 // before `cuda` was opened
        Bytes free_before = 0;                // when the allocator got it
        std::unique_ptr<Checker> checker;
        std::unique_ptr<CheckedDevice> checked;
        std::unique_ptr<ScriptedDevice> scripted;  // with a record to follow, before `sim`
        std::unique_ptr<ObservedDevice> observed;
        std::unique_ptr<DecisionDevice> decided;
        ClosingAllocator* closing = nullptr;    // within `allocator`, with `cuda`
        TouchingAllocator* touching = nullptr;  // within `allocator`
        RecordedAllocator* recorded = nullptr;  // within `allocator`, with `scripted`
        Allocator* policy = nullptr;            // within `allocator`: what decides
        std::unique_ptr<Allocator> allocator;

        Device& bare() { return sim ? static_cast<Device&>(*sim) : *cuda; }

        Device& face();
    };

    Result<void> open_cuda(std::size_t count, const MachineSetup& setup);
    static Result<DeviceStack> open_sim(std::size_t number, bool recorded,
                                        const MachineSetup& setup);
    static Result<void> make_allocator(DeviceStack& stack, std::size_t number,
                                       const MachineSetup& setup);
    static Result<void> equip(DeviceStack& stack, std::size_t number, const MachineSetup& setup);
    void set_event(std::uint64_t event);
    static void find_leaks(DeviceStack& stack, Run& run);
    void report_hazards(Run& run);
    void report_touch(Run& run);

    DecisionLog* decisions_ = nullptr;
    bool follows_events_ = false;  // a wrapper here needs the index of the current event
    bool as_recorded_ = false;
    std::vector<DeviceStack> stacks_;
    std::vector<DeviceContext> contexts_;
};

// A policy whose reserved bytes never reach what it has allocated doesn't count what it reserves
// from the device, and none of its figures are right. Errors: bad_option. O(1).
Result<void> check_counts(const PolicyInfo& policy, Bytes peak_reserved, Bytes peak_allocated);

}  // namespace tidemark
