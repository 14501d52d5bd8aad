// One trace's settings on a few threads, and what the results say.
#include "replay/analysis/sweep/sweep.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "replay/analysis/sweep/each_setting.h"

namespace tidemark {

Result<void> run_settings(
    const Trace& trace, std::span<const SweepSetting> settings,
    const std::function<Result<void>(std::size_t setting, const Result<Run>& result)>& keep,
    const SweepOptions& options) {
    const auto replay = [&](std::size_t i) {
        Result<Run> result = run(trace, settings[i]);
        if (result) {  // wall time is of this machine alone
            result->summary.elapsed = 0;
            result->summary.elapsed_total = 0;
        }
        return result;
    };
    return each_setting(settings.size(), options, replay, keep);
}

std::vector<SettingScore> rank_settings(std::span<const UnitFigures> units) {
    std::map<std::size_t, SettingScore> by_setting;
    for (const UnitFigures& unit : units) {
        SettingScore& score = by_setting[unit.setting];
        score.setting = unit.setting;
        score.failed += unit.failed ? 1U : 0U;
        if (unit.failed)
            continue;
        ++score.traces;
        score.ratio += unit.ratio > 0 ? std::log(unit.ratio) : 0;
        score.time += unit.time;
        score.out_of_memory += unit.out_of_memory;
    }
    std::vector<SettingScore> ranked;
    for (auto& [setting, score] : by_setting) {
        if (score.traces > 0)  // libraries differ in a logarithm's last digits
            score.ratio =
                std::round(std::exp(score.ratio / static_cast<double>(score.traces)) * 1e9) / 1e9;
        ranked.push_back(score);
    }
    std::ranges::stable_sort(ranked, {}, [](const SettingScore& score) {
        return std::tuple(score.failed, score.out_of_memory, score.ratio, score.time,
                          score.setting);
    });
    return ranked;
}

std::vector<Rung> halving_rungs(std::size_t settings, std::size_t traces) {
    std::vector<Rung> rungs{{settings, std::min<std::size_t>(traces, 1)}};
    while (rungs.back().traces < traces)
        rungs.push_back(
            {(rungs.back().settings + 1) / 2, std::min(rungs.back().traces * 2, traces)});
    return rungs;
}

}  // namespace tidemark
