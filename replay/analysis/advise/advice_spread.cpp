// Samples the settings found, then weighs them run by run.
#include "replay/analysis/advise/advice_spread.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/base/text.h"
#include "replay/analysis/spread/spread_text.h"

namespace tidemark {
namespace {

// A setting that was found, with its peaks.
struct Weighed {
    Tried tried;
    SampledPeaks peaks;
};

// Is it worth naming next to `before`? A setting that saves time at the same peak needs no range.
bool borne_out(const Weighed& found, const Tried& before, const SavingSpread& saving) {
    if (found.tried.result.refusals() < before.result.refusals())
        return true;
    return saving.p5 > 0 || found.tried.result.peak.reserved == before.result.peak.reserved;
}

std::string saved_text(const Advice& advice, const SavingSpread& saving, unsigned runs) {
    return fmt::format(
        "From run to run it {}: it peaks at {}, the current settings at {} ({} replays, each like "
        "a possible other run).",
        saving_text(saving), range_text(*advice.search.best.peak_spread),
        range_text(*advice.search.before.peak_spread), format_count(runs));
}

std::string dropped_text(const Advice& advice, const Tried& dropped, const SavingSpread& saving) {
    return fmt::format(
        "{} cannot be told apart from the current settings: from run to run it {}; the current "
        "settings peak at {}.",
        dropped.is_setting() ? dropped.policy.text() : dropped.name, saving_text(saving),
        range_text(*advice.search.before.peak_spread));
}

}  // namespace

Result<void> spread_advice(const Trace& trace, const TrialSetup& base, const SpreadOptions& options,
                           Advice& advice) {
    SearchResult& search = advice.search;
    std::vector<Weighed> found;
    if (search.improves)
        found.push_back({search.best, {}});
    for (Tried& other : search.others)
        found.push_back({std::move(other), {}});
    std::vector<TrialSetup> setups{base};
    for (const Weighed& each : found) {
        setups.push_back(base);
        setups.back().policy = each.tried.policy;
        setups.back().prime = each.tried.prime;
        setups.back().one_graph_pool = each.tried.one_graph_pool;
    }
    if (search.dear) {
        setups.push_back(base);
        setups.back().policy = search.dear->policy;
    }
    TM_ASSIGN(const std::vector<SampledPeaks> peaks, sample_peaks(trace, setups, options));
    if (peaks.empty()) {
        for (std::size_t i = 0; i < search.others.size(); ++i)
            search.others[i] = std::move(found[i + (search.improves ? 1 : 0)].tried);
        return {};
    }
    const auto range_of = [](const Tried& tried, const SampledPeaks& sampled) {
        return spread_around(tried.result.peak.reserved, sampled);
    };
    search.before.peak_spread = range_of(search.before, peaks[0]);
    for (std::size_t i = 0; i < found.size(); ++i) {
        found[i].peaks = peaks[i + 1];
        found[i].tried.peak_spread = range_of(found[i].tried, peaks[i + 1]);
    }
    if (search.dear) {
        search.dear->peak_spread = range_of(*search.dear, peaks.back());
        if (saving_of(peaks[0], peaks.back()).p5 <= 0)
            search.dear.reset();
    }
    std::vector<Weighed> kept;
    for (const Weighed& each : found) {
        if (borne_out(each, search.before, saving_of(peaks[0], each.peaks)))
            kept.push_back(each);
    }
    const bool dropped = search.improves && (kept.empty() || kept.front().tried.policy.text() !=
                                                                 search.best.policy.text());
    std::string why =
        dropped ? dropped_text(advice, search.best, saving_of(peaks[0], peaks[1])) : "";
    search.improves = search.improves && !kept.empty();
    search.best = search.improves ? kept.front().tried : search.before;
    search.others.clear();
    for (std::size_t i = search.improves ? 1 : 0; i < kept.size(); ++i)
        search.others.push_back(std::move(kept[i].tried));
    if (search.improves)
        advice.spread_verdict = saved_text(advice, saving_of(peaks[0], kept.front().peaks),
                                           static_cast<unsigned>(peaks[0].size()));
    else if (why.empty())
        why = fmt::format("From run to run the current settings peak at {} ({} replays).",
                          range_text(*search.before.peak_spread), format_count(peaks[0].size()));
    if (!why.empty())
        advice.spread_verdict += (advice.spread_verdict.empty() ? "" : " ") + why;
    return {};
}

}  // namespace tidemark
