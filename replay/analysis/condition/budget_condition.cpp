// Left to right: the name, the operator, the value in the name's unit.
#include "replay/analysis/condition/budget_condition.h"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>

#include "core/base/text.h"

namespace tidemark {
namespace {

struct Operator {
    std::string_view text;
    Comparator comparator;
};

// Longer ones first: ">=" begins with ">".
constexpr std::array<Operator, 6> kOperators{{{">=", Comparator::at_least},
                                              {"<=", Comparator::at_most},
                                              {"==", Comparator::equal},
                                              {"!=", Comparator::unequal},
                                              {">", Comparator::above},
                                              {"<", Comparator::below}}};

struct ShortName {
    std::string_view name;
    std::string_view figure;
};

constexpr std::array<ShortName, 5> kShortNames{
    {{"reserved", "peak_reserved_bytes"},
     {"allocated", "peak_allocated_bytes"},
     {"active", "peak_active_bytes"},
     {"requested", "peak_requested_bytes"},
     {"fragmentation", "external_fragmentation_at_peak"}}};

constexpr const char* kConditionHint = "write one such as 'peak_reserved > +2%' or 'retries > 0'";

// The value without its sign, in the unit of `figure`.
Result<double> parse_amount(std::string_view text, const Measurement& figure, std::string& note) {
    switch (figure.unit) {
        case Unit::bytes: {
            TM_ASSIGN(TypedSize size, parse_typed_size(text));
            note = std::move(size.note);
            return static_cast<double>(size.bytes);
        }
        case Unit::nanoseconds: {
            TM_ASSIGN(const Nanoseconds time, parse_duration(text));
            return static_cast<double>(time);
        }
        case Unit::count: {
            TM_ASSIGN(const std::uint64_t count, parse_count(text));
            return static_cast<double>(count);
        }
        case Unit::ratio:
            break;
    }
    return parse_real(text);
}

// The part behind the operator, into `condition`.
Result<void> read_value(std::string_view text, const Measurement& figure,
                        BudgetCondition& condition) {
    const bool is_signed = text.starts_with('+') || text.starts_with('-');
    const double sign = text.starts_with('-') ? -1 : 1;
    if (is_signed)
        text = trimmed(text.substr(1));
    condition.relation = is_signed ? Relation::by_amount : Relation::absolute;
    if (!text.ends_with('%')) {
        TM_ASSIGN(const double amount, parse_amount(text, figure, condition.note));
        condition.amount = sign * amount;
        return {};
    }
    if (!is_signed && figure.unit != Unit::ratio)
        return fail(ErrorCode::bad_option,
                    fmt::format("'{}' doesn't say what it is a share of", text), {},
                    fmt::format("'+{}' means that much above the baseline", text));
    TM_ASSIGN(const double percent, parse_real(trimmed(text.substr(0, text.size() - 1))));
    if (is_signed)
        condition.relation = Relation::by_share;
    condition.amount = sign * percent / 100;
    return {};
}

Error unknown_figure(std::string_view name, std::span<const Measurement> figures) {
    std::vector<std::string_view> names;
    for (const ShortName& each : kShortNames)
        names.push_back(each.name);
    for (const Measurement& each : figures) {
        names.push_back(each.name);
        for (const std::string_view ending : {"_bytes", "_ns"})
            if (each.name.ends_with(ending))
                names.push_back(each.name.substr(0, each.name.size() - ending.size()));
    }
    const std::string_view near = nearest(name, names);
    return {ErrorCode::bad_option,
            fmt::format("there is no figure '{}'", name),
            {},
            near.empty() ? "docs/metrics.md and `tidemark replay --json` list all figures"
                         : fmt::format("did you mean {}?", near)};
}

}  // namespace

const Measurement* find_figure(std::span<const Measurement> figures, std::string_view name) {
    const auto abbreviated = std::ranges::find(kShortNames, name, &ShortName::name);
    if (abbreviated != kShortNames.end())
        name = abbreviated->figure;
    for (const std::string_view ending : {"", "_bytes", "_ns"}) {
        const std::string full = fmt::format("{}{}", name, ending);
        const auto found = std::ranges::find(figures, full, &Measurement::name);
        if (found != figures.end())
            return &*found;
    }
    return nullptr;
}

std::string BudgetCondition::whole_text() const {
    const auto word = std::ranges::find(kOperators, comparator, &Operator::comparator);
    return fmt::format("{} {} {}", metric, word->text, value_text);
}

double BudgetCondition::bound(double before) const {
    switch (relation) {
        case Relation::absolute:
            return amount;
        case Relation::by_amount:
            return before + amount;
        case Relation::by_share:
            break;
    }
    return before + before * amount;
}

bool BudgetCondition::holds(double value, double before) const {
    const double limit = bound(before);
    switch (comparator) {
        case Comparator::above:
            return value > limit;
        case Comparator::at_least:
            return value >= limit;
        case Comparator::below:
            return value < limit;
        case Comparator::at_most:
            return value <= limit;
        case Comparator::equal:
            return value == limit;
        case Comparator::unequal:
            break;
    }
    return value != limit;
}

Result<BudgetCondition> parse_budget(std::string_view text, std::span<const Measurement> figures) {
    const std::string_view whole = trimmed(text);
    const std::size_t name_end =
        std::min(whole.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_"), whole.size());
    const std::string_view name = whole.substr(0, name_end);
    std::string_view rest = trimmed(whole.substr(name_end));
    const auto found = std::ranges::find_if(
        kOperators, [&rest](const Operator& each) { return rest.starts_with(each.text); });
    if (name.empty() || found == kOperators.end())
        return fail(ErrorCode::bad_option, fmt::format("'{}' is not a condition", whole), {},
                    kConditionHint);
    const Measurement* const figure = find_figure(figures, name);
    if (figure == nullptr)
        return tl::make_unexpected(unknown_figure(name, figures));
    BudgetCondition condition{.text = std::string(whole),
                              .metric = std::string(figure->name),
                              .comparator = found->comparator};
    rest = trimmed(rest.substr(found->text.size()));
    condition.value_text = rest;
    TM_TRY(read_value(rest, *figure, condition));
    return condition;
}

}  // namespace tidemark
