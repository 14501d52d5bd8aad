// Opens devices, wraps the observers around them, and destroys all of it again.
#include "replay/scenario/machine.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/text.h"
#include "replay/scenario/open_device.h"
#include "replay/scenario/pool_plans.h"
#include "traces/model/device_trace.h"

namespace tidemark {
namespace {

constexpr std::size_t kHazardsKept = 16;

Bytes limit_of(const MachineSetup& setup, std::size_t device) {
    return device < setup.limits.size() ? setup.limits[device] : 0;
}

Bytes fallen(Bytes from, Bytes to) {
    return from > to ? from - to : 0;
}

// What cannot be set of a real device.
Result<void> allow_real(const MachineSetup& setup) {
    if (!setup.memory.empty())
        return fail(ErrorCode::bad_option,
                    "applies only to simulated devices; a real device's memory is fixed",
                    "--memory", "--limit bounds what a policy may reserve of it");
    if (limit_of(setup, 0) > 0 && !setup.policy.keeps_limit())
        return fail(ErrorCode::bad_option,
                    fmt::format("the policy {} does not keep a limit by itself, and a real device "
                                "cannot be made smaller",
                                setup.policy.policy->name),
                    "--limit", "a simulated device can; --limit none lifts the recorded one");
    return {};
}

// The extra time and memory of the first call of a kind belong to the process, not to a policy:
// another device of the same context pays for them. Its failures don't matter.
void warm(Device& device) {
    if (const auto address = device.malloc(512))
        static_cast<void>(device.free(*address));
    if (const auto event = device.record({}))
        static_cast<void>(device.complete(*event));
    static_cast<void>(device.synchronize_device());
    if (!device.has(Feature::virtual_memory))
        return;
    const Bytes page = device.granularity();
    const auto room = device.reserve(page);
    const auto handle = device.create({}, page);
    if (room && handle && device.map(*room, *handle)) {
        static_cast<void>(device.set_access(*room, true));
        static_cast<void>(device.unmap(*room));
    }
    if (handle)
        static_cast<void>(device.release(*handle));
    if (room)
        static_cast<void>(device.unreserve(*room));
}

// For DeviceContext::grants: tries it on copies of both, which are then destroyed. `allocator` is
// the policy's own; it and its device must outlive the function. O(state) a request.
std::function<bool(const Request&)> probe_of(const SimDevice& device, const Allocator& allocator) {
    return [&device, &allocator](const Request& request) {
        const std::unique_ptr<SimDevice> twin = device.clone();
        const std::unique_ptr<Allocator> copy = allocator.clone(*twin);
        return copy != nullptr && copy->allocate(request).has_value();
    };
}

// Where a simulated device puts plain memory: in the driver's order, unless the policy declares
// that nothing depends on it.
Placement placement_for(const PolicySpec& spec) {
    return spec.policy->placement_matters ? Placement::driver : Placement::slots;
}

}  // namespace

Device& Machine::DeviceStack::face() {
    if (decided)
        return *decided;
    if (observed)
        return *observed;
    if (scripted)
        return *scripted;
    return checked ? static_cast<Device&>(*checked) : bare();
}

Result<void> Machine::open_cuda(std::size_t count, const MachineSetup& setup) {
    TM_ASSIGN(const auto driver, open_cuda_driver());
    const int present = driver->device_count();
    for (std::size_t i = 0; i < count; ++i) {
        const int ordinal = setup.device.ordinal + static_cast<int>(i);
        if (ordinal >= present && i > 0)
            return fail(ErrorCode::unsupported,
                        fmt::format("the trace has {} devices, and there is no cuda:{}: the driver "
                                    "shows {}",
                                    count, ordinal, present),
                        "--device", "without --device, the devices are simulated");
        DeviceStack stack;
        TM_ASSIGN(stack.witness, open_cuda_device(driver, {.ordinal = ordinal}));
        warm(*stack.witness);
        stack.untouched = stack.witness->memory();
        TM_ASSIGN(stack.cuda,
                  open_cuda_device(
                      driver, {.ordinal = ordinal, .await_events = true, .track_memory = true}));
        stack.free_before = stack.cuda->memory().free;
        if (setup.touch && !stack.cuda->has(Feature::patterns))
            return fail(ErrorCode::unsupported, "this device cannot write and check patterns",
                        "--touch");
        stacks_.push_back(std::move(stack));
    }
    return {};
}

Result<Machine::DeviceStack> Machine::open_sim(std::size_t number, bool recorded,
                                               const MachineSetup& setup) {
    const Bytes granularity =
        setup.profile != nullptr ? setup.profile->granularity : SimConfig{}.granularity;
    const Bytes held = align_up(setup.held, granularity);
    const Bytes limit = limit_of(setup, number);
    Bytes capacity = number < setup.memory.size() ? setup.memory[number] : 0;
    if (capacity == 0 || recorded)  // what was recorded fitted
        capacity = SimDevice::kLargestCapacity;
    if (limit > 0 && !recorded && !setup.policy.keeps_limit())
        capacity = std::min(capacity, held + limit);
    if (capacity > SimDevice::kLargestCapacity)
        return fail(ErrorCode::bad_option,
                    fmt::format("{} is more than a simulated device can have ({})",
                                format_bytes(capacity), format_bytes(SimDevice::kLargestCapacity)),
                    "--memory");
    if (held >= capacity)
        return fail(ErrorCode::bad_option,
                    fmt::format("the device has {}, so {} of it cannot be in use already",
                                format_bytes(capacity), format_bytes(held)),
                    "--overhead");
    DeviceStack stack;
    stack.sim = std::make_unique<SimDevice>(SimConfig{.capacity = capacity,
                                                      .held = held,
                                                      .granularity = granularity,
                                                      .profile = setup.profile,
                                                      .backed = setup.touch,
                                                      .placement = placement_for(setup.policy),
                                                      .late_hole = setup.late_hole,
                                                      .await_events = setup.touch});
    if (recorded) {
        stack.scripted =
            std::make_unique<ScriptedDevice>(setup.record->devices[number].model.capacity);
        stack.scripted->mirror(*stack.sim);
    }
    return stack;
}

// The allocator itself, without its observers.
Result<void> Machine::make_allocator(DeviceStack& stack, std::size_t number,
                                     const MachineSetup& setup) {
    if (!stack.scripted) {
        TM_ASSIGN(const PolicySpec policy, setup.policy.with_limit(limit_of(setup, number)));
        TM_ASSIGN(stack.allocator, policy.make(stack.face()));
        stack.policy = stack.allocator.get();
        return {};
    }
    TM_ASSIGN(auto recorded,
              RecordedAllocator::make(*setup.record, number, *stack.scripted, stack.face()));
    stack.recorded = recorded.get();
    stack.policy = recorded.get();
    stack.allocator = std::move(recorded);
    return {};
}

// Wraps the observers around the device and the allocator around those.
Result<void> Machine::equip(DeviceStack& stack, std::size_t number, const MachineSetup& setup) {
    if (setup.check) {
        stack.checker = std::make_unique<Checker>();
        stack.checked = std::make_unique<CheckedDevice>(stack.bare(), *stack.checker);
    }
    MemoryObserver* const observer = setup.observer ? setup.observer(number) : nullptr;
    if (observer != nullptr)
        stack.observed = std::make_unique<ObservedDevice>(stack.face(), *observer);
    if (setup.decisions != nullptr)
        stack.decided = std::make_unique<DecisionDevice>(
            stack.face(), static_cast<std::uint16_t>(number), *setup.decisions);
    TM_TRY(make_allocator(stack, number, setup));
    if (observer != nullptr && stack.recorded != nullptr)
        stack.recorded->report_memory(*observer);
    if (stack.cuda) {
        auto closing = std::make_unique<ClosingAllocator>(std::move(stack.allocator));
        stack.closing = closing.get();
        stack.allocator = std::move(closing);
    }
    if (setup.touch) {
        auto touching =
            std::make_unique<TouchingAllocator>(std::move(stack.allocator), stack.bare());
        stack.touching = touching.get();
        stack.allocator = std::move(touching);
    }
    if (setup.decisions != nullptr)
        stack.allocator =
            std::make_unique<DecisionAllocator>(std::move(stack.allocator), *stack.decided);
    if (setup.check)
        stack.allocator =
            std::make_unique<CheckedAllocator>(std::move(stack.allocator), *stack.checker);
    return {};
}

Result<Machine> Machine::build(const Trace& trace, const MachineSetup& setup) {
    const std::size_t count = std::max<std::size_t>(trace.info().devices.size(), 1);
    const DeviceTrace* const one = device_trace(trace);
    Machine machine;
    machine.decisions_ = setup.decisions;
    machine.as_recorded_ = setup.record != nullptr;
    machine.follows_events_ =
        setup.check || setup.touch || setup.decisions != nullptr || machine.as_recorded_;
    if (setup.device.real) {
        TM_TRY(allow_real(setup));
        TM_TRY(machine.open_cuda(count, setup));
    } else {
        for (std::size_t i = 0; i < count; ++i) {
            const bool recorded = machine.as_recorded_ && (one == nullptr || one->device() == i);
            TM_ASSIGN(DeviceStack stack, open_sim(i, recorded, setup));
            machine.stacks_.push_back(std::move(stack));
        }
    }
    for (std::size_t i = 0; i < machine.stacks_.size(); ++i) {
        DeviceStack& stack = machine.stacks_[i];
        TM_TRY(equip(stack, i, setup));
        DeviceContext context{.device = &stack.face(), .allocator = stack.allocator.get()};
        if (stack.sim) {
            context.clock = stack.sim->replay_clock();
            context.grants = probe_of(*stack.sim, *stack.policy);
        }
        machine.contexts_.push_back(std::move(context));
    }
    if (!machine.as_recorded_)
        TM_TRY(plan_pools(trace, setup.policy.policy->plans, machine.contexts()));
    return machine;
}

Result<ReplaySummary> Machine::replay(const TraceInfo& info, TraceCursor& cursor,
                                      std::span<Observer* const> observers, ReplayLimits limits) {
    limits.as_recorded = as_recorded_;
    if (follows_events_)
        limits.before_event = [this, inner = std::move(limits.before_event)](std::uint64_t event) {
            if (inner)
                inner(event);
            set_event(event);
        };
    return ReplayEngine(contexts_, observers).run(info, cursor, limits);
}

std::vector<std::vector<Region>> Machine::regions() const {
    std::vector<std::vector<Region>> found;
    for (const DeviceContext& context : contexts_) {
        std::vector<Region>& list = found.emplace_back();
        context.allocator->for_each_region(
            [&list](const Region& region) { list.push_back(region); });
    }
    return found;
}

void Machine::set_event(std::uint64_t event) {
    if (decisions_ != nullptr)
        decisions_->set_event(event);
    for (DeviceStack& stack : stacks_) {
        if (stack.recorded != nullptr)
            stack.recorded->advance(event);
        if (stack.checker)
            stack.checker->set_event(event);
        if (stack.touching != nullptr)
            stack.touching->set_event(event);
    }
}

Result<void> Machine::check_alive() const {
    for (const DeviceStack& stack : stacks_) {
        if (!stack.witness)
            continue;
        const DeviceResult<void> done = stack.witness->synchronize_device();
        if (done || done.error().status != DeviceStatus::lost)
            continue;
        Error error = stack.witness->explain(done.error());
        error.what = "the device was lost while the trace was replayed: " + error.what;
        error.where = fmt::format("--device cuda:{}", stack.witness->ordinal());
        return tl::make_unexpected(std::move(error));
    }
    return {};
}

std::string Machine::device_name() const {
    const DeviceStack& stack = stacks_.front();
    return std::string(stack.sim ? stack.sim->name() : stack.cuda->name());
}

// A trace may end with live allocations. If there are none, an allocator that was trimmed must hold
// nothing; if there are some, no more than it reports.
void Machine::find_leaks(DeviceStack& stack, Run& run) {
    stack.allocator->trim(TrimLevel::all);
    if (stack.allocator->usage().active == 0) {
        stack.allocator.reset();
        stack.checker->finish();
        return;
    }
    if (!stack.sim)
        return;  // others use a real device too: see Run::device_memory
    const MemoryInfo memory = stack.sim->memory();
    const Bytes others = align_up(run.scenario.held(), stack.sim->granularity());
    const Bytes held = memory.total - memory.free - others;
    const Bytes known = stack.allocator->usage().reserved;
    if (held <= known)
        return;
    const std::uint64_t last = std::max<std::uint64_t>(run.summary.events, 1) - 1;
    ++run.hazard_count;
    run.hazards.push_back(
        {std::string(to_text(HazardKind::leak)),
         fmt::format(
             "at the end {} bytes are allocated from the device, of which the allocator knows {}",
             held, known),
         last, last});
}

void Machine::report_hazards(Run& run) {
    for (DeviceStack& stack : stacks_) {
        if (!stack.checker)
            continue;
        find_leaks(stack, run);
        run.hazard_count += stack.checker->count();
        for (const Hazard& hazard : stack.checker->hazards())
            run.hazards.push_back({std::string(to_text(hazard.kind)), hazard.what,
                                   hazard.first_event, hazard.second_event});
    }
    std::stable_sort(
        run.hazards.begin(), run.hazards.end(),
        [](const HazardText& a, const HazardText& b) { return a.second_event < b.second_event; });
    if (run.hazards.size() > kHazardsKept)
        run.hazards.resize(kHazardsKept);
}

void Machine::report_touch(Run& run) {
    for (DeviceStack& stack : stacks_) {
        if (stack.touching == nullptr)
            continue;
        stack.touching->check_live();
        const TouchReport& report = stack.touching->report();
        if (!run.touch)
            run.touch.emplace();
        *run.touch += report;
        if (report.first_failure)
            run.warnings.push_back(
                fmt::format("--touch: {} writes and checks failed; the first: {}",
                            format_count(report.failures),
                            to_text(stack.bare().explain(*report.first_failure))));
    }
}

void Machine::finish(Run& run) {
    report_touch(run);
    report_hazards(run);
    contexts_.clear();
    for (DeviceStack& stack : stacks_) {
        if (stack.allocator && stack.closing != nullptr)
            stack.closing->close();
        stack.allocator.reset();
        stack.closing = nullptr;
        stack.touching = nullptr;
        stack.recorded = nullptr;
        if (!stack.cuda)
            continue;
        if (!run.device_memory)
            run.device_memory.emplace();
        run.device_memory->total += stack.untouched.total;
        run.device_memory->peak += fallen(stack.free_before, stack.cuda->lowest_free());
        stack.decided.reset();
        stack.observed.reset();
        stack.checked.reset();
        stack.cuda.reset();
        run.device_memory->leak += fallen(stack.untouched.free, stack.witness->memory().free);
    }
}

Result<void> check_counts(const PolicyInfo& policy, Bytes peak_reserved, Bytes peak_allocated) {
    if (peak_reserved >= peak_allocated)
        return {};
    return fail(ErrorCode::bad_option,
                fmt::format("counts {} as reserved at most, and allocates {}",
                            format_bytes(peak_reserved), format_bytes(peak_allocated)),
                std::string(policy.name),
                "its Usage::reserved must include all memory that it holds from the device; "
                "`replay --check` names the first event where it doesn't");
}

}  // namespace tidemark
