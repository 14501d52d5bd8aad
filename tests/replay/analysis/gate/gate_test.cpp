// Budgets against runs: what is broken, and what is told without being relative.
#include "replay/analysis/gate/gate.h"

#include <catch2/catch.hpp>

#include "tests/support/vector_trace.h"

namespace tidemark {
namespace {

using support::TraceBuilder;
using support::VectorTrace;

Run must_run(Scenario scenario = {}) {
    const VectorTrace trace =
        TraceBuilder().allocate(0, 2_MiB).allocate(1, 4_MiB).free(0).free(1).build();
    scenario.policy = scenario.policy.empty() ? "cuda-malloc" : scenario.policy;
    Result<Run> done = run(trace, scenario);
    REQUIRE(done);
    return std::move(*done);
}

// As if `run` had been printed and read.
Baseline baseline_of(const Run& run) {
    Baseline baseline{.name = "base.json",
                      .policy = run.scenario.policy,
                      .profile = run.scenario.profile,
                      .scale = run.scenario.scale,
                      .memory = run.scenario.memory,
                      .limit = run.limit};
    for (const Measurement& each : run.measurements)
        baseline.figures.emplace_back(each.name, each.value());
    return baseline;
}

std::vector<BudgetCondition> conditions(std::initializer_list<const char*> texts) {
    std::vector<BudgetCondition> parsed;
    for (const char* text : texts) {
        Result<BudgetCondition> condition = parse_budget(text, gate_figures());
        REQUIRE(condition);
        parsed.push_back(*condition);
    }
    return parsed;
}

TEST_CASE("a budget is broken where its condition holds", "[gate]") {
    const Run run = must_run();
    const auto report = gate(
        run, conditions({"peak_reserved > 6MiB", "peak_reserved >= 6MiB", "peak_reserved < 1MiB"}),
        nullptr);
    REQUIRE(report);
    REQUIRE(report->budgets.size() == 4);
    CHECK_FALSE(report->budgets[0].broken);
    CHECK(report->budgets[1].broken);
    CHECK_FALSE(report->budgets[2].broken);
    CHECK(report->budgets[3].implied);
    CHECK(report->broken() == 1);
    CHECK(report->budgets[0].figure.whole == 6_MiB);
}

TEST_CASE("a run is within every relative budget of itself", "[gate]") {
    const Run run = must_run();
    const Baseline baseline = baseline_of(run);
    std::vector<BudgetCondition> all;
    for (const Measurement& figure : gate_figures(run))
        if (figure.name != "hazard_count")
            all.push_back(*parse_budget(std::string(figure.name) + " > +0%", gate_figures()));
    const auto report = gate(run, all, &baseline);
    REQUIRE(report);
    CHECK(report->broken() == 0);
    CHECK(report->warnings.empty());
    CHECK(report->budgets.size() > 40);
}

TEST_CASE("a relative budget needs a baseline that has its figure", "[gate]") {
    const Run run = must_run();
    const auto relative = conditions({"peak_reserved > +2%"});
    CHECK(gate(run, relative, nullptr).error().code == ErrorCode::bad_option);
    Baseline baseline = baseline_of(run);
    std::erase_if(baseline.figures,
                  [](const auto& each) { return each.first == "peak_reserved_bytes"; });
    const auto report = gate(run, relative, &baseline);
    REQUIRE_FALSE(report);
    CHECK(report.error().code == ErrorCode::bad_input);
    CHECK(report.error().where == "base.json");
}

TEST_CASE("being served less than the baseline breaks a budget that nobody gave", "[gate]") {
    const Run whole = must_run();
    const Run less = must_run({.limit = 5_MiB});
    REQUIRE(less.measurement("out_of_memory").whole == 1);
    const Baseline before = baseline_of(whole);
    const Baseline as_poor = baseline_of(less);
    const auto kept = conditions({"peak_reserved > +0%"});
    CHECK(gate(less, kept, &before)->broken() == 1);
    CHECK(gate(less, kept, &as_poor)->broken() == 0);
    CHECK(gate(less, {}, nullptr)->broken() == 1);
    CHECK(gate(less, conditions({"out_of_memory > 1"}), nullptr)->broken() == 0);
}

TEST_CASE("a baseline of another machine or policy is used, and named", "[gate]") {
    const Run run = must_run();
    Baseline baseline = baseline_of(must_run({.policy = "bump", .memory = 1_GiB}));
    const auto report = gate(run, {}, &baseline);
    REQUIRE(report);
    REQUIRE(report->warnings.size() == 2);
    CHECK(report->warnings[0] == "the baseline has a different policy: bump, not cuda-malloc");
}

}  // namespace
}  // namespace tidemark
