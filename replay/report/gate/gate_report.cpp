// One sentence about a budget, in four formats.
#include "replay/report/gate/gate_report.h"

#include <cmath>

#include <fmt/format.h>

#include "core/base/shares.h"
#include "core/base/text.h"
#include "replay/report/advise/advise_report.h"
#include "replay/report/advise/growth_object.h"
#include "replay/report/forms/escaped.h"
#include "replay/report/forms/json_values.h"
#include "replay/report/forms/table.h"
#include "replay/report/forms/wording.h"

namespace tidemark {
namespace {

using report::Json;

// A value in the unit of `like`.
std::string value_text(const Measurement& like, double value) {
    Measurement figure = like;
    figure.real = value;
    figure.whole = value <= 0 ? 0 : static_cast<std::uint64_t>(std::llround(value));
    if (figure.unit != Unit::ratio && value < 0)
        return "less than 0";
    return figure_text(figure);
}

Json number_of(const Measurement& like, double value) {
    if (like.unit == Unit::ratio || value < 0 || value != std::floor(value))
        return value;
    return static_cast<std::uint64_t>(value);
}

// "+3.5 %"; "" if there is nothing to compare with.
std::string budget_change(const Budget& budget) {
    if (!budget.before || *budget.before == 0)
        return {};
    return format_change((budget.figure.value() - *budget.before) / *budget.before);
}

// "7.35 GiB, 7.10 GiB in the baseline (+3.5 %), the bound is 7.24 GiB". If the figure and the bound
// have the same three digits, both are written out.
std::string budget_text(const Budget& budget) {
    std::string value = value_text(budget.figure, budget.figure.value());
    std::string bound = value_text(budget.figure, budget.bound);
    if (value == bound && budget.figure.unit != Unit::ratio &&
        budget.figure.value() != budget.bound) {
        const char* unit = budget.figure.unit == Unit::bytes ? " bytes" : "";
        value = fmt::format("{}{}", format_count(budget.figure.whole), unit);
        bound = fmt::format(
            "{}{}", format_count(static_cast<std::uint64_t>(std::max(budget.bound, 0.0))), unit);
    }
    std::string text = value;
    if (budget.before) {
        const std::string change = budget_change(budget);
        text += fmt::format(", {} in the baseline{}", value_text(budget.figure, *budget.before),
                            change.empty() ? "" : fmt::format(" ({})", change));
    }
    if (budget.condition.relative() || value_text(budget.figure, budget.bound) != bound)
        text += fmt::format(", the bound is {}", bound);
    return text;
}

std::string summary(const GateReport& report) {
    const std::size_t broken = report.broken();
    if (broken == 0)
        return fmt::format("{} kept", format_counted(report.budgets.size(), "budget"));
    return fmt::format("{} of {} broken", broken, format_counted(report.budgets.size(), "budget"));
}

std::string title(const std::string& name, const Run& run) {
    return fmt::format("{} under {}", printable(name), printable(run.scenario.policy));
}

}  // namespace

std::vector<std::string> broken_lines(const GateReport& report) {
    std::vector<std::string> lines;
    for (const Budget& budget : report.budgets)
        if (budget.broken)
            lines.push_back(fmt::format("broken: {}: {}", printable(budget.condition.text),
                                        budget_text(budget)));
    return lines;
}

std::string gate_text(const std::string& name, const Run& run, const GateReport& report,
                      const GateGrowth* growth) {
    std::string text;
    for (const std::string& line : broken_lines(report))
        text += line + "\n";
    text += fmt::format("{}: {}\n", title(name, run), summary(report));
    for (const std::string& warning : report.warnings)
        text += fmt::format("note: {}\n", printable(warning));
    if (growth != nullptr)
        text += "\n" + growth_text(growth->before, growth->after, growth->growth);
    return text;
}

std::string gate_markdown(const std::string& name, const Run& run, const GateReport& report,
                          const GateGrowth* growth) {
    Table table({{"budget", Align::left},
                 {"fails if", Align::left},
                 {"value"},
                 {"baseline"},
                 {"change"},
                 {"bound"}});
    for (const Budget& budget : report.budgets)
        table.add({{budget.broken ? "broken" : "kept", budget.broken},
                   {fmt::format("`{}`", printable(budget.condition.text))},
                   {value_text(budget.figure, budget.figure.value())},
                   {budget.before ? value_text(budget.figure, *budget.before) : ""},
                   {budget_change(budget)},
                   {value_text(budget.figure, budget.bound)}});
    std::string text = fmt::format("#### {}: {}\n\n{}", title(name, run), summary(report),
                                   table.ruled(Emphasis::markdown));
    for (const std::string& warning : report.warnings)
        text += fmt::format("\nnote: {}\n", printable(warning));
    if (growth != nullptr)
        text += fmt::format("\n```\n{}```\n",
                            growth_text(growth->before, growth->after, growth->growth));
    return text;
}

std::string gate_json(const Run& run, const GateReport& report, const Baseline* baseline,
                      const Provenance& provenance, const GateGrowth* growth) {
    Json budgets = report::list_of(report.budgets, [](const Budget& budget) -> Json {
        return {{"fail_if", budget.condition.text},
                {"metric", budget.condition.metric},
                {"implied", budget.implied},
                {"broken", budget.broken},
                {"value", number_of(budget.figure, budget.figure.value())},
                {"baseline", budget.before ? number_of(budget.figure, *budget.before) : Json()},
                {"bound", number_of(budget.figure, budget.bound)}};
    });
    return report::text_of(
        {{"trace", run.scenario.trace},
         {"policy", run.policy_name},
         {"spec", run.scenario.policy},
         {"passed", report.broken() == 0},
         {"broken", report.broken()},
         {"budgets", std::move(budgets)},
         {"baseline", baseline != nullptr ? Json(baseline->name) : Json()},
         {"baseline_version", baseline != nullptr ? Json(baseline->version) : Json()},
         {"growth", growth != nullptr
                        ? report::growth_object(growth->before, growth->after, growth->growth)
                        : Json()},
         {"warnings", report.warnings},
         {"provenance", report::provenance_of(provenance, {{"trace_hash", run.trace_hash},
                                                           {"profile_hash", run.profile_hash}})}});
}

std::string gate_junit(const std::string& name, const Run& run, const GateReport& report) {
    using report::escaped;
    std::string text = fmt::format(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<!-- tidemark gate -->\n"
        "<testsuite name=\"tidemark gate\" tests=\"{}\" failures=\"{}\" errors=\"0\" "
        "skipped=\"0\">\n",
        report.budgets.size(), report.broken());
    for (const Budget& budget : report.budgets) {
        text += fmt::format("  <testcase classname=\"{}\" name=\"{}\"", escaped(title(name, run)),
                            escaped(budget.condition.text));
        const std::string is =
            escaped(fmt::format("{} is {}", budget.condition.metric, budget_text(budget)));
        text += budget.broken
                    ? fmt::format(">\n    <failure message=\"{}\"/>\n  </testcase>\n", is)
                    : fmt::format(">\n    <system-out>{}</system-out>\n  </testcase>\n", is);
    }
    return text + "</testsuite>\n";
}

}  // namespace tidemark
