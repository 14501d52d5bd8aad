// Seeded trials of every setting, and what their peaks say.
#include "replay/analysis/spread/spread.h"

#include <algorithm>

#include "core/base/check.h"
#include "traces/model/scaled_trace.h"

namespace tidemark {
namespace {

constexpr std::uint64_t kFirstSeed = 1;
constexpr std::uint64_t kSpreadEventsAffordable =
    16'000'000;  // of one setting: replayed in about 1 s
constexpr std::uint64_t kFewestRuns = 16;
constexpr std::uint64_t kMostRuns = 64;
constexpr std::uint64_t kLongestTrace = 2'000'000;

// The value at this share of the sorted ones.
template <class Value>
Value quantile(const std::vector<Value>& sorted, double share) {
    const auto last = static_cast<double>(sorted.size() - 1);
    return sorted[static_cast<std::size_t>(share * last + 0.5)];
}

}  // namespace

PeakSpread spread_of(SampledPeaks peaks) {
    TM_CHECK(!peaks.empty());
    std::ranges::sort(peaks);
    return {quantile(peaks, 0.05), quantile(peaks, 0.5), quantile(peaks, 0.95),
            static_cast<unsigned>(peaks.size())};
}

PeakSpread spread_around(Bytes as_recorded, SampledPeaks peaks) {
    PeakSpread spread = spread_of(std::move(peaks));
    spread.p5 = std::min(spread.p5, as_recorded);
    spread.p95 = std::max(spread.p95, as_recorded);
    return spread;
}

SavingSpread saving_of(const SampledPeaks& before, const SampledPeaks& after) {
    TM_CHECK(!before.empty() && before.size() == after.size());
    std::vector<double> savings;
    for (std::size_t i = 0; i < before.size(); ++i) {
        const auto whole = static_cast<double>(std::max<Bytes>(before[i], 1));
        savings.push_back(1 - static_cast<double>(after[i]) / whole);
    }
    std::ranges::sort(savings);
    return {quantile(savings, 0.05), quantile(savings, 0.5), quantile(savings, 0.95)};
}

unsigned usual_spread_runs(std::uint64_t events) {
    if (events > kLongestTrace)
        return 0;
    const std::uint64_t runs = kSpreadEventsAffordable / std::max<std::uint64_t>(events, 1);
    return static_cast<unsigned>(std::clamp(runs, kFewestRuns, kMostRuns));
}

SampledPeaks peaks_of(std::span<const SampledRun> runs) {
    SampledPeaks peaks;
    for (const SampledRun& run : runs)
        peaks.push_back(run.peak_reserved);
    return peaks;
}

Result<std::vector<std::vector<SampledRun>>> sample_runs(const Trace& trace,
                                                         std::span<const TrialSetup> setups,
                                                         const SpreadOptions& options) {
    const unsigned runs = options.runs.value_or(usual_spread_runs(trace.info().event_count));
    if (runs == 0 || setups.empty())
        return {};
    TM_ASSIGN(const CompletionRecord record, read_completions(trace));
    if (!record.uncertain())
        return {};
    std::vector<TrialSetup> trials;
    for (const TrialSetup& setup : setups) {
        for (unsigned i = 0; i < runs; ++i) {
            trials.push_back(setup);
            trials.back().completions = &record;
            trials.back().seed = kFirstSeed + i;
        }
    }
    TM_ASSIGN(const std::vector<TrialResult> results,
              run_trials(trace, trials, {.threads = options.threads, .progress = {}}));
    std::vector<std::vector<SampledRun>> sampled(setups.size());
    for (std::size_t i = 0; i < results.size(); ++i)
        sampled[i / runs].push_back({results[i].peak.reserved, results[i].refusals()});
    return sampled;
}

Result<std::vector<SampledPeaks>> sample_peaks(const Trace& trace,
                                               std::span<const TrialSetup> setups,
                                               const SpreadOptions& options) {
    TM_ASSIGN(const auto sampled, sample_runs(trace, setups, options));
    std::vector<SampledPeaks> peaks(sampled.size());
    for (std::size_t i = 0; i < sampled.size(); ++i)
        peaks[i] = peaks_of(sampled[i]);
    return peaks;
}

Result<std::vector<TrialSetup>> setups_of(std::span<const Run> runs, const CostProfile& profile) {
    std::vector<TrialSetup> setups;
    for (const Run& run : runs) {
        TM_ASSIGN(PolicySpec policy, parse_policy(run.scenario.policy));
        setups.push_back({.policy = std::move(policy),
                          .profile = &profile,
                          .memory = run.scenario.memory,
                          .overhead = run.scenario.held(),
                          .limit = run.scenario.limit});
    }
    return setups;
}

Result<std::vector<SampledPeaks>> spread_runs(const Trace& trace, std::span<Run> runs,
                                              const SpreadOptions& options) {
    if (runs.empty() || runs.front().device_memory)
        return {};
    TM_ASSIGN(const Scale scale, Scale::of(runs.front().scenario.scale));
    std::optional<ScaledTrace> scaled;
    if (scale.changes())
        scaled.emplace(trace, scale);
    TM_ASSIGN(const CostProfile profile, load_profile(runs.front().scenario.profile));
    TM_ASSIGN(const std::vector<TrialSetup> setups, setups_of(runs, profile));
    TM_ASSIGN(std::vector<SampledPeaks> peaks,
              sample_peaks(scaled ? *scaled : trace, setups, options));
    for (std::size_t i = 0; i < peaks.size(); ++i)
        runs[i].peak_spread =
            spread_around(runs[i].measurement("peak_reserved_bytes").whole, peaks[i]);
    return peaks;
}

}  // namespace tidemark
