// One trace's settings on a few threads, and what the results say.
#include "replay/analysis/sweep/sweep.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <optional>
#include <tuple>

#include "core/base/threads.h"

namespace tidemark {

Result<void> run_settings(
    const Trace& trace, std::span<const SweepSetting> settings,
    const std::function<Result<void>(std::size_t setting, const Result<Run>& result)>& keep,
    const SweepOptions& options) {
    std::mutex mutex;
    std::optional<Error> failure;
    parallel_for(settings.size(), options.threads, [&](std::size_t i, unsigned) {
        if (options.stop && options.stop())
            return false;
        Result<Run> result = run(trace, settings[i]);
        const std::lock_guard lock(mutex);
        if (!result && result.error().code != ErrorCode::bad_option) {
            failure = failure ? failure : std::move(result).error();
            return false;
        }
        if (result) {  // wall time is of this machine alone
            result->summary.elapsed = 0;
            result->summary.elapsed_total = 0;
        }
        const Result<void> kept = keep(i, result);
        if (!kept && !failure)
            failure = kept.error();
        return kept.has_value();
    });
    if (failure)
        return tl::make_unexpected(*failure);
    return {};
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
        score.overhead_ratio += unit.overhead_ratio > 0 ? std::log(unit.overhead_ratio) : 0;
        score.driver_time += unit.driver_time;
        score.out_of_memory += unit.out_of_memory;
    }
    std::vector<SettingScore> ranked;
    for (auto& [setting, score] : by_setting) {
        if (score.traces > 0)  // libraries differ in a logarithm's last digits
            score.overhead_ratio =
                std::round(std::exp(score.overhead_ratio / static_cast<double>(score.traces)) *
                           1e9) /
                1e9;
        ranked.push_back(score);
    }
    std::ranges::stable_sort(ranked, {}, [](const SettingScore& score) {
        return std::tuple(score.failed, score.out_of_memory, score.overhead_ratio,
                          score.driver_time, score.setting);
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
