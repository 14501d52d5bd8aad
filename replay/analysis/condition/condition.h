// Condition: what is asked of the figures of a replay: "reserved > 70GiB", "out_of_memory",
// "reserved > 2GiB and retries >= 3".
//
//     condition   = comparison { "and" comparison }
//     comparison  = figure [ relation value ]        without a relation: it is not 0
//     figure      = a name of docs/metrics.md, or reserved, allocated, active, requested (the peaks
//                   of those) or fragmentation (external, at the peak)
//     relation    = > >= < <= == !=
//     value       = in the figure's unit: 70GiB, 300ms, 12, 0.25, 25%
//
// A figure is that of the whole replay: "reserved > 70GiB" holds if ever so much was reserved.
// Plain values; thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "replay/metrics/metric.h"

namespace tidemark {

enum class FigureRelation : std::uint8_t { more, at_least, less, at_most, equal, unequal };

// A figure against a value of its unit.
struct FigureCondition {
    std::string figure;  // Measurement::name
    FigureRelation relation = FigureRelation::more;
    Measurement value = {};  // its unit, and `whole` or `real`
    std::string value_text;  // as it was typed

    bool holds(const Measurement& measured) const;

    // "peak_reserved_bytes > 70GiB"
    std::string text() const;
};

struct Condition {
    std::vector<FigureCondition> all;  // at least one; all must hold

    // `measured` must have the figures: those of a Run do. O(figures).
    bool holds(std::span<const Measurement> measured) const;

    std::string text() const;
};

// Every figure of a replay, without its value. O(metrics).
std::vector<Measurement> known_figures();

// Errors (bad_option, `where` as given): a figure that is unknown, with the nearest that is known;
// a value that is none or of another unit; words too many.
Result<Condition> parse_condition(std::string_view text, const std::string& where);

}  // namespace tidemark
