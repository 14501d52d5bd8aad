// ProgramRun: one program on one policy on a simulated device, watched at every step.
//
// The stack is program -> policy -> FaultyDevice -> CheckedDevice -> SimDevice. Only the policy's
// calls can be made to fail; the program's own (its writes, its waits) go to the checked device.
// The program behaves: it orders the streams on which it uses an allocation, and informs the
// policy.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backends/sim/sim_device.h"
#include "backends/wrap/checked.h"
#include "backends/wrap/faulty.h"
#include "tests/support/invariants.h"
#include "tests/support/program.h"

namespace tidemark::support {

// What the program could see of one step, and what the device was charged for it.
struct StepOutcome {
    Address address = Address::null;
    Bytes size = 0;
    OutOfMemory::Cause refusal{};
    Usage usage;
    Nanoseconds time = 0;
    std::uint64_t device_calls = 0;

    friend bool operator==(const StepOutcome& a, const StepOutcome& b);
};

struct RunSetup {
    std::string_view policy;
    SimConfig device;
    FaultPlan faults;
    bool checked = true;
};

class ProgramRun {
  public:
    explicit ProgramRun(const RunSetup& setup);

    // Takes steps until one goes wrong; returns what did, or "".
    std::string run(const Program& program, std::size_t begin, std::size_t end);

    std::string run(const Program& program) { return run(program, 0, program.size()); }

    // No more faults; gives everything back, trims all, and looks at what is left.
    std::string finish();

    // The same on a device that is lost and stays so: its memory cannot come back, but what the
    // program held is given back, requests are refused for that reason, and the policy's end is
    // quiet. Nothing can be asked of the run after it.
    std::string finish_lost();

    // A run in the same state that goes its own way; null if the policy cannot. Only unchecked.
    std::unique_ptr<ProgramRun> clone() const;

    const std::vector<StepOutcome>& outcomes() const { return outcomes_; }

    Allocator& allocator() { return *allocator_; }

    std::uint64_t device_calls() const { return faulty_->calls(); }  // that the policy made

    bool failed() const { return faulty_->failures() != 0; }  // did the plan strike?

  private:
    ProgramRun() = default;

    void take(const Step& step);
    void allocate(const Step& step);
    void check_refusal(const Step& step, OutOfMemory why, const DeviceCounters& before);
    void give_all_back();
    void synchronize(StreamId stream);
    void give_back(std::size_t index);
    void retire(std::size_t index);
    void use(std::size_t index, StreamId stream);
    void write(const Live& live, StreamId stream);
    void complain(std::string what);
    void look();

    Device& device() const { return checked_ ? *checked_ : static_cast<Device&>(*sim_); }

    std::unique_ptr<SimDevice> sim_;
    std::unique_ptr<Checker> checker_;
    std::unique_ptr<CheckedDevice> checked_;
    std::unique_ptr<FaultyDevice> faulty_;
    bool may_fail_ = false;  // is there a plan?
    bool may_be_lost_ = false;
    Bytes pool_shrunk_ = 0;  // what the device's pool gave back and the policy may not know of
    std::unique_ptr<Allocator> allocator_;
    std::vector<Live> live_;
    std::vector<Region> regions_;  // as they were after the last step
    std::vector<StepOutcome> outcomes_;
    std::string complaint_;
};

}  // namespace tidemark::support
