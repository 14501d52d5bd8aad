// Machine: the devices of a run with their allocators. The one place that decides what a device of
// a trace is: a simulated one, or a GPU.
//
// Device i of the trace is the i-th simulated device, or cuda:N+i. Between device and allocator
// are, where the scenario asks for them, the checker, the log of decisions and the one that
// touches all memory. On a GPU events are replayed in the recorded order as fast as it can; it
// answers whether work is done by waiting, so that every run decides the same.
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

// For DeviceContext::grants: asks copies of both, which go away again. `allocator` is the policy's
// own; it and its device must outlive the answer. O(state) a request.
std::function<bool(const Request&)> probe_of(const SimDevice& device, const Allocator& allocator);

// Bytes of a simulated device: as asked, else as recorded, else the profile's.
Bytes simulated_memory(const Scenario& scenario, const TraceDevice& recorded,
                       const CostProfile& profile);

struct MachineSetup {
    DeviceName device = {};
    PolicySpec policy = {};          // without a limit that only the record names
    std::vector<Bytes> limits = {};  // on reserved memory, by device of the trace; 0 = none
    const ExplainedRecord* record = nullptr;  // not null: the run is that one; simulated only
    std::optional<std::size_t> only = {};     // of the record, this device alone
    const CostProfile* profile = nullptr;     // of simulated devices; must outlive the machine
    DecisionLog* decisions = nullptr;         // null: nobody wants them; must outlive the machine
    // Who observes a device's memory; null or empty: nobody. They must outlive the machine.
    std::function<MemoryObserver*(std::size_t device)> memory = {};

    // Whether device `i` does what was recorded.
    bool is_recorded(std::size_t i) const { return record != nullptr && (!only || *only == i); }
};

class Machine {
  public:
    // A device and a fresh allocator for each device of the trace. Errors: unsupported and those of
    // the driver, where there is no such GPU or it cannot do what the scenario asks for; bad_option
    // for what a real device has no use for; those of the policy.
    static Result<Machine> build(const TraceInfo& info, const Scenario& scenario,
                                 const MachineSetup& setup);

    std::span<const DeviceContext> contexts() const { return contexts_; }

    // Does anybody here want to know which event is at hand?
    bool follows_events() const { return follows_events_; }

    void set_event(std::uint64_t event);

    // Errors (driver): a device has been lost on the way, by a fault of a kernel or of its own.
    // What was measured then is worth nothing.
    Result<void> check_alive() const;

    // Of the first device, for people.
    std::string device_name() const;

    // Ends the machine: checks what is still touched, takes allocators and devices down, and says
    // what was found on the way (hazards, touch, device_memory). Counters must have been read.
    void finish(Run& run);

  private:
    // Destroyed from the last to the first: the allocator while its device is there.
    struct DeviceStack {
        std::unique_ptr<SimDevice> sim;
        std::unique_ptr<CudaDevice> cuda;
        std::unique_ptr<CudaDevice> witness;  // asks how much is free when `cuda` is gone
        MemoryInfo untouched;                 // before `cuda` was opened
        Bytes free_before = 0;                // when the allocator got it
        std::unique_ptr<Checker> checker;
        std::unique_ptr<CheckedDevice> checked;
        std::unique_ptr<ScriptedDevice> scripted;  // with MachineSetup::record, before `sim`
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

    Result<void> open_cuda(std::size_t count, const Scenario& scenario, int first);
    Result<void> open_sim(const TraceInfo& info, const Scenario& scenario,
                          const MachineSetup& setup);
    static Result<void> make_allocator(DeviceStack& stack, std::size_t number,
                                       const MachineSetup& setup);
    static Result<void> equip(DeviceStack& stack, std::size_t number, const Scenario& scenario,
                              const MachineSetup& setup);
    static void find_leaks(DeviceStack& stack, Run& run);
    void report_hazards(Run& run);
    void report_touch(Run& run);

    DecisionLog* decisions_ = nullptr;
    bool follows_events_ = false;
    std::vector<DeviceStack> stacks_;
    std::vector<DeviceContext> contexts_;
};

}  // namespace tidemark
