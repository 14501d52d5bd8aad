// One trace is open at a time, however many there are.
#include "replay/cli/sweep_run.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "replay/scenario/policy_identity.h"

namespace tidemark {

SweepRun::SweepRun(Context& context, const TraceInput& input, const UnitFolder& folder,
                   const SweepPlan& plan)
    : context_(context),
      input_(input),
      folder_(folder),
      plan_(plan),
      names_(trace_names(plan.paths)),
      mine_(units_of_shard(plan.paths.size() * plan.settings.size(), plan.shard.index,
                           plan.shard.parts)),
      progress_(context.front(), "sweeping") {
    report_.folder = folder.path();
    report_.settings = plan.settings;
}

Result<SweepReport> SweepRun::run() {
    std::vector<Rung> rungs{{plan_.settings.size(), plan_.paths.size()}};
    if (plan_.halving)
        rungs = halving_rungs(plan_.settings.size(), plan_.paths.size());
    for (const Rung& rung : rungs)
        expected_ += rung.settings * rung.traces;
    std::vector<std::size_t> left(plan_.settings.size());
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
    TM_ASSIGN(const std::unique_ptr<Trace> trace, input_.open_inferred(context_, path));
    std::vector<SweepSetting> todo;
    std::vector<SweptUnit> units;
    for (const std::size_t setting : settings) {
        SweptUnit unit{.trace = names_[index], .trace_index = index, .setting = setting};
        TM_ASSIGN(const bool wanted, find_or_want(unit, *trace));
        if (!wanted)
            continue;
        todo.push_back(plan_.settings[setting]);
        units.push_back(std::move(unit));
    }
    std::size_t computed = 0;
    const auto keep = [&](std::size_t i, const Result<Run>& result) -> Result<void> {
        const UnitIdentity identity{units[i].name, context_.provenance().version,
                                    trace->recorded_hash()};
        TM_ASSIGN(units[i].result,
                  folder_.keep(identity.name, unit_line(identity, todo[i], result)));
        report_.units.push_back(units[i]);
        ++computed;
        advance();
        return {};
    };
    TM_TRY(run_settings(*trace, todo, keep,
                        {.threads = plan_.threads, .stop = context_.front().stop()})
               .map_error(in_trace(path)));
    report_.computed += computed;
    report_.missing += todo.size() - computed;
    report_.interrupted = computed < todo.size();
    return {};
}

Result<bool> SweepRun::find_or_want(SweptUnit& unit, const Trace& trace) {
    const SweepSetting& setting = plan_.settings[unit.setting];
    TM_ASSIGN(const CostProfile profile, load_profile(setting.profile));
    TM_ASSIGN(const PolicySpec spec, parse_policy(setting.policy));
    SweepSetting identity = setting;
    TM_ASSIGN(identity.policy, policy_identity(spec));
    unit.name = unit_name(trace.hash(), identity, profile.hash(), context_.provenance().version);
    if (!seen_.insert(unit.name).second)
        return false;  // an earlier rung had it, or the same trace is given twice
    TM_ASSIGN(std::optional<UnitResult> there, folder_.find(unit.name));
    if (there) {
        unit.result = std::move(*there);
        report_.units.push_back(unit);
        advance();
        return false;
    }
    const std::size_t index = unit.trace_index * plan_.settings.size() + unit.setting;
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
