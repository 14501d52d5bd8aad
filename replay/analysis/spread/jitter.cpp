// Every setting on every variant, a trial each.
#include "replay/analysis/spread/jitter.h"

#include <algorithm>
#include <limits>

#include "core/base/threads.h"
#include "traces/model/scaled_trace.h"
#include "traces/model/varied_trace.h"

namespace tidemark {
namespace {

constexpr std::uint64_t kFirstVariant = 1;  // seed

// results[run * variants + variant].
Result<std::vector<TrialResult>> run_variants(const Trace& trace,
                                              std::span<const TrialSetup> setups, unsigned variants,
                                              unsigned threads) {
    std::vector<Result<TrialResult>> results(setups.size() * variants);
    const bool all = parallel_for(results.size(), threads, [&](std::size_t unit, unsigned) {
        const VariedTrace varied(trace, kFirstVariant + unit % variants);
        results[unit] = run_trial(varied, setups[unit / variants]);
        return results[unit].has_value();
    });
    std::vector<TrialResult> taken;
    for (Result<TrialResult>& result : results) {
        if (!all && !result)
            return tl::make_unexpected(std::move(result).error());
        taken.push_back(std::move(*result));
    }
    return taken;
}

}  // namespace

Result<std::vector<JitteredPeaks>> jitter_runs(const Trace& trace, std::span<const Run> runs,
                                               unsigned variants, unsigned threads) {
    if (runs.empty() || runs.front().device_memory)
        return {};
    TM_ASSIGN(const Scale scale, Scale::of(runs.front().scenario.scale));
    std::optional<ScaledTrace> scaled;
    if (scale.changes())
        scaled.emplace(trace, scale);
    TM_ASSIGN(const CostProfile profile, load_profile(runs.front().scenario.profile));
    TM_ASSIGN(const std::vector<TrialSetup> setups, setups_of(runs, profile));
    TM_ASSIGN(const std::vector<TrialResult> results,
              run_variants(scaled ? *scaled : trace, setups, variants, threads));
    const auto result_of = [&](std::size_t run, unsigned variant) -> const TrialResult& {
        return results[run * variants + variant];
    };
    std::vector<SampledPeaks> peaks(runs.size());
    std::vector<JitteredPeaks> jittered(runs.size());
    for (unsigned variant = 0; variant < variants; ++variant) {
        Bytes lowest = std::numeric_limits<Bytes>::max();
        for (std::size_t run = 0; run < runs.size(); ++run)
            if (result_of(run, variant).refusals() == 0)
                lowest = std::min(lowest, result_of(run, variant).peak.reserved);
        for (std::size_t run = 0; run < runs.size(); ++run) {
            const TrialResult& result = result_of(run, variant);
            peaks[run].push_back(result.peak.reserved);
            const bool refused = result.refusals() > 0;
            jittered[run].refused += refused ? 1U : 0U;
            jittered[run].lowest += !refused && result.peak.reserved == lowest ? 1U : 0U;
        }
    }
    for (std::size_t run = 0; run < runs.size(); ++run) {
        jittered[run].peak = spread_of(peaks[run]);
        jittered[run].saving = saving_of(peaks.front(), peaks[run]);
    }
    return jittered;
}

}  // namespace tidemark
