// A replay of each setting before and after, and a bisection where a card is given.
#include "replay/analysis/scale/scale.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <mutex>
#include <numeric>
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
constexpr std::size_t kReplays = 5, kReplaysOfCard = 30;

class ScaleSearch {
  public:
    ScaleSearch(const Trace& trace, const ScaleModel& model, const ScaleQuestion& question,
                const CostProfile& profile, std::function<void()> replayed)
        : trace_(trace),
          model_(model),
          question_(question),
          profile_(profile),
          replayed_(std::move(replayed)) {}

    Result<ScaleRow> run(const Candidate& candidate) {
        ScaleRow row{.policy = candidate.policy.text(), .recorded = candidate.recorded};
        TM_ASSIGN(row.before, peak(candidate.policy, {}));
        TM_ASSIGN(row.peak, range_of(candidate.policy, false));
        TM_ASSIGN(row.one_more, range_of(candidate.policy, true));
        if (question_.memory > 0) {
            TM_ASSIGN(row.fits_perhaps, largest(candidate.policy, UnknownSizes::as_recorded));
            TM_ASSIGN(row.fits_surely, largest(candidate.policy, UnknownSizes::growing));
            row.fits_surely = std::min(row.fits_surely, row.fits_perhaps);
        }
        return row;
    }

  private:
    Result<TrialResult> replay(const PolicySpec& policy, GrowthPlan plan, bool on_card) {
        if (question_.stop && question_.stop())
            return fail(ErrorCode::cancelled, "interrupted");
        const GrownTrace grown(trace_, model_.requests, model_.laws, &model_.steps,
                               std::move(plan));
        TrialSetup setup{.policy = policy, .profile = &profile_, .simulated = true};
        setup.limit = 0;
        if (on_card) {
            setup.memory = question_.memory;
            setup.overhead = question_.overhead.value_or(0);
            setup.stop_at_refusal = true;
        }
        Result<TrialResult> found = run_trial(grown, setup);
        replayed_();
        return found;
    }

    Result<Bytes> peak(const PolicySpec& policy, GrowthPlan plan) {
        TM_ASSIGN(const TrialResult found, replay(policy, std::move(plan), false));
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
        if (model_.laws.counts[static_cast<std::size_t>(LawKind::unknown)] > 0) {
            plan.unknown = UnknownSizes::as_recorded;
            TM_ASSIGN(const Bytes other, peak(policy, plan));
            found.least = std::min(found.least, other);
            found.most = std::max(found.most, other);
        }
        return found;
    }

    Result<bool> survives(const PolicySpec& policy, double factor, UnknownSizes unknown) {
        ScaleQuestion asked = question_;
        (asked.along == Axis::batch ? asked.growth.batch : asked.growth.length) = factor;
        TM_ASSIGN(GrowthPlan plan, plan_growth(model_, asked));
        plan.unknown = unknown;
        TM_ASSIGN(const TrialResult found, replay(policy, std::move(plan), true));
        return found.survived();
    }

    // The largest that survives, where all smaller ones do as far as was tried; 0: none.
    Result<double> largest(const PolicySpec& policy, UnknownSizes unknown) {
        double low = 0, high = 1;
        for (;;) {
            TM_ASSIGN(const bool alive, survives(policy, high, unknown));
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
            TM_ASSIGN(const bool alive, survives(policy, middle, unknown));
            (alive ? low : high) = middle;
        }
        return low > kFinest ? low : 0;
    }

    const Trace& trace_;
    const ScaleModel& model_;
    const ScaleQuestion& question_;
    const CostProfile& profile_;
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

// The recorded steps but the first again and again; where caches grow, the last one, growing.
std::vector<AddedStep> more_steps(const ScaleModel& model, const ScaleQuestion& question) {
    const std::size_t recorded = model.requests.steps.size();
    const double each = even_growth(model);
    std::vector<AddedStep> added;
    for (std::size_t i = recorded; i < question.steps; ++i) {
        AddedStep one{recorded - 1, question.growth};
        if (each > 0)
            one.growth.batch *= 1 + each * static_cast<double>(i - recorded + 1);
        else
            one.step = 1 + (i - recorded) % (recorded - 1);
        added.push_back(one);
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

Result<ScaleModel> find_scale(const Trace& trace, KeptSteps kept) {
    TM_ASSIGN(StepRequests requests, read_step_requests(trace));
    if (trace.info().begins_inside && requests.steps.size() == 2)
        return fail(ErrorCode::unsupported,
                    "it begins inside its first step, and only one whole step follows", "",
                    "record two steps more, or from the program's begin on");
    TM_ASSIGN(SizeLaws laws, find_size_laws(requests));
    std::vector<std::size_t> wanted{laws.reference};
    if (kept == KeptSteps::all) {
        wanted.resize(requests.steps.size() - 1);
        std::iota(wanted.begin(), wanted.end(), 1);
    }
    TM_ASSIGN(RecordedSteps steps, RecordedSteps::read(trace, requests, laws, wanted));
    return ScaleModel{std::move(requests), std::move(laws), std::move(steps)};
}

Result<GrowthPlan> plan_growth(const ScaleModel& model, const ScaleQuestion& question) {
    TM_TRY(check(model, question));
    if (question.one_more)
        return GrowthPlan{.added = {{model.laws.reference, question.growth}}};
    return GrowthPlan{
        .recorded = question.growth,
        .added = question.steps > 0 ? more_steps(model, question) : std::vector<AddedStep>{}};
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
