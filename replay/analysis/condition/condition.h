// Condition: a condition on the figures of a replay: "reserved > 70GiB", "out_of_memory", "reserved
// > 2GiB and retries >= 3".
//
//     condition   = comparison { "and" comparison }
//     comparison  = METRIC [ OPERATOR VALUE ]      as in budget_condition.h
//
// A METRIC alone means: it isn't 0. There is no earlier run here, so a value with a sign is an
// error. A figure is that of the whole replay: "reserved > 70GiB" holds if at any time more was
// reserved. Plain values; thread-safe.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "replay/analysis/condition/budget_condition.h"

namespace tidemark {

struct Condition {
    std::vector<BudgetCondition> all;  // at least one; all must hold

    // `measured` must have the figures: those of a Run do. O(figures).
    bool holds(std::span<const Measurement> measured) const;

    std::string text() const;
};

// Every figure of a replay, without its value. O(metrics).
std::vector<Measurement> known_figures();

// Errors (bad_option, `where` as given): an unknown figure, with the nearest known one; an invalid
// value or one of another unit; too many words.
Result<Condition> parse_condition(std::string_view text, const std::string& where);

}  // namespace tidemark
