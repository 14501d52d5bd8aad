// Parses comparisons, one after the other, and checks them against the figures of a replay.
#include "replay/analysis/condition/condition.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/base/check.h"
#include "core/base/text.h"

namespace tidemark {
namespace {

Result<BudgetCondition> parse_comparison(std::string_view text,
                                         std::span<const Measurement> figures) {
    const std::string_view whole = trimmed(text);
    if (whole.empty())
        return fail(ErrorCode::bad_option, "a figure is missing", {},
                    "write one such as 'reserved > 70GiB', 'out_of_memory' or 'reserved > 2GiB and "
                    "retries >= 3'");
    const bool alone = whole.find_first_of("<>=! ") == std::string_view::npos;
    TM_ASSIGN(BudgetCondition comparison,
              parse_budget(alone ? fmt::format("{} != 0", whole) : std::string(whole), figures));
    if (comparison.relative())
        return fail(ErrorCode::bad_option,
                    fmt::format("'{}' compares with an earlier run, and there is none", whole), {},
                    "write a value without a sign");
    return comparison;
}

}  // namespace

bool Condition::holds(std::span<const Measurement> measured) const {
    return std::ranges::all_of(all, [measured](const BudgetCondition& comparison) {
        const Measurement* const found = find_figure(measured, comparison.metric);
        TM_CHECK(found != nullptr);
        return comparison.holds(found->value(), 0);
    });
}

std::string Condition::text() const {
    std::string text;
    for (const BudgetCondition& comparison : all)
        text += (text.empty() ? "" : " and ") + comparison.whole_text();
    return text;
}

std::vector<Measurement> known_figures() {
    TraceInfo nothing;
    nothing.devices.emplace_back();
    std::vector<Measurement> figures;
    for (const MetricInfo& metric : all_metrics())
        for (const Measurement& figure : metric.make(nothing)->results({}))
            figures.push_back(figure);
    for (Measurement& figure : figures) {
        figure.whole = 0;
        figure.real = 0;
    }
    return figures;
}

Result<Condition> parse_condition(std::string_view text, const std::string& where) {
    constexpr std::string_view kAnd = " and ";
    const std::vector<Measurement> figures = known_figures();
    Condition condition;
    for (;;) {
        const std::size_t end = text.find(kAnd);
        TM_ASSIGN(BudgetCondition comparison,
                  parse_comparison(text.substr(0, end), figures).map_error([&where](Error error) {
                      error.where = where;
                      return error;
                  }));
        condition.all.push_back(std::move(comparison));
        if (end == std::string_view::npos)
            return condition;
        text.remove_prefix(end + kAnd.size());
    }
}

}  // namespace tidemark
