// Every answer is a replay of a grown trace, or several.
#include "replay/analysis/scale/scale_search.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "replay/analysis/spread/spread.h"

namespace tidemark {
namespace {

constexpr double kFinest = 1.0 / 64;  // of a growth that is searched, relative
constexpr int kNear = 4;              // this many of these steps around the result are tested

// Of a peak, if no step of another size confirms the laws: of 37 programs, all but three were off
// by at most this much; guesses by 0.04 in 11 programs.
constexpr double kUnconfirmed = 0.03, kGuessed = 0.01;

double unconfirmed(const SizeLaws& laws) {
    return laws.has_sizes && !laws.by_chance ? 0 : kUnconfirmed + kGuessed * laws.guessed;
}

// Powers of the growth that sizes without a law may have, apart from 1.
constexpr double kStay = 0, kFast = 2;

Bytes peak_in(const TrialResult& result) {
    return result.device_peaks.empty() ? result.peak.reserved
                                       : *std::ranges::max_element(result.device_peaks);
}

void widen(ScaledPeak& peak, double bytes) {
    const auto other = static_cast<Bytes>(std::max(bytes, 0.0));
    peak.least = std::min(peak.least, other);
    peak.most = std::max(peak.most, other);
}

// If sizes do not grow in proportion, like workspaces of kernels, or their growth isn't known, free
// pieces end up elsewhere. In 33 programs, free memory at the peak was then up to 40 % more or
// less.
double scatter(const SizeLaws& laws, const TrialResult& result) {
    constexpr double kMattersNearly = 0.01, kMattersUnknown = 0.05;
    constexpr double kScatter = 0.4;
    const double all = std::accumulate(laws.bytes.begin(), laws.bytes.end(), 0.0);
    const auto share = [&](LawKind kind) {
        return static_cast<double>(laws.bytes[static_cast<std::size_t>(kind)]) / all;
    };
    const auto reserved = static_cast<double>(result.peak.reserved);
    if (laws.guessed < kMattersUnknown &&
        share(LawKind::shifted) + share(LawKind::rounded) < kMattersNearly &&
        share(LawKind::unknown) < kMattersUnknown)
        return unconfirmed(laws) * reserved;
    const double used = std::min(static_cast<double>(result.peak.allocated), reserved);
    return kScatter * (reserved - used) + unconfirmed(laws) * reserved;
}

}  // namespace

ScaleSearch::ScaleSearch(const Trace& trace, const ScaleModel& model, const PolicySpec& policy,
                         const CostProfile& profile, std::function<bool()> stop,
                         std::function<void()> replayed)
    : trace_(trace),
      model_(model),
      policy_(policy),
      profile_(profile),
      stop_(std::move(stop)),
      replayed_(std::move(replayed)) {}

Result<Bytes> ScaleSearch::before() {
    TM_ASSIGN(GrowthPlan plan, plan_growth(model_, {}));
    return peak(grown(std::move(plan)));
}

Result<HeldBackPeak> ScaleSearch::hold_back() {
    HeldBackPeak found;
    if (!model_.held_back)
        return found;
    const HeldBack& held = *model_.held_back;
    const auto trace_of = [&](GrowthPlan plan) {
        return GrownTrace(trace_, model_.requests, held.laws, held.steps, std::move(plan));
    };
    TM_ASSIGN(found.predicted, peak(trace_of(held.predicted())));
    TM_ASSIGN(found.recorded, peak(trace_of(held.recorded())));
    if (found.predicted > 0)
        error_ = static_cast<double>(found.recorded) / static_cast<double>(found.predicted);
    return found;
}

Result<ScaledPeak> ScaleSearch::peak_of(const GrowthQuestion& question) {
    TM_ASSIGN(GrowthPlan plan, plan_growth(model_, question));
    TM_ASSIGN(const TrialResult result, replay(grown(plan), {}));
    ScaledPeak found;
    found.likely = found.least = found.most = peak_in(result);
    TM_TRY(widen_by_runs(grown(plan), found));
    if (has_unknown())
        for (const double unknown : {kStay, kFast}) {
            plan.unknown = unknown;
            TM_ASSIGN(const Bytes other, peak(grown(plan)));
            widen(found, static_cast<double>(other));
        }
    const auto likely = static_cast<double>(found.likely);
    widen(found, likely * error_at(question.growth));
    if (question.grows())  // then there are bytes
        for (const double side : {-1.0, 1.0})
            widen(found, likely + side * scatter(model_.laws, result));
    return found;
}

Result<LargestGrowth> ScaleSearch::largest(const GrowthQuestion& question, Axis axis, Bytes memory,
                                           Bytes overhead) {
    const Card card{memory, overhead};
    double ScaleFactors::*const along =
        axis == Axis::batch ? &ScaleFactors::batch : &ScaleFactors::length;
    LargestGrowth found;
    TM_ASSIGN(found.perhaps, largest(question, along, card, false));
    TM_ASSIGN(found.surely, largest(question, along, card, true));
    found.surely = std::min(found.surely, found.perhaps);
    return found;
}

Result<TrialResult> ScaleSearch::replay(const Trace& trace, const Card& card) {
    if (stop_ && stop_())
        return fail(ErrorCode::cancelled, "interrupted");
    TrialSetup wanted = setup();
    if (card.memory > 0) {
        wanted.memory = card.memory;
        wanted.overhead = card.overhead;
        wanted.stop_at_refusal = true;
    }
    Result<TrialResult> found = run_trial(trace, wanted);
    replayed_();
    return found;
}

Result<Bytes> ScaleSearch::peak(const Trace& trace) {
    TM_ASSIGN(const TrialResult found, replay(trace, {}));
    return peak_in(found);
}

GrownTrace ScaleSearch::grown(GrowthPlan plan) const {
    return GrownTrace(trace_, model_.requests, model_.laws, model_.steps, std::move(plan));
}

Result<void> ScaleSearch::widen_by_runs(const Trace& trace, ScaledPeak& found) {
    if (stop_ && stop_())
        return fail(ErrorCode::cancelled, "interrupted");
    const std::array setups{setup()};
    TM_ASSIGN(const std::vector<SampledPeaks> runs, sample_peaks(trace, setups, {.threads = 1}));
    for (const SampledPeaks& peaks : runs) {
        const PeakSpread spread = spread_of(peaks);
        widen(found, static_cast<double>(spread.p5));
        widen(found, static_cast<double>(spread.p95));
    }
    return {};
}

TrialSetup ScaleSearch::setup() const {
    return {.policy = policy_, .profile = &profile_, .limit = Bytes{0}, .simulated = true};
}

bool ScaleSearch::has_unknown() const {
    return model_.laws.counts[static_cast<std::size_t>(LawKind::unknown)] > 0;
}

// The error grows with the distance: at most this many times as far as the step that was held back.
double ScaleSearch::error_at(const ScaleFactors& growth) const {
    constexpr double kMostTimes = 3;
    if (!model_.held_back)
        return 1;
    const auto way = [](const ScaleFactors& factors) {
        return std::log(factors.batch * factors.length);
    };
    return std::pow(error_,
                    std::clamp(way(growth) / way(model_.held_back->growth), 0.0, kMostTimes));
}

// For certain: with all possible sizes, and the error added; else with any of them.
Result<bool> ScaleSearch::survives(const GrowthQuestion& question, Card card, bool surely) {
    TM_ASSIGN(GrowthPlan plan, plan_growth(model_, question));
    const double error =
        error_at(question.growth) * (1 + (surely ? 1 : -1) * unconfirmed(model_.laws));
    const Bytes room = card.memory - std::min(card.memory, card.overhead);
    card.memory -= room;
    card.memory += static_cast<Bytes>(static_cast<double>(room) /
                                      (surely ? std::max(error, 1.0) : std::min(error, 1.0)));
    for (const double unknown : {1.0, surely ? kFast : kStay}) {
        plan.unknown = unknown;
        TM_ASSIGN(const TrialResult found, replay(grown(plan), card));
        if (found.survived() != surely)
            return !surely;
        if (!has_unknown())
            break;
    }
    return surely;
}

// The largest that survives, surely: where all smaller ones do as far as was tried; 0: none.
Result<double> ScaleSearch::largest(GrowthQuestion question, double ScaleFactors::*axis,
                                    const Card& card, bool surely) {
    const auto alive_at = [&](double factor) {
        question.growth.*axis = factor;
        return survives(question, card, surely);
    };
    double low = 0, high = 1;
    for (;;) {
        TM_ASSIGN(const bool alive, alive_at(high));
        if (!alive)
            break;
        low = high;
        if (high >= kLargestGrowth)
            return high;
        high *= 2;
    }
    if (low == 0)
        low = kFinest;
    while (high - low > kFinest * low) {
        const double middle = (low + high) / 2;
        TM_ASSIGN(const bool alive, alive_at(middle));
        (alive ? low : high) = middle;
    }
    if (low <= kFinest)
        return 0;
    // A little more may fit where a little less doesn't, because the pieces end up elsewhere.
    double found = low;
    for (int step = 1; step <= kNear; ++step) {
        const double near = low * (1 + (surely ? -step : step + 1) * kFinest);
        TM_ASSIGN(const bool alive, alive_at(near));
        if (alive != surely)
            found = near * (surely ? 1 - kFinest : 1);
    }
    return found;
}

}  // namespace tidemark
