// gate: budgets for a run's figures, for continuous integration. Each budget is a condition that
// must not hold (replay/analysis/condition/budget_condition.h), by itself or compared with an
// earlier run.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "replay/analysis/condition/budget_condition.h"
#include "replay/scenario/scenario.h"

namespace tidemark {

// An earlier run, as `tidemark replay --json` printed it.
struct Baseline {
    std::string name = {};                                     // the file's
    std::vector<std::pair<std::string, double>> figures = {};  // the numbers of the object, by key
    std::string policy = {};                                   // with its options
    std::string profile = {};
    double scale = 1;
    Bytes memory = 0;
    Bytes limit = 0;
    std::string version = {};  // of the program that made it

    // The figure of that name; none if the run had it not.
    std::optional<double> figure(std::string_view metric) const;
};

struct Budget {
    BudgetCondition condition = {};
    bool implied = false;               // not requested, but a run that breaks it isn't valid
    Measurement figure = {};            // of this run
    std::optional<double> before = {};  // the baseline's
    double bound = 0;                   // what `figure` was compared with
    bool broken = false;
};

struct GateReport {
    std::vector<Budget> budgets;        // in the order given, implied ones behind
    std::vector<std::string> warnings;  // sentences: why the baseline may not be comparable

    std::size_t broken() const;
};

// The figures that budgets may be of: all metrics of the run, and `hazard_count`.
std::vector<Measurement> gate_figures(const Run& run);

// The same before there is a run: names and units, without values.
std::vector<Measurement> gate_figures();

// Checks `run` against the budgets. In addition, a request that runs out of memory where the
// baseline's succeeded breaks `out_of_memory`, and a hazard (--check) breaks `hazard_count`, unless
// a condition about that figure is given. Errors: bad_option where a relative condition has no
// baseline; bad_input where the baseline hasn't its figure. O(conditions * figures).
Result<GateReport> gate(const Run& run, std::span<const BudgetCondition> conditions,
                        const Baseline* baseline);

}  // namespace tidemark
