// Devices and allocators for a trial.
#include "replay/scenario/trial_machine.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/base/random.h"
#include "core/base/text.h"
#include "replay/record/explained_record.h"
#include "replay/scenario/machine.h"
#include "replay/scenario/pool_plans.h"
#include "traces/model/device_trace.h"

namespace tidemark {
namespace {

Bytes granularity_of(const TrialSetup& setup) {
    return setup.profile != nullptr ? setup.profile->granularity : SimConfig{}.granularity;
}

// Another run of the program loads its kernels at another moment, or none that are big.
LateHole late_hole(const TrialSetup& setup) {
    if (setup.completions == nullptr && !setup.placement)
        return {};
    Random random(~setup.placement.value_or(setup.seed));
    constexpr std::uint64_t kSeenAfter = 16;
    constexpr std::array<Bytes, 4> kSeen{0, 0, 414_MiB, 446_MiB};
    const Bytes size = kSeen[random.below(kSeen.size())];
    return {.after = random.below(kSeenAfter), .size = size};
}

// The recorded run, if `setup` asks for no other; else null.
const ExplainedRecord* recorded_run(const Trace& trace, const TrialSetup& setup) {
    const ExplainedRecord* const record = explained_record(trace);
    const std::vector<TraceDevice>& devices = trace.info().devices;
    const bool same_card = setup.memory == 0 || setup.memory_assumed ||
                           (!devices.empty() && setup.memory == devices[0].total_memory);
    const bool other_run = setup.simulated || setup.placement || setup.completions != nullptr ||
                           setup.trim_before || !setup.elsewhere.empty();
    if (record == nullptr || !same_card || setup.overhead != 0 || other_run)
        return nullptr;
    return record->is_replay(setup.policy, setup.limit ? &*setup.limit : nullptr) ? record
                                                                                  : nullptr;
}

}  // namespace

Bytes limit_of(const Trace& trace, const TrialSetup& setup, std::size_t device) {
    const ExplainedRecord* const record = explained_record(trace);
    if (setup.limit || record == nullptr)
        return setup.limit.value_or(0);
    return record->limit_under(setup.policy, device);
}

Result<TrialMachine::DeviceStack> TrialMachine::simulated(const TrialSetup& setup, Bytes limit) {
    TM_ASSIGN(const PolicySpec spec, setup.policy.with_limit(limit));
    const Bytes granularity = granularity_of(setup);
    const Bytes held = align_up(setup.overhead, granularity);
    SimConfig config{.capacity = setup.memory == 0 ? SimDevice::kLargestCapacity : setup.memory,
                     .held = held,
                     .granularity = granularity,
                     .profile = setup.profile,
                     .placement = placement_for(spec),
                     .late_hole = late_hole(setup)};
    if (limit > 0 && !spec.keeps_limit())
        config.capacity = std::min(config.capacity, held + limit);
    if (held >= config.capacity || config.capacity > SimDevice::kLargestCapacity)
        return fail(ErrorCode::bad_option,
                    fmt::format("a device with {} of which {} are in use cannot be simulated",
                                format_bytes(config.capacity), format_bytes(held)),
                    "--memory");
    DeviceStack stack;
    stack.device = std::make_unique<SimDevice>(config);
    TM_ASSIGN(stack.allocator, spec.make(*stack.device));
    return stack;
}

Result<TrialMachine::DeviceStack> TrialMachine::recorded(const TrialSetup& setup,
                                                         const ExplainedRecord& record,
                                                         std::size_t number) {
    DeviceStack stack;
    stack.device = std::make_unique<SimDevice>(SimConfig{.capacity = SimDevice::kLargestCapacity,
                                                         .granularity = granularity_of(setup),
                                                         .profile = setup.profile});
    stack.scripted = std::make_unique<ScriptedDevice>(record.devices[number].model.capacity);
    stack.scripted->mirror(*stack.device);
    TM_ASSIGN(auto recorded,
              RecordedAllocator::make(record, number, *stack.scripted, *stack.scripted));
    stack.recorded = recorded.get();
    stack.allocator = std::move(recorded);
    return stack;
}

Result<TrialMachine> TrialMachine::build(const Trace& trace, const TrialSetup& setup) {
    const ExplainedRecord* const record = recorded_run(trace, setup);
    const DeviceTrace* const one = device_trace(trace);
    TrialMachine machine;
    machine.follows_ = record != nullptr;
    for (std::size_t i = 0; i < std::max<std::size_t>(trace.info().devices.size(), 1); ++i) {
        TM_ASSIGN(DeviceStack stack, record != nullptr && (one == nullptr || one->device() == i)
                                         ? recorded(setup, *record, i)
                                         : simulated(setup, limit_of(trace, setup, i)));
        machine.contexts_.push_back({.device = stack.device.get(),
                                     .allocator = stack.allocator.get(),
                                     .clock = stack.device->replay_clock(),
                                     .grants = probe_of(*stack.device, *stack.allocator)});
        machine.stacks_.push_back(std::move(stack));
    }
    if (record == nullptr)
        TM_TRY(plan_pools(trace, setup.policy.policy->plans, machine.contexts()));
    return machine;
}

Result<ReplaySummary> TrialMachine::run(const TraceInfo& info, TraceCursor& cursor,
                                        std::span<Observer* const> observers, ReplayLimits limits) {
    if (follows_)
        limits.before_event = [this, inner = std::move(limits.before_event)](std::uint64_t event) {
            if (inner)
                inner(event);
            set_event(event);
        };
    limits.as_recorded = follows_;
    return ReplayEngine(contexts_, observers).run(info, cursor, limits);
}

void TrialMachine::set_event(std::uint64_t event) {
    for (const DeviceStack& stack : stacks_)
        if (stack.recorded != nullptr)
            stack.recorded->advance(event);
}

std::vector<std::vector<Region>> TrialMachine::regions() const {
    std::vector<std::vector<Region>> found;
    for (const DeviceStack& stack : stacks_) {
        std::vector<Region>& list = found.emplace_back();
        stack.allocator->for_each_region([&list](const Region& region) { list.push_back(region); });
    }
    return found;
}

}  // namespace tidemark
