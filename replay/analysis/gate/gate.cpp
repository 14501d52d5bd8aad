// The requested budgets, then the implied ones.
#include "replay/analysis/gate/gate.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/text.h"
#include "replay/metrics/devices.h"

namespace tidemark {
namespace {

Measurement hazards_of(std::uint64_t count) {
    return metrics::count("hazard_count", "what --check found", count);
}

// Why figures of two runs may differ without any change in the program.
std::vector<std::string> unlike(const Run& run, const Baseline& baseline) {
    std::vector<std::string> found;
    const auto compare = [&found](std::string_view what, std::string_view now,
                                  std::string_view before) {
        if (now != before)
            found.push_back(fmt::format("the baseline has a different {}: {}, not {}", what,
                                        before.empty() ? "none" : before,
                                        now.empty() ? "none" : now));
    };
    const auto size = [](Bytes bytes) { return bytes == 0 ? "none" : format_bytes(bytes); };
    compare("policy", run.scenario.policy, baseline.policy);
    compare("profile", run.scenario.profile, baseline.profile);
    compare("scale", fmt::format("{}", run.scenario.scale), fmt::format("{}", baseline.scale));
    if (!run.device_memory)
        compare("memory", size(run.scenario.memory), size(baseline.memory));
    compare("limit", size(run.limit), size(baseline.limit));
    return found;
}

Result<Budget> hold(const BudgetCondition& condition, std::span<const Measurement> figures,
                    const Baseline* baseline) {
    Budget budget{.condition = condition};
    budget.figure = *find_figure(figures, condition.metric);
    if (baseline != nullptr)
        budget.before = baseline->figure(condition.metric);
    if (condition.relative() && !budget.before) {
        if (baseline == nullptr)
            return fail(ErrorCode::bad_option,
                        fmt::format("'{}' needs a baseline to compare with", condition.text),
                        "--fail-if", "pass --baseline, or a value without a sign");
        return fail(ErrorCode::bad_input, fmt::format("has no figure {}", condition.metric),
                    baseline->name, "rewrite it with `tidemark gate --write-baseline`");
    }
    budget.bound = condition.bound(budget.before.value_or(0));
    budget.broken = condition.holds(budget.figure.value(), budget.before.value_or(0));
    return budget;
}

// Failures that invalidate all other figures: a run whose requests fail needs less.
std::vector<BudgetCondition> implied_conditions(const Run& run, const Baseline* baseline) {
    const bool before = baseline != nullptr && baseline->figure("out_of_memory").has_value();
    std::vector<BudgetCondition> conditions{
        {.text = before ? "out_of_memory > +0" : "out_of_memory > 0",
         .metric = "out_of_memory",
         .relation = before ? Relation::by_amount : Relation::absolute}};
    if (run.scenario.check)
        conditions.push_back({.text = "hazard_count > 0", .metric = "hazard_count"});
    return conditions;
}

}  // namespace

std::optional<double> Baseline::figure(std::string_view metric) const {
    for (const auto& [key, value] : figures)
        if (key == metric)
            return value;
    return std::nullopt;
}

std::size_t GateReport::broken() const {
    return static_cast<std::size_t>(std::ranges::count(budgets, true, &Budget::broken));
}

std::vector<Measurement> gate_figures(const Run& run) {
    std::vector<Measurement> figures;
    for (const Measurement& each : run.measurements)
        if (!is_of_device(each))
            figures.push_back(each);
    figures.push_back(hazards_of(run.hazard_count));
    return figures;
}

std::vector<Measurement> gate_figures() {
    Run run;
    for (const MetricInfo& metric : all_metrics()) {
        const std::unique_ptr<Metric> made = metric.make(TraceInfo{});
        made->on_end(0);
        const std::vector<Measurement> figures = made->results({});
        run.measurements.insert(run.measurements.end(), figures.begin(), figures.end());
    }
    return gate_figures(run);
}

Result<GateReport> gate(const Run& run, std::span<const BudgetCondition> conditions,
                        const Baseline* baseline) {
    const std::vector<Measurement> figures = gate_figures(run);
    GateReport report;
    for (const BudgetCondition& condition : conditions) {
        TM_ASSIGN(Budget budget, hold(condition, figures, baseline));
        report.budgets.push_back(std::move(budget));
    }
    for (const BudgetCondition& condition : implied_conditions(run, baseline)) {
        if (std::ranges::count(conditions, condition.metric, &BudgetCondition::metric) > 0)
            continue;
        TM_ASSIGN(Budget budget, hold(condition, figures, baseline));
        budget.implied = true;
        report.budgets.push_back(std::move(budget));
    }
    if (baseline != nullptr)
        report.warnings = unlike(run, *baseline);
    return report;
}

}  // namespace tidemark
