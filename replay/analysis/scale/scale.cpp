// A row for each setting, all at once.
#include "replay/analysis/scale/scale.h"

#include <algorithm>
#include <array>
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
#include "replay/analysis/trace/offered_policies.h"
#include "replay/analysis/trace/program_steps.h"
#include "replay/analysis/trace/sites.h"
#include "replay/scenario/card_overhead.h"

namespace tidemark {
namespace {

constexpr std::size_t kReplays = 9, kReplaysOfCard = 50;

// What the program's user can set, and `extent`.
Result<std::vector<std::string>> policies_of(const Trace& trace, const ScaleQuestion& question) {
    if (!question.policies.empty())
        return question.policies;
    std::vector<std::string> usual{"torch:expandable_segments=true"};
    if (!trace.info().from_torch()) {
        TM_ASSIGN(usual, offered_policies(trace));
    }
    usual.emplace_back("extent");
    return usual;
}

// The sites of requests that fit no law; none if those are negligible.
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

std::string one_size_note(const SizeLaws& laws) {
    constexpr double kMatters = 0.005;
    const std::string guess =
        "allocations as large as a weight or a state are assumed to stay, and all others to grow "
        "with the batch";
    if (laws.reference_shape.batch == 0)
        return fmt::format(
            "all steps have the same size: {}; to measure it, record a step with another batch "
            "size, or record with shapes=True",
            guess);
    return "all steps have the same size: sizes grow by their operators' shapes" +
           (laws.guessed < kMatters
                ? std::string()
                : fmt::format("; for {:.1f} % of the bytes the shapes say nothing: {}",
                              100 * laws.guessed, guess));
}

// What grows from step to step of the recorded run.
Result<std::vector<StepGrowth>> growths_of(const Trace& trace, const StepRequests& requests,
                                           const PolicySpec& policy, const CostProfile& profile) {
    constexpr std::size_t kMostOfAKind = 3;
    ProgramSteps steps{requests.name, {}};
    for (const RequestsOfStep& step : requests.steps)
        steps.ends.push_back(step.last_event);
    StepWatcher watcher(trace.info(), std::move(steps));
    TrialSetup setup{.policy = policy, .profile = &profile, .simulated = true};
    setup.limit = 0;
    TM_ASSIGN(Machine machine, trial_machine(trace, setup));
    const std::array<Observer*, 1> observers{&watcher};
    TM_TRY(machine.replay(trace.info(), *trace.cursor(), observers, {}));
    return watcher.report(kMostOfAKind).growths;
}

// A growth along the axis must be one that the recording has.
Result<void> check_axis(const ScaleModel& model, const ScaleQuestion& question) {
    GrowthQuestion least = question.run;
    if (question.memory > 0)
        (question.along == Axis::batch ? least.growth.batch : least.growth.length) = 2;
    return plan_growth(model, least).map([](const GrowthPlan&) {});
}

Result<ScaleRow> row_of(const Trace& trace, const ScaleModel& model, const ScaleQuestion& question,
                        const Candidate& candidate, const CostProfile& profile,
                        const std::function<void()>& replayed) {
    ScaleSearch search(trace, model, candidate.policy, profile, question.stop, replayed);
    ScaleRow row{.policy = candidate.policy.text(), .recorded = candidate.recorded};
    TM_ASSIGN(row.before, search.before());
    TM_ASSIGN(row.held_back, search.hold_back());
    GrowthQuestion run = question.run;
    run.one_more = false;
    if (run.grows() || run.steps > 0) {
        TM_ASSIGN(row.peak, search.peak_of(run));
    } else {
        row.peak = {row.before, row.before, row.before};
    }
    if (run.grows()) {
        TM_ASSIGN(row.one_more, search.peak_of({.growth = run.growth, .one_more = true}));
    }
    if (question.memory > 0) {
        TM_ASSIGN(row.fits, search.largest(question.run, question.along, question.memory,
                                           question.overhead.value_or(0)));
    }
    return row;
}

}  // namespace

Result<ScaleReport> scale(const Trace& trace, const ScaleModel& model,
                          const ScaleQuestion& question) {
    TM_TRY(plan_growth(model, question.run));
    TM_TRY(check_axis(model, question));
    ScaleReport report{.question = question,
                       .rows = {},
                       .unknown = unknown_sites(trace.info(), model),
                       .growths = {},
                       .by_site = has_stacks(trace.info()),
                       .notes = {}};
    if (question.memory > 0 && !question.overhead)
        report.question.overhead = card_overhead(trace, question.memory);
    TM_ASSIGN(const CostProfile profile, load_profile(question.profile));
    TM_ASSIGN(const std::vector<std::string> policies, policies_of(trace, question));
    TM_ASSIGN(const std::vector<Candidate> chosen,
              beside_recorded(trace.info(), policies, report.notes));
    if (question.run.steps > 0 && !chosen.empty()) {
        TM_ASSIGN(report.growths,
                  growths_of(trace, model.requests, chosen.front().policy, profile));
    }
    if (model.laws.by_chance && (question.run.grows() || question.memory > 0))
        report.notes.emplace_back(
            "the steps have nearly the same size, and differ by chance: what they have in common "
            "grows as if their sizes were equal; to measure it, record a step with another batch "
            "size");
    if (!model.laws.has_sizes && (question.run.grows() || question.memory > 0))
        report.notes.push_back(one_size_note(model.laws));
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
        rows[i] = row_of(trace, model, report.question, chosen[i], profile, replayed);
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
