// Steps by their sizes.
#include "replay/analysis/scale/growth_plan.h"

#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "core/base/text.h"

namespace tidemark {
namespace {

constexpr std::uint64_t kMostEventsOfRun = 200'000'000;  // a minute of replay, each

Result<void> check(const ScaleModel& model, const GrowthQuestion& question) {
    for (const double factor : {question.growth.batch, question.growth.length})
        if (!(factor > 0 && factor <= kLargestGrowth))
            return fail(ErrorCode::bad_option,
                        fmt::format("{:g} is not above 0 and at most {:g}", factor, kLargestGrowth),
                        "a growth");
    if (question.growth.length != 1 && !model.laws.has_length)
        return fail(ErrorCode::bad_option,
                    "the recording's steps do not tell sequence length from batch size", "--length",
                    "its steps differ in one way only: grow that with --tokens, or record steps "
                    "that differ in both");
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

// All steps but the first, and what comes after the last; or as many as requested, repeating the
// recorded steps; if caches grow, repeating the last one, growing.
std::vector<AddedStep> grown_steps(const ScaleModel& model, const GrowthQuestion& question) {
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
        added.push_back(
            each > 0 ? AddedStep{recorded - 1, growth}
                     : nearest_step(model.laws, 1 + (i - recorded) % (recorded - 1), growth));
    }
    return added;
}

}  // namespace

Result<GrowthPlan> plan_growth(const ScaleModel& model, const GrowthQuestion& question) {
    TM_TRY(check(model, question));
    if (question.one_more)
        return GrowthPlan{.before = model.requests.steps.size(),
                          .added = {{model.laws.reference, question.growth}}};
    GrowthPlan plan{
        .recorded = question.growth, .before = 1, .added = grown_steps(model, question)};
    std::uint64_t events = 0;
    for (const AddedStep& added : plan.added)
        events += model.steps.events_in(added.step);
    if (question.steps > 0 && events > kMostEventsOfRun)
        return fail(
            ErrorCode::bad_option,
            fmt::format("{} steps have {} events, more than {}", format_count(question.steps),
                        format_count(events), format_count(kMostEventsOfRun)),
            "--steps", "fewer steps already show what grows from step to step");
    return plan;
}

}  // namespace tidemark
