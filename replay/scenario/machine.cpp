// Opening devices, putting what watches around them, and taking all of it down again.
#include "replay/scenario/machine.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/text.h"
#include "replay/scenario/open_device.h"
#include "replay/scenario/trial.h"

namespace tidemark {
namespace {

constexpr std::size_t kHazardsKept = 16;

Bytes limit_of(const MachineSetup& setup, std::size_t device) {
    return device < setup.limits.size() ? setup.limits[device] : 0;
}

Bytes fallen(Bytes from, Bytes to) {
    return from > to ? from - to : 0;
}

// What a real device cannot be told.
Result<void> allow_real(const Scenario& scenario, const PolicySpec& policy, Bytes limit) {
    if (scenario.memory > 0)
        return fail(ErrorCode::bad_option, "is of simulated devices; a real one has what it has",
                    "--memory", "--limit bounds what a policy may hold of it");
    if (limit > 0 && !policy.keeps_limit())
        return fail(ErrorCode::bad_option,
                    fmt::format("the policy {} keeps no limit by itself, and a real device cannot "
                                "be made smaller",
                                policy.policy->name),
                    "--limit", "a simulated device can; --limit none lifts the recorded one");
    return {};
}

// What the first call of a kind costs beside, in time and memory, is the process's and no policy's:
// another device of the same context pays it. Its refusals don't matter.
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

}  // namespace

std::function<bool(const Request&)> probe_of(const SimDevice& device, const Allocator& allocator) {
    return [&device, &allocator](const Request& request) {
        const std::unique_ptr<SimDevice> twin = device.clone();
        const std::unique_ptr<Allocator> copy = allocator.clone(*twin);
        return copy != nullptr && copy->allocate(request).has_value();
    };
}

Bytes simulated_memory(const Scenario& scenario, const TraceDevice& recorded,
                       const CostProfile& profile) {
    if (scenario.memory > 0)
        return scenario.memory;
    const Bytes memory = recorded.total_memory > 0 ? recorded.total_memory : profile.memory;
    return std::min(memory, SimDevice::kLargestCapacity);
}

Device& Machine::Stand::face() {
    if (decided)
        return *decided;
    if (observed)
        return *observed;
    if (scripted)
        return *scripted;
    return checked ? static_cast<Device&>(*checked) : bare();
}

Result<void> Machine::open_cuda(std::size_t count, const Scenario& scenario, int first) {
    TM_ASSIGN(const auto driver, open_cuda_driver());
    const int present = driver->device_count();
    for (std::size_t i = 0; i < count; ++i) {
        const int ordinal = first + static_cast<int>(i);
        if (ordinal >= present && i > 0)
            return fail(ErrorCode::unsupported,
                        fmt::format("the trace has {} devices, and there is no cuda:{}: the driver "
                                    "shows {}",
                                    count, ordinal, present),
                        "--device", "without --device they are simulated");
        Stand stand;
        TM_ASSIGN(stand.witness, open_cuda_device(driver, {.ordinal = ordinal}));
        warm(*stand.witness);
        stand.untouched = stand.witness->memory();
        TM_ASSIGN(stand.cuda,
                  open_cuda_device(
                      driver, {.ordinal = ordinal, .await_events = true, .track_memory = true}));
        stand.free_before = stand.cuda->memory().free;
        if (scenario.touch && !stand.cuda->has(Feature::patterns))
            return fail(ErrorCode::unsupported, "this device cannot write and check patterns",
                        "--touch");
        stands_.push_back(std::move(stand));
    }
    return {};
}

Result<void> Machine::open_sim(const TraceInfo& info, const Scenario& scenario,
                               const MachineSetup& setup) {
    for (std::size_t i = 0; i < std::max<std::size_t>(info.devices.size(), 1); ++i) {
        const TraceDevice recorded = i < info.devices.size() ? info.devices[i] : TraceDevice{};
        Bytes capacity = simulated_memory(scenario, recorded, *setup.profile);
        const Bytes limit = limit_of(setup, i);
        if (limit > 0 && !setup.policy.keeps_limit())
            capacity =
                std::min(capacity, limit + align_up(scenario.overhead, setup.profile->granularity));
        if (setup.record != nullptr)
            capacity = SimDevice::kLargestCapacity;  // what was recorded fitted
        const Bytes held = align_up(scenario.overhead, setup.profile->granularity);
        if (held > 0 && held >= capacity)
            return fail(ErrorCode::bad_option,
                        fmt::format("of a device with {}, {} cannot be in use already",
                                    format_bytes(capacity), format_bytes(held)),
                        "--overhead");
        Stand stand;
        stand.sim = std::make_unique<SimDevice>(SimConfig{.capacity = capacity,
                                                          .held = held,
                                                          .granularity = setup.profile->granularity,
                                                          .profile = setup.profile,
                                                          .backed = scenario.touch,
                                                          .placement = placement_for(setup.policy),
                                                          .await_events = scenario.touch});
        if (setup.record != nullptr) {
            stand.scripted =
                std::make_unique<ScriptedDevice>(setup.record->devices[i].model.capacity);
            stand.scripted->mirror(*stand.sim);
        }
        stands_.push_back(std::move(stand));
    }
    return {};
}

// The allocator itself, without what watches it.
Result<void> Machine::make_allocator(Stand& stand, std::size_t number, const MachineSetup& setup) {
    if (setup.record == nullptr) {
        TM_ASSIGN(const PolicySpec policy, setup.policy.with_limit(limit_of(setup, number)));
        TM_ASSIGN(stand.allocator, policy.make(stand.face()));
        stand.policy = stand.allocator.get();
        return {};
    }
    TM_ASSIGN(auto recorded,
              RecordedAllocator::make(*setup.record, number, *stand.scripted, stand.face()));
    stand.recorded = recorded.get();
    stand.policy = recorded.get();
    stand.allocator = std::move(recorded);
    return {};
}

// Puts what watches around the device and the allocator around that.
Result<void> Machine::equip(Stand& stand, std::size_t number, const Scenario& scenario,
                            const MachineSetup& setup) {
    if (scenario.check) {
        stand.checker = std::make_unique<Checker>();
        stand.checked = std::make_unique<CheckedDevice>(stand.bare(), *stand.checker);
    }
    if (MemoryObserver* const observer = setup.memory ? setup.memory(number) : nullptr)
        stand.observed = std::make_unique<ObservedDevice>(stand.face(), *observer);
    if (setup.decisions != nullptr)
        stand.decided = std::make_unique<DecisionDevice>(
            stand.face(), static_cast<std::uint16_t>(number), *setup.decisions);
    TM_TRY(make_allocator(stand, number, setup));
    if (stand.cuda) {
        auto closing = std::make_unique<ClosingAllocator>(std::move(stand.allocator));
        stand.closing = closing.get();
        stand.allocator = std::move(closing);
    }
    if (scenario.touch) {
        auto touching =
            std::make_unique<TouchingAllocator>(std::move(stand.allocator), stand.bare());
        stand.touching = touching.get();
        stand.allocator = std::move(touching);
    }
    if (setup.decisions != nullptr)
        stand.allocator =
            std::make_unique<DecisionAllocator>(std::move(stand.allocator), *stand.decided);
    if (scenario.check)
        stand.allocator =
            std::make_unique<CheckedAllocator>(std::move(stand.allocator), *stand.checker);
    return {};
}

Result<Machine> Machine::build(const TraceInfo& info, const Scenario& scenario,
                               const MachineSetup& setup) {
    Machine machine;
    machine.decisions_ = setup.decisions;
    machine.follows_events_ =
        scenario.check || scenario.touch || setup.decisions != nullptr || setup.record != nullptr;
    if (setup.device.real) {
        TM_TRY(allow_real(scenario, setup.policy, limit_of(setup, 0)));
        TM_TRY(machine.open_cuda(std::max<std::size_t>(info.devices.size(), 1), scenario,
                                 setup.device.ordinal));
    } else {
        TM_TRY(machine.open_sim(info, scenario, setup));
    }
    for (std::size_t i = 0; i < machine.stands_.size(); ++i) {
        Stand& stand = machine.stands_[i];
        TM_TRY(equip(stand, i, scenario, setup));
        Lane lane{.device = &stand.face(), .allocator = stand.allocator.get()};
        if (stand.sim) {
            lane.clock = stand.sim->replay_clock();
            lane.grants = probe_of(*stand.sim, *stand.policy);
        }
        machine.lanes_.push_back(std::move(lane));
    }
    return machine;
}

void Machine::set_event(std::uint64_t event) {
    if (decisions_ != nullptr)
        decisions_->set_event(event);
    for (Stand& stand : stands_) {
        if (stand.recorded != nullptr)
            stand.recorded->advance(event);
        if (stand.checker)
            stand.checker->set_event(event);
        if (stand.touching != nullptr)
            stand.touching->set_event(event);
    }
}

Result<void> Machine::check_alive() const {
    for (const Stand& stand : stands_) {
        if (!stand.witness)
            continue;
        const DeviceResult<void> done = stand.witness->synchronize_device();
        if (done || done.error().status != DeviceStatus::lost)
            continue;
        Error error = stand.witness->explain(done.error());
        error.what = "the device was lost while the trace was replayed: " + error.what;
        error.where = fmt::format("--device cuda:{}", stand.witness->ordinal());
        return tl::make_unexpected(std::move(error));
    }
    return {};
}

std::string Machine::device_name() const {
    const Stand& stand = stands_.front();
    return std::string(stand.sim ? stand.sim->name() : stand.cuda->name());
}

// A trace may end with allocations alive. If none is, an allocator that was asked to give back all
// it can must hold nothing; if some are, no more than it says.
void Machine::find_leaks(Stand& stand, Run& run) {
    stand.allocator->trim(TrimLevel::all);
    if (stand.allocator->usage().active == 0) {
        stand.allocator.reset();
        stand.checker->finish();
        return;
    }
    if (!stand.sim)
        return;  // others use a real device too: see Run::device_memory
    const MemoryInfo memory = stand.sim->memory();
    const Bytes held = memory.total - memory.free;
    const Bytes known = stand.allocator->usage().reserved;
    if (held <= known)
        return;
    const std::uint64_t last = std::max<std::uint64_t>(run.summary.events, 1) - 1;
    ++run.hazard_count;
    run.hazards.push_back({std::string(to_text(HazardKind::leak)),
                           fmt::format("at the end the device has lent {} bytes, of which the "
                                       "allocator knows {}",
                                       held, known),
                           last, last});
}

void Machine::tell_hazards(Run& run) {
    for (Stand& stand : stands_) {
        if (!stand.checker)
            continue;
        find_leaks(stand, run);
        run.hazard_count += stand.checker->count();
        for (const Hazard& hazard : stand.checker->hazards())
            run.hazards.push_back({std::string(to_text(hazard.kind)), hazard.what,
                                   hazard.first_event, hazard.second_event});
    }
    std::stable_sort(
        run.hazards.begin(), run.hazards.end(),
        [](const HazardText& a, const HazardText& b) { return a.second_event < b.second_event; });
    if (run.hazards.size() > kHazardsKept)
        run.hazards.resize(kHazardsKept);
}

void Machine::tell_touch(Run& run) {
    for (Stand& stand : stands_) {
        if (stand.touching == nullptr)
            continue;
        stand.touching->check_live();
        const TouchReport& report = stand.touching->report();
        if (!run.touch)
            run.touch.emplace();
        *run.touch += report;
        if (report.first_failure)
            run.warnings.push_back(
                fmt::format("--touch: {} writes and checks failed, the first one: {}",
                            format_count(report.failures),
                            to_text(stand.bare().explain(*report.first_failure))));
    }
}

void Machine::finish(Run& run) {
    tell_touch(run);
    tell_hazards(run);
    lanes_.clear();
    for (Stand& stand : stands_) {
        if (stand.allocator && stand.closing != nullptr)
            stand.closing->close();
        stand.allocator.reset();
        stand.closing = nullptr;
        stand.touching = nullptr;
        stand.recorded = nullptr;
        if (!stand.cuda)
            continue;
        if (!run.device_memory)
            run.device_memory.emplace();
        run.device_memory->total += stand.untouched.total;
        run.device_memory->peak += fallen(stand.free_before, stand.cuda->lowest_free());
        stand.decided.reset();
        stand.observed.reset();
        stand.checked.reset();
        stand.cuda.reset();
        run.device_memory->leak += fallen(stand.untouched.free, stand.witness->memory().free);
    }
}

}  // namespace tidemark
