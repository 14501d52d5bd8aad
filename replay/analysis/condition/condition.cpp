// Reading a condition, and holding it against the figures of a replay.
#include "replay/analysis/condition/condition.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "core/base/check.h"
#include "core/base/text.h"

namespace tidemark {
namespace {

constexpr std::string_view kConditionHint =
    "like 'reserved > 70GiB', 'out_of_memory' or 'reserved > 2GiB and retries >= 3'; figures are "
    "those of docs/metrics.md";

constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kShortNames{{
    {"reserved", "peak_reserved_bytes"},
    {"allocated", "peak_allocated_bytes"},
    {"active", "peak_active_bytes"},
    {"requested", "peak_requested_bytes"},
    {"fragmentation", "external_fragmentation_at_peak"},
}};

// Longer ones first: ">=" begins with ">".
constexpr std::array<std::pair<std::string_view, FigureRelation>, 6> kRelations{{
    {">=", FigureRelation::at_least},
    {"<=", FigureRelation::at_most},
    {"==", FigureRelation::equal},
    {"!=", FigureRelation::unequal},
    {">", FigureRelation::more},
    {"<", FigureRelation::less},
}};

std::string_view word_for(FigureRelation relation) {
    return std::ranges::find(kRelations, relation, [](const auto& each) { return each.second; })
        ->first;
}

template <class T>
bool compare_figures(T left, FigureRelation relation, T right) {
    switch (relation) {
        case FigureRelation::more:
            return left > right;
        case FigureRelation::at_least:
            return left >= right;
        case FigureRelation::less:
            return left < right;
        case FigureRelation::at_most:
            return left <= right;
        case FigureRelation::equal:
            return !(left < right) && !(right < left);
        case FigureRelation::unequal:
            return left < right || right < left;
    }
    return false;
}

Result<Measurement> find_figure(std::string_view name) {
    const auto* const abbreviated =
        std::ranges::find(kShortNames, name, [](const auto& each) { return each.first; });
    const std::string_view whole = abbreviated == kShortNames.end() ? name : abbreviated->second;
    const std::vector<Measurement> known = known_figures();
    const auto found = std::ranges::find(known, whole, &Measurement::name);
    if (found != known.end())
        return *found;
    std::vector<std::string_view> names;
    for (const auto& each : kShortNames)
        names.push_back(each.first);
    for (const Measurement& each : known)
        names.push_back(each.name);
    const std::string_view near = nearest(name, names);
    return fail(
        ErrorCode::bad_option,
        name.empty() ? "a figure is missing" : fmt::format("no figure is called '{}'", name), {},
        near.empty() ? std::string(kConditionHint) : fmt::format("'{}'?", near));
}

Result<Measurement> read_value(Measurement figure, std::string_view text) {
    switch (figure.unit) {
        case Unit::bytes: {
            TM_ASSIGN(const TypedSize size, parse_typed_size(text));
            figure.whole = size.bytes;
            break;
        }
        case Unit::nanoseconds: {
            TM_ASSIGN(const Nanoseconds time, parse_duration(text));
            figure.whole = static_cast<std::uint64_t>(time);
            break;
        }
        case Unit::count: {
            TM_ASSIGN(figure.whole, parse_count(text));
            break;
        }
        case Unit::ratio: {
            const bool percent = text.ends_with('%');
            TM_ASSIGN(const double number,
                      parse_real(trimmed(text.substr(0, text.size() - (percent ? 1 : 0)))));
            figure.real = percent ? number / 100 : number;
            break;
        }
    }
    return figure;
}

Result<FigureCondition> parse_comparison(std::string_view text) {
    const std::size_t begin = text.find_first_of("<>=!");
    FigureCondition comparison;
    TM_ASSIGN(comparison.value, find_figure(trimmed(text.substr(0, begin))));
    comparison.figure = comparison.value.name;
    if (begin == std::string_view::npos) {
        comparison.relation = FigureRelation::unequal;
        comparison.value_text = "0";
        return comparison;
    }
    const std::string_view rest = text.substr(begin);
    const auto* const relation = std::ranges::find_if(
        kRelations, [rest](const auto& each) { return rest.starts_with(each.first); });
    if (relation == kRelations.end())
        return fail(ErrorCode::bad_option, fmt::format("'{}' begins with no relation", rest), {},
                    "one of > >= < <= == !=");
    comparison.relation = relation->second;
    const std::string_view value = trimmed(rest.substr(relation->first.size()));
    TM_ASSIGN(comparison.value, read_value(comparison.value, value));
    comparison.value_text = value;
    return comparison;
}

}  // namespace

bool FigureCondition::holds(const Measurement& measured) const {
    return value.unit == Unit::ratio ? compare_figures(measured.real, relation, value.real)
                                     : compare_figures(measured.whole, relation, value.whole);
}

std::string FigureCondition::text() const {
    return fmt::format("{} {} {}", figure, word_for(relation), value_text);
}

bool Condition::holds(std::span<const Measurement> measured) const {
    return std::ranges::all_of(all, [measured](const FigureCondition& comparison) {
        const auto found = std::ranges::find(measured, comparison.figure, &Measurement::name);
        TM_CHECK(found != measured.end());
        return comparison.holds(*found);
    });
}

std::string Condition::text() const {
    std::string text;
    for (const FigureCondition& comparison : all)
        text += (text.empty() ? "" : " and ") + comparison.text();
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
    Condition condition;
    for (;;) {
        const std::size_t end = text.find(kAnd);
        TM_ASSIGN(FigureCondition comparison,
                  parse_comparison(text.substr(0, end)).map_error([&where](Error error) {
                      error.where = where;
                      if (error.hint.empty())
                          error.hint = kConditionHint;
                      return error;
                  }));
        condition.all.push_back(std::move(comparison));
        if (end == std::string_view::npos)
            return condition;
        text.remove_prefix(end + kAnd.size());
    }
}

}  // namespace tidemark
