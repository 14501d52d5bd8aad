// From a scenario to a run: finds what it names, sets the machine's sizes, replays.
#include "replay/tiers/tier_run.h"

#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "core/tiers/victims/learned_forecast.h"
#include "replay/tiers/oracle_forecast.h"
#include "replay/tiers/tier_player.h"
#include "replay/tiers/virtual_stage.h"

namespace tidemark {
namespace {

// When the program would end if memory were unlimited: only the streams' own waits count.
Nanoseconds unlimited_makespan(const TierProgram& program) {
    std::vector<Nanoseconds> clocks(program.streams);
    std::vector<Nanoseconds> points(program.records);
    for (const TierStep& step : program.steps) {
        Nanoseconds& clock = clocks[step.stream];
        clock += step.gap;
        if (step.kind == StepKind::record) {
            points[step.value] = clock;
        } else if (step.kind == StepKind::wait) {
            clock = std::max(clock, points[step.value]);
        } else if (step.kind == StepKind::synchronize) {
            clock = *std::max_element(clocks.begin(), clocks.end());
        }
    }
    return *std::max_element(clocks.begin(), clocks.end());
}

std::shared_ptr<Forecast> make_forecast(const TierProgram& program, Foresight foresight) {
    if (foresight == Foresight::oracle)
        return std::make_shared<OracleForecast>(program);
    if (foresight == Foresight::learned)
        return std::make_shared<LearnedForecast>();
    return nullptr;
}

// One forecast serves the victim policy and the prefetching; the better-informed request wins.
Foresight foresight_of(Prefetch prefetch, Foresight policy) {
    if (prefetch == Prefetch::oracle || policy == Foresight::oracle)
        return Foresight::oracle;
    return prefetch == Prefetch::learned ? Foresight::learned : policy;
}

}  // namespace

double TierRun::slowdown() const {
    return unlimited <= 0 ? 1.0 : static_cast<double>(makespan) / static_cast<double>(unlimited);
}

double TierRun::hit_ratio() const {
    return used_bytes == 0 ? 1.0 : static_cast<double>(hit_bytes) / static_cast<double>(used_bytes);
}

Result<MachineSpec> sized_machine(const TierProgram& program, const MachineSpec& machine,
                                  const TierScenario& scenario) {
    MachineSpec made = machine;
    for (SpaceSpec& space : made.spaces) {
        if (scenario.reservation_limit > 0)
            space.reservation_limit = scenario.reservation_limit;
        if (space.id.tier == Tier::gpu) {
            space.granularity = 1;  // sizes count as recorded
            if (scenario.gpu_memory > 0)
                space.capacity = scenario.gpu_memory;
            else if (scenario.gpu_fraction > 0)
                space.capacity = static_cast<Bytes>(static_cast<double>(program.peak_bytes) *
                                                    scenario.gpu_fraction);
            if (scenario.spill_start > 0)
                space.spill_start = scenario.spill_start;
            if (scenario.spill_stop > 0)
                space.spill_stop = scenario.spill_stop;
            space.spill_stop = std::min(space.spill_stop, space.spill_start);
        } else if (space.id.tier == Tier::host && scenario.host_memory > 0) {
            space.capacity = scenario.host_memory;
        }
    }
    for (std::uint32_t device = 0; device < program.devices; ++device)
        if (made.space({Tier::gpu, static_cast<std::int32_t>(device)}) == nullptr)
            return fail(ErrorCode::bad_option,
                        fmt::format("machine '{}' has no gpu:{}, which the trace uses",
                                    machine.name, device),
                        "--machine", "choose one with more GPUs");
    TM_TRY(made.validate());
    return made;
}

Result<TierRun> run_tiers_on(TierStage& stage, TierTimeline& timeline, const TierProgram& program,
                             const MachineSpec& sized, const TierScenario& scenario,
                             const TierListeners& listeners) {
    TM_ASSIGN(const VictimSpec victims, parse_victim_policy(scenario.spill));
    TierRun run;
    run.scenario = scenario;
    run.scenario.spill = victims.text();
    run.scenario.gpu_memory = sized.space({Tier::gpu, 0})->capacity;
    run.scenario.reservation_limit = sized.space({Tier::gpu, 0})->reservation_limit;
    run.scenario.spill_start = sized.space({Tier::gpu, 0})->spill_start;
    run.scenario.spill_stop = sized.space({Tier::gpu, 0})->spill_stop;
    if (scenario.prefetch == Prefetch::automatic)
        run.scenario.prefetch =
            victims.policy->foresight == Foresight::learned ? Prefetch::learned : Prefetch::none;
    run.policy = victims.policy->name;
    run.policy_options.assign(victims.options.all().begin(), victims.options.all().end());
    run.machine_name = sized.name;
    run.trace_hash = program.trace_hash;
    run.events = program.events;
    run.needed_bytes = program.largest_kernel;
    if (!program.assumption.empty())
        run.warnings.push_back(program.assumption);
    run.unlimited = unlimited_makespan(program);

    SpillOptions options;
    options.victims = victims;
    options.keep_clean = scenario.keep_copies;
    const Foresight foresight = foresight_of(run.scenario.prefetch, victims.policy->foresight);
    options.forecast = make_forecast(program, foresight);
    options.guesses = foresight == Foresight::learned;
    options.prefetch = options.forecast && run.scenario.prefetch != Prefetch::none;
    TM_TRY(TierPlayer(program, sized, options, stage, timeline, run).play(listeners));
    TM_ASSIGN(const StageEnd end, stage.finish());
    run.makespan = std::max(run.makespan, end.makespan);
    run.wrong_bytes = end.wrong_bytes;
    run.timeline = timeline.take();
    run.levels = timeline.take_levels();
    return run;
}

Result<TierRun> run_tiers(const TierProgram& program, const MachineSpec& machine,
                          const TierScenario& scenario, const TierListeners& listeners) {
    TM_ASSIGN(const MachineSpec sized, sized_machine(program, machine, scenario));
    TierTimeline timeline(scenario.timeline);
    VirtualStage stage(sized, timeline);
    return run_tiers_on(stage, timeline, program, sized, scenario, listeners);
}

}  // namespace tidemark
