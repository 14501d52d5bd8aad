// BudgetCondition: a question about one figure of a run as people type it: "peak_reserved > 70GiB",
// "retries > 0", and against an earlier run "peak_reserved > +2%", "driver > +50ms".
//
//     METRIC OPERATOR VALUE
//
// METRIC is a key of `tidemark replay --json` (docs/metrics.md), of which _bytes or _ns at its end
// may be left out; or reserved, allocated, active, requested (the peaks of those), or fragmentation
// (external, at the peak). OPERATOR is one of > >= < <= == !=. VALUE is in the metric's unit: a
// size (1.5GiB), a time (300ms), a count, a ratio (1.05, or 5% for 0.05); with a sign in front it
// is relative to the earlier run's figure, and then may be a share of that (+2%).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "replay/metrics/metric.h"

namespace tidemark {

enum class Comparator : std::uint8_t { above, at_least, below, at_most, equal, unequal };

// What a condition's value is relative to.
enum class Relation : std::uint8_t { absolute, by_amount, by_share };

struct BudgetCondition {
    std::string text = {};        // as typed
    std::string value_text = {};  // the value, as typed
    std::string metric = {};
    Comparator comparator = Comparator::above;
    Relation relation = Relation::absolute;
    double amount = 0;      // in the metric's unit; by_share: 0.02 for +2%
    std::string note = {};  // "80G taken as 80 GiB"; "" if there is nothing to say

    bool relative() const { return relation != Relation::absolute; }

    // "peak_reserved_bytes > 70GiB"
    std::string whole_text() const;

    // What a figure is compared with. `before` is only used if it is relative().
    double bound(double before) const;

    // Whether it is true of `value`.
    bool holds(double value, double before) const;
};

// `figures` are those that it may be about. O(figures). Errors (bad_option): no such figure, with
// the nearest name; no operator; a value that isn't one of the figure's unit.
Result<BudgetCondition> parse_budget(std::string_view text, std::span<const Measurement> figures);

// The figure of that name, "peak_reserved_bytes", "peak_reserved" or "reserved"; null if there is
// none.
const Measurement* find_figure(std::span<const Measurement> figures, std::string_view name);

}  // namespace tidemark
