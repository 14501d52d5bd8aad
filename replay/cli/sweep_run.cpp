// One trace is open at a time, however many there are.
#include "replay/cli/sweep_run.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "replay/cli/tier_options.h"
#include "replay/facts/missing_history.h"
#include "replay/scenario/policy_identity.h"

namespace tidemark {

SweepRun::SweepRun(Context& context, TraceInput& input, const UnitFolder& folder,
                   const SweepPlan& plan)
    : context_(context),
      input_(input),
      folder_(folder),
      plan_(plan),
      names_(trace_names(plan.paths)),
      mine_(units_of_shard(plan.paths.size() * plan.count(), plan.shard.index, plan.shard.parts)),
      progress_(context.front(), "sweeping") {
    report_.folder = folder.path();
    report_.settings = plan.settings;
    report_.tiers = plan.tiers;
}

Result<SweepReport> SweepRun::run() {
    std::vector<Rung> rungs{{plan_.count(), plan_.paths.size()}};
    if (plan_.halving)
        rungs = halving_rungs(plan_.count(), plan_.paths.size());
    for (const Rung& rung : rungs)
        expected_ += rung.settings * rung.traces;
    std::vector<std::size_t> left(plan_.count());
    std::iota(left.begin(), left.end(), std::size_t{0});
    for (const Rung& rung : rungs) {
        if (rung.settings < left.size()) {
            const std::vector<SettingScore> scores = rank_settings(figures());
            std::erase_if(left, [&](std::size_t setting) {
                const auto found = std::ranges::find(scores, setting, &SettingScore::setting);
                return found - scores.begin() >= static_cast<std::ptrdiff_t>(rung.settings);
            });
        }
        for (std::size_t trace = 0; trace < rung.traces && !report_.interrupted; ++trace)
            TM_TRY(sweep_trace(trace, left));
    }
    progress_.clear();
    report_.scores = rank_settings(figures());
    std::erase_if(report_.scores, [&](const SettingScore& score) {
        return std::ranges::find(left, score.setting) == left.end();
    });
    std::ranges::sort(report_.units, {}, [](const SweptUnit& unit) {
        return std::pair(unit.trace_index, unit.setting);
    });
    report_.planned = report_.units.size() + report_.missing;
    return std::move(report_);
}

Result<void> SweepRun::sweep_trace(std::size_t index, std::span<const std::size_t> settings) {
    const std::string& path = plan_.paths[index];
    // Over tiers it matters what the program did, not what its allocator did.
    TM_ASSIGN(const std::unique_ptr<Trace> trace, plan_.tiers.empty()
                                                      ? input_.open_inferred(context_, path)
                                                      : input_.open(context_, path));
    TM_TRY(facts::need_history(trace->info()).map_error(in_trace(path)));
    std::vector<SweptUnit> units;
    for (const std::size_t setting : settings) {
        SweptUnit unit{.trace = names_[index], .trace_index = index, .setting = setting};
        TM_ASSIGN(const bool wanted, find_or_want(unit, *trace));
        if (wanted)
            units.push_back(std::move(unit));
    }
    TM_ASSIGN(const std::size_t computed, compute(*trace, path, units).map_error(in_trace(path)));
    report_.computed += computed;
    report_.missing += units.size() - computed;
    report_.interrupted = computed < units.size();
    return {};
}

Result<std::size_t> SweepRun::compute(const Trace& trace, const std::string& path,
                                      std::span<SweptUnit> units) {
    std::size_t computed = 0;
    const auto keep = [&](std::size_t i, const auto& setting, const auto& result) -> Result<void> {
        const UnitIdentity identity{units[i].name, context_.provenance().version,
                                    trace.recorded_hash()};
        TM_ASSIGN(units[i].result,
                  folder_.keep(identity.name, unit_line(identity, setting, result)));
        report_.units.push_back(units[i]);
        ++computed;
        advance();
        return {};
    };
    const SweepOptions options{.threads = plan_.threads, .stop = context_.front().stop()};
    if (plan_.tiers.empty()) {
        std::vector<SweepSetting> todo;
        for (const SweptUnit& unit : units)
            todo.push_back(plan_.settings[unit.setting]);
        const auto keep_run = [&](std::size_t i, const Result<Run>& result) {
            return keep(i, todo[i], result);
        };
        TM_TRY(run_settings(trace, todo, keep_run, options));
        return computed;
    }
    std::vector<TierSetting> todo;
    for (const SweptUnit& unit : units)
        todo.push_back(plan_.tiers[unit.setting]);
    if (todo.empty())
        return computed;
    TM_ASSIGN(const TierProgram program, tier_program(trace, plan_.scale, path));
    const auto keep_run = [&](std::size_t i, const Result<TierRun>& result) {
        return keep(i, todo[i], result);
    };
    TM_TRY(run_tier_settings(program, todo, keep_run, options));
    return computed;
}

Result<std::string> SweepRun::name_of(std::size_t setting, const Trace& trace) const {
    const std::string& version = context_.provenance().version;
    if (!plan_.tiers.empty())
        return tier_unit_name(trace.hash(), plan_.tiers[setting], plan_.scale, version);
    SweepSetting identity = plan_.settings[setting];
    TM_ASSIGN(const CostProfile profile, load_profile(identity.profile));
    TM_ASSIGN(const PolicySpec spec, parse_policy(identity.policy));
    TM_ASSIGN(identity.policy, policy_identity(spec));
    return unit_name(trace.hash(), identity, profile.hash(), version);
}

Result<bool> SweepRun::find_or_want(SweptUnit& unit, const Trace& trace) {
    TM_ASSIGN(unit.name, name_of(unit.setting, trace));
    if (!seen_.insert(unit.name).second)
        return false;  // an earlier rung had it, or the same trace is given twice
    TM_ASSIGN(std::optional<UnitResult> there, folder_.find(unit.name));
    if (there) {
        unit.result = std::move(*there);
        report_.units.push_back(unit);
        advance();
        return false;
    }
    const std::size_t index = unit.trace_index * plan_.count() + unit.setting;
    if (index >= mine_.begin && index < mine_.end)
        return true;
    ++report_.missing;
    advance();
    return false;
}

std::vector<UnitFigures> SweepRun::figures() const {
    std::vector<UnitFigures> all;
    for (const SweptUnit& unit : report_.units) {
        all.push_back(unit.result.figures);
        all.back().setting = unit.setting;
    }
    return all;
}

void SweepRun::advance() {
    progress_.show_work(++done_, expected_, "unit");
}

}  // namespace tidemark
