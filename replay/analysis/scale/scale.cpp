// A replay of each setting before and after, and a bisection where a card is given.
#include "replay/analysis/scale/scale.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <mutex>
#include <numeric>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "backends/sim/costs.h"
#include "core/base/text.h"
#include "core/base/threads.h"
#include "replay/analysis/trace/candidates.h"
#include "replay/analysis/trace/program_steps.h"
#include "replay/analysis/trace/sites.h"
#include "replay/scenario/card_overhead.h"
#include "replay/scenario/trial.h"

namespace tidemark {
namespace {

constexpr double kFinest = 1.0 / 64;  // of a growth that is searched, relative
constexpr std::size_t kReplays = 17, kReplaysOfCard = 120;

// What sizes without a law may be, the likely answer first.
std::vector<UnknownSizes> variants_of(const ScaleModel& model, std::uint64_t events) {
    constexpr std::uint64_t kFewEvents = 100'000, kManyEvents = 1'000'000;
    const std::array<std::uint64_t, 5>& counts = model.laws.counts;
    std::vector<UnknownSizes> variants{kUnknownGrow};
    const bool unknown = counts[static_cast<std::size_t>(LawKind::unknown)] > 0;
    if (unknown)
        variants.insert(variants.end(), {kUnknownStay, {2, 0}, {-2, 0}});
    if (unknown || counts[static_cast<std::size_t>(LawKind::rounded)] > 0) {
        const std::uint64_t drawn = events > kManyEvents ? 0 : events > kFewEvents ? 2 : 6;
        for (std::uint64_t seed = 1; seed <= drawn; ++seed)
            variants.push_back({.seed = seed});
    }
    return variants;
}

class ScaleSearch {
  public:
    ScaleSearch(const Trace& trace, const ScaleModel& model, const ScaleQuestion& question,
                const CostProfile& profile, std::function<void()> replayed)
        : trace_(trace),
          model_(model),
          question_(question),
          profile_(profile),
          variants_(variants_of(model, trace.info().event_count)),
          replayed_(std::move(replayed)) {}

    Result<ScaleRow> run(const Candidate& candidate) {
        ScaleRow row{.policy = candidate.policy.text(), .recorded = candidate.recorded};
        TM_ASSIGN(row.before, peak(candidate.policy, {}));
        TM_TRY(hold_back(candidate.policy, row));
        TM_ASSIGN(row.peak, range_of(candidate.policy, false));
        TM_ASSIGN(row.one_more, range_of(candidate.policy, true));
        if (question_.memory > 0) {
            TM_ASSIGN(row.fits_perhaps, largest(candidate.policy, true));
            TM_ASSIGN(row.fits_surely, largest(candidate.policy, false));
            row.fits_surely = std::min(row.fits_surely, row.fits_perhaps);
        }
        return row;
    }

  private:
    // The error of the step that was held back, for growths that are asked.
    Result<void> hold_back(const PolicySpec& policy, ScaleRow& row) {
        if (!model_.held_back)
            return {};
        const HeldBack& step = *model_.held_back;
        const auto peak_of = [&](GrowthPlan plan) {
            return peak_in(policy, GrownTrace(trace_, model_.requests, step.laws, &step.steps,
                                              std::move(plan)));
        };
        TM_ASSIGN(row.held_back_told, peak_of(step.told()));
        TM_ASSIGN(row.held_back, peak_of(step.recorded()));
        error_ = static_cast<double>(row.held_back) / static_cast<double>(row.held_back_told);
        return {};
    }

    // The error grows with the way: at most so many times as far as the step that was held back.
    double error_at(const ScaleFactors& growth) const {
        constexpr double kMostTimes = 3;
        if (!model_.held_back)
            return 1;
        const auto way = [](const ScaleFactors& factors) {
            return std::log(factors.batch * factors.length);
        };
        return std::pow(error_, std::clamp(way(growth) / way(model_.held_back->growth), 0.0,
                                           kMostTimes));
    }

    Result<TrialResult> replay(const PolicySpec& policy, const GrownTrace& grown, Bytes memory) {
        if (question_.stop && question_.stop())
            return fail(ErrorCode::cancelled, "interrupted");
        TrialSetup setup{.policy = policy, .profile = &profile_, .simulated = true};
        setup.limit = 0;
        if (memory > 0) {
            setup.memory = memory;
            setup.overhead = question_.overhead.value_or(0);
            setup.stop_at_refusal = true;
        }
        Result<TrialResult> found = run_trial(grown, setup);
        replayed_();
        return found;
    }

    GrownTrace grown(GrowthPlan plan) const {
        return GrownTrace(trace_, model_.requests, model_.laws, &model_.steps, std::move(plan));
    }

    Result<Bytes> peak(const PolicySpec& policy, GrowthPlan plan) {
        return peak_in(policy, grown(std::move(plan)));
    }

    Result<Bytes> peak_in(const PolicySpec& policy, const GrownTrace& grown) {
        TM_ASSIGN(const TrialResult found, replay(policy, grown, 0));
        return found.device_peaks.empty() ? found.peak.reserved
                                          : *std::ranges::max_element(found.device_peaks);
    }

    Result<ScaledPeak> range_of(const PolicySpec& policy, bool one_more) {
        ScaleQuestion asked = question_;
        asked.one_more = one_more;
        TM_ASSIGN(GrowthPlan plan, plan_growth(model_, asked));
        ScaledPeak found;
        TM_ASSIGN(found.likely, peak(policy, plan));
        found.least = found.most = found.likely;
        for (const UnknownSizes& unknown : std::span(variants_).subspan(1)) {
            plan.unknown = unknown;
            TM_ASSIGN(const Bytes other, peak(policy, plan));
            found.least = std::min(found.least, other);
            found.most = std::max(found.most, other);
        }
        const auto corrected = static_cast<Bytes>(static_cast<double>(found.likely) *
                                                  error_at(question_.growth));
        found.least = std::min(found.least, corrected);
        found.most = std::max(found.most, corrected);
        return found;
    }

    // With one of the variants, or with all of them.
    Result<bool> survives(const PolicySpec& policy, double factor, bool with_one) {
        ScaleQuestion asked = question_;
        (asked.along == Axis::batch ? asked.growth.batch : asked.growth.length) = factor;
        TM_ASSIGN(GrowthPlan plan, plan_growth(model_, asked));
        const double error = error_at(asked.growth);
        const Bytes overhead = std::min(question_.memory, question_.overhead.value_or(0));
        const Bytes memory =
            overhead + static_cast<Bytes>(static_cast<double>(question_.memory - overhead) /
                                          (with_one ? std::min(error, 1.0) : std::max(error, 1.0)));
        for (const UnknownSizes& unknown : variants_) {
            plan.unknown = unknown;
            TM_ASSIGN(const TrialResult found, replay(policy, grown(plan), memory));
            if (found.survived() == with_one)
                return with_one;
        }
        return !with_one;
    }

    // The largest that survives, where all smaller ones do as far as was tried; 0: none.
    Result<double> largest(const PolicySpec& policy, bool with_one) {
        double low = 0, high = 1;
        for (;;) {
            TM_ASSIGN(const bool alive, survives(policy, high, with_one));
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
            TM_ASSIGN(const bool alive, survives(policy, middle, with_one));
            (alive ? low : high) = middle;
        }
        return low > kFinest ? low : 0;
    }

    const Trace& trace_;
    const ScaleModel& model_;
    const ScaleQuestion& question_;
    const CostProfile& profile_;
    std::vector<UnknownSizes> variants_;
    double error_ = 1;  // of the step that was held back: as recorded, to what was told
    std::function<void()> replayed_;
};

Result<void> check(const ScaleModel& model, const ScaleQuestion& question) {
    const ScaleFactors& growth = question.growth;
    for (const double factor : {growth.batch, growth.length})
        if (!(factor > 0 && factor <= kLargestGrowth))
            return fail(ErrorCode::bad_option,
                        fmt::format("{:g} is not above 0 and at most {:g}", factor, kLargestGrowth),
                        "a growth");
    const bool grows = growth.batch != 1 || growth.length != 1 || question.memory > 0;
    if (grows && !model.laws.has_sizes)
        return fail(ErrorCode::unsupported, "all steps are of one size", "",
                    "record steps of another batch or length as well: `with "
                    "tidemark.torch.record(\"run.tml\"):` around both");
    const bool by_length =
        growth.length != 1 || (question.memory > 0 && question.along == Axis::length);
    if (by_length && !model.laws.has_length)
        return fail(ErrorCode::bad_option, "the recording does not tell length from batch",
                    "--length",
                    "its steps differ in one way: grow that with --tokens, or record steps that "
                    "differ in both");
    const std::size_t recorded = model.requests.steps.size();
    if (question.steps > 0 && (question.steps < recorded || question.steps > kMostRunSteps))
        return fail(ErrorCode::bad_option,
                    fmt::format("{} is not from the {} steps recorded to {}", question.steps,
                                recorded, kMostRunSteps),
                    "--steps");
    return {};
}

// By how much of the last step's size each further step grows, if caches make all of them grow
// evenly; 0: they don't.
double even_growth(const ScaleModel& model) {
    constexpr std::size_t kFewSteps = 4;
    constexpr double kCaches = 0.5;  // of what grows and outlives its step
    const std::size_t count = model.requests.steps.size();
    const std::vector<StepAxes>& axes = model.laws.steps;
    if (!model.laws.has_sizes || model.laws.has_length || count < kFewSteps + 1)
        return 0;
    const double each = axes[count - 1].batch - axes[count - 2].batch;
    for (std::size_t i = count - kFewSteps; i < count; ++i)
        if (std::abs(axes[i].batch - axes[i - 1].batch - each) > 1e-6 * axes[i].batch)
            return 0;
    return each > 0 && model.steps.outliving(count - 1) > kCaches ? each / axes[count - 1].batch
                                                                  : 0;
}

// The recorded step whose order of requests is that of `step` grown: the one of the nearest size.
AddedStep nearest_step(const SizeLaws& laws, std::size_t step, const ScaleFactors& growth) {
    const StepAxes& own = laws.steps[step];
    if (!own.alike || (growth.batch == 1 && growth.length == 1))
        return {step, growth};
    const double batch = own.batch * growth.batch, length = own.length * growth.length;
    const auto distance = [&](std::size_t i) {
        const StepAxes& other = laws.steps[i];
        return std::abs(std::log(batch / other.batch)) + std::abs(std::log(length / other.length));
    };
    std::size_t best = step;
    for (std::size_t i = 1; i + 1 < laws.steps.size(); ++i)
        if (laws.steps[i].alike && distance(i) < distance(best) - 1e-9)
            best = i;
    return {best, {batch / laws.steps[best].batch, length / laws.steps[best].length}};
}

// All steps but the first, and what comes after the last; or as many as asked, the recorded steps
// again and again; where caches grow, the last one, growing.
std::vector<AddedStep> grown_steps(const ScaleModel& model, const ScaleQuestion& question) {
    const std::size_t recorded = model.requests.steps.size();
    std::vector<AddedStep> added;
    for (std::size_t i = 1; i < recorded; ++i)
        added.push_back(nearest_step(model.laws, i, question.growth));
    if (question.steps == 0) {
        added.push_back({recorded, question.growth});
        return added;
    }
    const double each = even_growth(model);
    for (std::size_t i = recorded; i < question.steps; ++i) {
        ScaleFactors growth = question.growth;
        growth.batch *= 1 + each * static_cast<double>(i - recorded + 1);
        added.push_back(each > 0
                            ? AddedStep{recorded - 1, growth}
                            : nearest_step(model.laws, 1 + (i - recorded) % (recorded - 1), growth));
    }
    return added;
}

std::vector<std::string> policies_of(const Trace& trace, const ScaleQuestion& question) {
    if (!question.policies.empty() || !trace.info().from_torch())
        return question.policies;
    return {"torch:expandable_segments=true", "extent"};
}

// The sites of what fits no law; none if all of that is next to nothing.
std::vector<UnknownSite> unknown_sites(const TraceInfo& info, const ScaleModel& model) {
    constexpr std::size_t kMostSites = 5;
    constexpr double kMatters = 0.005;  // of the bytes of all steps
    const SizeLaws& laws = model.laws;
    const Bytes all = std::accumulate(laws.bytes.begin(), laws.bytes.end(), Bytes{0});
    const Bytes unknown = laws.bytes[static_cast<std::size_t>(LawKind::unknown)];
    if (static_cast<double>(unknown) < kMatters * static_cast<double>(all))
        return {};
    Sites names(info);
    std::map<std::string, UnknownSite> sites;
    for (std::size_t i = 0; i < model.requests.steps.back().end; ++i) {
        if (laws.laws[laws.of_request[i]].kind != LawKind::unknown)
            continue;
        const std::string& name = names.site(model.requests.requests[i].stack);
        UnknownSite& site = sites[name];
        site.site = name;
        ++site.requests;
        site.bytes += model.requests.requests[i].size;
    }
    std::vector<UnknownSite> largest;
    for (auto& [name, site] : sites)
        largest.push_back(std::move(site));
    std::ranges::stable_sort(largest, std::greater{}, &UnknownSite::bytes);
    largest.resize(std::min(largest.size(), kMostSites));
    return largest;
}

// What grows from step to step of the recorded run.
Result<std::vector<StepGrowth>> growths_of(const Trace& trace, const PolicySpec& policy,
                                           const CostProfile& profile) {
    constexpr std::size_t kMostOfAKind = 3;
    TM_ASSIGN(ProgramSteps steps, find_steps(trace, 2));
    StepWatcher watcher(trace.info(), std::move(steps));
    TrialSetup setup{.policy = policy, .profile = &profile, .simulated = true};
    setup.limit = 0;
    TM_ASSIGN(Machine machine, trial_machine(trace, setup));
    const std::array<Observer*, 1> observers{&watcher};
    TM_TRY(machine.replay(trace.info(), *trace.cursor(), observers, {}));
    return watcher.report(kMostOfAKind).growths;
}

}  // namespace

Result<ScaleModel> find_scale(const Trace& trace) {
    TM_ASSIGN(StepRequests requests, read_step_requests(trace));
    const std::size_t recorded = requests.steps.size();
    if (trace.info().begins_inside && recorded == 2)
        return fail(ErrorCode::unsupported,
                    "it begins inside its first step, and only one whole step follows", "",
                    "record two steps more, or from the program's begin on");
    TM_ASSIGN(SizeLaws laws, find_size_laws(requests));
    std::vector<std::size_t> wanted(recorded);
    std::iota(wanted.begin(), wanted.end(), 1);
    TM_ASSIGN(RecordedSteps steps,
              RecordedSteps::read(trace, requests, laws, wanted,
                                  std::array<std::size_t, 2>{1, recorded}));
    TM_ASSIGN(std::optional<HeldBack> held_back, hold_back(trace, requests, laws));
    return ScaleModel{std::move(requests), std::move(laws), std::move(steps),
                      std::move(held_back)};
}

Result<GrowthPlan> plan_growth(const ScaleModel& model, const ScaleQuestion& question) {
    TM_TRY(check(model, question));
    if (question.one_more)
        return GrowthPlan{.before = model.requests.steps.size(),
                          .added = {{model.laws.reference, question.growth}}};
    return GrowthPlan{.recorded = question.growth,
                      .before = 1,
                      .added = grown_steps(model, question)};
}

Result<ScaleReport> scale(const Trace& trace, const ScaleModel& model,
                          const ScaleQuestion& question) {
    TM_TRY(check(model, question));
    ScaleReport report{.question = question,
                       .rows = {},
                       .unknown = unknown_sites(trace.info(), model),
                       .growths = {},
                       .by_site = has_stacks(trace.info()),
                       .notes = {}};
    if (question.memory > 0 && !question.overhead)
        report.question.overhead = card_overhead(trace, question.memory);
    TM_ASSIGN(const CostProfile profile, load_profile(question.profile));
    TM_ASSIGN(const std::vector<Candidate> chosen,
              beside_recorded(trace.info(), policies_of(trace, question), report.notes));
    if (question.steps > 0 && !chosen.empty()) {
        TM_ASSIGN(report.growths, growths_of(trace, chosen.front().policy, profile));
    }
    std::mutex guard;
    std::size_t done = 0;
    const std::size_t total = chosen.size() * (question.memory > 0 ? kReplaysOfCard : kReplays);
    const auto replayed = [&] {
        const std::scoped_lock lock(guard);
        if (question.progress)
            question.progress(std::min(++done, total), total);
    };
    std::vector<std::optional<Result<ScaleRow>>> rows(chosen.size());
    parallel_for(chosen.size(), question.threads, [&](std::size_t i, unsigned) {
        rows[i] = ScaleSearch(trace, model, report.question, profile, replayed).run(chosen[i]);
        return rows[i]->has_value();
    });
    for (auto& row : rows) {
        if (!row)
            continue;
        TM_ASSIGN(ScaleRow found, std::move(*row));
        report.rows.push_back(std::move(found));
    }
    report.question.progress = {};
    report.question.stop = {};
    return report;
}

}  // namespace tidemark
