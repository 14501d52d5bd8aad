// The text of comparisons, of verify and of the catalogue of policies.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "core/base/shares.h"
#include "core/base/text.h"
#include "replay/analysis/spread/spread_text.h"
#include "replay/metrics/devices.h"
#include "replay/record/allocator_family.h"
#include "replay/report/forms/wording.h"
#include "replay/report/runs/ranks_report.h"
#include "replay/report/runs/text.h"

namespace tidemark {
namespace {

struct Title {
    std::string_view name;
    std::string_view title;
};

constexpr Title kTitles[] = {
    {"peak_reserved_bytes", "peak reserved"},
    {"overhead_ratio", "reserved / requested"},
    {"mean_reserved_bytes", "mean reserved"},
    {"external_fragmentation_at_peak", "fragmentation"},
    {"device_calls", "device calls"},
    {"driver_ns", "driver time"},
    {"stall_ns", "stalled"},
    {"retries", "retries"},
    {"out_of_memory", "out of memory"},
};

// A column's title; a figure without one here keeps its own name.
std::string title_of(std::string_view name) {
    for (const Title& each : kTitles)
        if (each.name == name)
            return std::string(each.title);
    return std::string(name);
}

// "+4.1 %"; "=" if nothing changed; "x 12" beyond a factor of ten.
std::string percent_change(double change) {
    if (change == 0)
        return "=";
    if (change >= 9)
        return fmt::format("x {}",
                           format_count(static_cast<std::uint64_t>(std::min(change, 1e15)) + 1));
    const std::string text = format_change(change);
    return text == "+0.0 %" || text == "-0.0 %" ? (change > 0 ? "+<0.1 %" : "-<0.1 %") : text;
}

constexpr const char* kTextAnswersOther = " (other)";
constexpr std::string_view kOtherMeans = "(other): not the recorded allocator, for comparison";

constexpr std::string_view kFrontMeans =
    "*: on the Pareto front: no policy needs less memory without needing more driver time, nor the "
    "reverse";

// Whether the recorded run differs from the baseline's replay in a figure that matters for ranking.
bool is_apart(const TraceComparison& comparison) {
    const auto first = std::ranges::find(comparison.rows, true, &ComparisonRow::baseline);
    return comparison.recorded &&
           std::ranges::any_of(std::array{"peak_reserved_bytes", "out_of_memory"},
                               [&](const char* name) {
                                   return comparison.recorded->run.measurement(name).whole !=
                                          first->run.measurement(name).whole;
                               });
}

// The figure that ranks the rows also gets a column with its difference from the baseline.
constexpr std::string_view kRanking = "peak_reserved_bytes";

// The columns, the most important first, since a screen shows as many as it has room for. Out of
// memory comes first if any row has it.
std::vector<std::size_t> order_of_columns(const TraceComparison& comparison) {
    constexpr std::array<std::string_view, 4> kFirst{"out_of_memory", kRanking, "driver_ns",
                                                     "retries"};
    const std::span<const std::string_view> names = comparison_columns();
    std::vector<std::size_t> order(names.size());
    std::iota(order.begin(), order.end(), 0U);
    const bool refused = std::ranges::any_of(comparison.rows, [](const ComparisonRow& row) {
        return row.run.measurement("out_of_memory").whole > 0;
    });
    std::ranges::stable_sort(order, {}, [&](std::size_t column) {
        const auto* const found = std::ranges::find(kFirst, names[column]);
        const bool last = !refused && found == kFirst.begin();
        return last ? kFirst.size() + 1 : static_cast<std::size_t>(found - kFirst.begin());
    });
    return order;
}

Table table_of(const TraceComparison& comparison) {
    const std::vector<std::size_t> order = order_of_columns(comparison);
    const bool spread = comparison.rows.front().run.peak_spread.has_value();
    std::vector<TableColumn> columns{{"policy", Align::left}};
    for (const std::size_t column : order) {
        const std::string_view name = comparison_columns()[column];
        columns.push_back({title_of(name)});
        if (name != kRanking)
            continue;
        if (spread)
            columns.push_back({"run to run"});
        columns.push_back({"vs baseline"});
    }
    const bool jitter = comparison.rows.front().jitter.has_value();
    if (jitter)
        columns.insert(columns.end(), {{"jittered"}, {"lowest in"}});
    columns.push_back({"Pareto"});
    Table table(std::move(columns));
    std::vector<const ComparisonRow*> rows;
    for (const ComparisonRow& row : comparison.rows)
        rows.push_back(&row);
    if (is_apart(comparison))
        rows.push_back(&*comparison.recorded);
    for (const ComparisonRow* const each : rows) {
        const ComparisonRow& row = *each;
        std::vector<TableCell> cells{
            {printable(row.label) + (row.other_allocator ? kTextAnswersOther : ""),
             row.recommended}};
        for (const std::size_t column : order) {
            const ComparisonCell& cell = row.cells[column];
            cells.push_back({figure_text(cell.measurement), cell.best});
            if (cell.measurement.name == kRanking && spread)
                cells.push_back({row.run.peak_spread ? range_text(*row.run.peak_spread) : ""});
            if (cell.measurement.name == kRanking)
                cells.push_back({row.baseline      ? "baseline"
                                 : cell.comparable ? percent_change(cell.change)
                                                   : ""});
        }
        if (jitter && row.jitter) {
            cells.push_back({range_text(row.jitter->peak)});
            cells.push_back({fmt::format("{} of {}", row.jitter->lowest, row.jitter->peak.runs)});
        } else if (jitter) {
            cells.insert(cells.end(), {{""}, {""}});
        }
        cells.push_back({row.pareto ? "*" : ""});
        table.add(std::move(cells));
    }
    return table;
}

Table table_of(const std::vector<ComparisonTotal>& totals) {
    Table table({{"policy", Align::left},
                 {"reserved / requested"},
                 {"vs baseline"},
                 {"driver time"},
                 {"stalled"},
                 {"out of memory"},
                 {"traces out of memory"},
                 {"Pareto"}});
    for (const ComparisonTotal& total : totals) {
        table.add({{printable(total.label) + (total.other_allocator ? kTextAnswersOther : ""),
                    total.recommended},
                   {fmt::format("{:.3f}", total.overhead_ratio)},
                   {total.baseline ? "baseline" : percent_change(total.change)},
                   {format_duration(total.driver_time)},
                   {format_duration(total.stall_time)},
                   {format_count(total.out_of_memory)},
                   {format_count(total.traces_refused)},
                   {total.pareto ? "*" : ""}});
    }
    return table;
}

// The peak of each device if there are several: the table above has sums.
std::string devices_text(const TraceComparison& comparison, Emphasis emphasis) {
    const auto devices = device_peaks(comparison.rows.front().run.measurements);
    if (devices.size() < 2)
        return {};
    std::vector<TableColumn> columns{{"peak reserved of each", Align::left}};
    for (std::size_t i = 0; i < devices.size(); ++i)
        columns.push_back({devices[i].text(i)});
    Table table(std::move(columns));
    for (const ComparisonRow& row : comparison.rows) {
        std::vector<TableCell> cells{{printable(row.label)}};
        for (const DevicePeaks& device : device_peaks(row.run.measurements))
            cells.push_back({format_bytes(device.reserved)});
        table.add(std::move(cells));
    }
    const std::size_t gpus = gpus_of(devices);
    return fmt::format("\nThe figures above are {}; a card's memory limits each.\n\n{}",
                       gpus > 1 ? fmt::format("sums of {} devices", gpus) : "those of device 0",
                       table.ruled(emphasis));
}

bool has_others(const Comparison& comparison) {
    return std::ranges::any_of(comparison.traces, [](const TraceComparison& trace) {
        return std::ranges::any_of(trace.rows,
                                   [](const ComparisonRow& row) { return row.other_allocator; });
    });
}

// The line under a table: the machine.
std::string conditions(const ComparisonRow& row) {
    const Scenario& scenario = row.run.scenario;
    std::string text = fmt::format("on a simulated {}", printable(scenario.profile));
    if (row.run.device_memory)
        text = fmt::format("on {} ({}) with {}", printable(row.run.device_name), scenario.device,
                           format_bytes(row.run.device_memory->total));
    if (scenario.memory > 0)
        text += " with " + card_text(scenario.memory, scenario.held());
    if (!row.run.limit_text.empty())
        text += ", " + row.run.limit_text;
    if (scenario.scale != 1)
        text += fmt::format(", all sizes times {}", scenario.scale);
    return text;
}

std::string option_type(const OptionInfo& option) {
    if (option.type != OptionType::choice)
        return std::string(to_text(option.type));
    std::string text;
    for (const std::string_view choice : option.choices)
        text += fmt::format("{}{}", text.empty() ? "" : "|", choice);
    return text;
}

std::string option_range(const OptionInfo& option) {
    if (option.minimum.empty() && option.maximum.empty())
        return {};
    return fmt::format("{}..{}", option.minimum, option.maximum);
}

// A model that diverges may reserve segments that the record doesn't have, so there can be more
// differences than compared decisions.
std::string verdict_text(const VerifyReport& report) {
    if (report.mismatches > report.decisions)
        return fmt::format("{} from the {} recorded",
                           format_counted(report.mismatches, "difference"),
                           format_counted(report.decisions, "decision"));
    if (report.mismatches > 0)
        return fmt::format("{} of {} differ from the recorded ones",
                           format_count(report.mismatches),
                           format_counted(report.decisions, "decision"));
    return report.compares() ? "every decision matches the recording"
                             : "nothing to compare: the file holds no decisions";
}

}  // namespace

std::string option_kind_text(const OptionInfo& option) {
    const bool unit = !option.unit.empty() && option.type != OptionType::bytes;
    const std::string range = option_range(option);
    return fmt::format("{}{}{}{}{}", option_type(option), unit ? ", " : "", unit ? option.unit : "",
                       range.empty() ? "" : ", ", range);
}

std::string options_text(std::span<const OptionInfo> options) {
    std::string text;
    for (const OptionInfo& option : options) {
        text += fmt::format(
            "\n  {} ({}), default {}\n    {}\n", option.name, option_kind_text(option),
            option.default_value.empty() ? "none" : option.default_value, option.summary);
        if (!option.source.empty())
            text += fmt::format("    source: {}\n", option.source);
    }
    return text;
}

std::string comparison_text(const Comparison& comparison, Emphasis emphasis) {
    std::string text;
    const bool several = comparison.traces.size() > 1;
    for (const TraceComparison& trace : comparison.traces) {
        if (trace.rows.empty())
            continue;
        text += fmt::format("{}{}: {}, {}\n\n", emphasis == Emphasis::markdown ? "#### " : "",
                            printable(trace.name), format_counted(trace.events, "event"),
                            conditions(trace.rows.front()));
        text += table_of(trace).ruled(emphasis);
        text += devices_text(trace, emphasis);
        if (several)
            text += fmt::format("\n{}\n\n", printable(trace.verdict));
    }
    if (several && !comparison.totals.empty()) {
        text += fmt::format("{}All {} traces\n\n", emphasis == Emphasis::markdown ? "#### " : "",
                            comparison.traces.size());
        text += table_of(comparison.totals).ruled(emphasis) + "\n";
        for (const ComparisonTotal& total : comparison.totals)
            if (total.paired)
                text += printable(total.paired_verdict) + ".\n";
    }
    text += fmt::format("\n{}\n", printable(comparison.verdict));
    text += fmt::format("{}\n", kFrontMeans);
    if (has_others(comparison))
        text += fmt::format("{}\n", kOtherMeans);
    std::set<std::string> notes;
    for (const TraceComparison& trace : comparison.traces)
        notes.insert(trace.notes.begin(), trace.notes.end());
    for (const std::string& note : notes)
        text += fmt::format("note: {}\n", printable(note));
    if (comparison.ranks)
        text += "\n" + ranks_text(*comparison.ranks, emphasis);
    return comparison.interrupted ? text + "note: interrupted: rows are missing\n" : text;
}

std::string verify_text(const std::string& name, const VerifyReport& report) {
    std::string text = fmt::format("{}: {} under {}\n", printable(name), verdict_text(report),
                                   printable(report.policy));
    Table table = Table::untitled("lr");
    const auto add = [&table](std::string_view label, std::string value) {
        table.row(label, std::move(value));
    };
    add("events", format_count(report.events));
    add("decisions compared", format_count(report.decisions));
    add("of these, blocks of the final state", format_count(report.final_blocks));
    add("differences", format_count(report.mismatches));
    if (report.stats.ties > 0)
        add("ties: another equally good block", format_count(report.stats.ties));
    add("not inferable from the record", format_count(report.not_inferable));
    add("empty_cache inferred", format_count(report.inferred_trims));
    for (std::size_t i = 0; i < report.device_peaks.size(); ++i) {
        const std::string of =
            report.device_peaks.size() == 1 ? std::string() : fmt::format(", device {}", i);
        add("peak reserved" + of, format_bytes(report.device_peaks[i].reserved));
        add("peak allocated" + of, format_bytes(report.device_peaks[i].allocated));
    }
    add("segments reserved", format_count(report.stats.segments_created));
    add("segments released", format_count(report.stats.segments_released));
    add("retries", format_count(report.stats.retries));
    add("out of memory", format_count(report.stats.out_of_memory));
    text += table.bare("  ");
    if (report.first_mismatch) {
        const Mismatch& first = *report.first_mismatch;
        text += fmt::format("\nFirst difference: event {}, {} of {} on stream {}\n",
                            format_count(first.event), to_text(first.what.kind),
                            format_bytes(first.what.size), to_integer(first.what.stream));
        text += fmt::format("  recorded  {}\n  replayed  {}\n", printable(first.expected),
                            printable(first.actual));
        for (const std::string& line : first.neighbourhood)
            text += fmt::format("    {}\n", printable(line));
    }
    for (const std::string& note : report.notes)
        text += fmt::format("\nnote: {}\n", printable(note));
    return text;
}

std::string policies_text(std::span<const PolicyInfo> policies) {
    Table table = Table::untitled("ll");
    for (const PolicyInfo& policy : policies) {
        std::string options;
        for (const OptionInfo& option : policy.options)
            options += fmt::format("{}{}", options.empty() ? "" : ", ", option.name);
        table.row(policy.name, policy.summary);
        if (!options.empty())
            table.row("", fmt::format("options: {}", options));
    }
    std::vector<std::string> names;
    for (const PolicyInfo& policy : policies)
        names.emplace_back(policy.name);
    return table.bare("") +
           fmt::format("\n{}.\n`tidemark policies NAME` explains a policy's options.\n",
                       only_read_text(names));
}

std::string policy_text(const PolicyInfo& policy) {
    std::string text =
        fmt::format("{}: {}\nfollows: {}{}\n", policy.name, policy.summary, policy.source,
                    policy.only_read ? ", from its source: not checked against a recording" : "");
    if (policy.options.empty())
        text += "no options\n";
    else
        text += fmt::format("\nOptions, as in --policy {}:{}={}\n", policy.name,
                            policy.options.front().name, policy.options.front().default_value) +
                options_text(policy.options);
    return text + "\nOptions of every policy\n" + options_text(wrapper_options());
}

std::string generators_text(std::span<const GeneratorInfo> generators) {
    std::string text;
    for (const GeneratorInfo& generator : generators)
        text += fmt::format("{}{}: {}\n{}", text.empty() ? "" : "\n", generator.name,
                            generator.summary, options_text(generator.options));
    return text;
}

std::string written_text(const WrittenFile& file) {
    std::string text = fmt::format("{}: {}, {}", printable(file.target),
                                   format_counted(file.events, "event"), format_bytes(file.bytes));
    if (file.events > 0 && file.bytes > 0)
        text += fmt::format(" ({:.1f} bytes an event)",
                            static_cast<double>(file.bytes) / static_cast<double>(file.events));
    text += fmt::format(", from {} ({})\n", printable(file.source), printable(file.info.format));
    if (file.left_out_truth > 0)
        text += fmt::format(
            "note: {} of the recorded allocator are left out: {} can't express "
            "them\n",
            format_counted(file.left_out_truth, "decision"), file.format);
    if (file.left_out_events > 0)
        text += fmt::format("note: {} events are left out: {} can't express them\n",
                            format_count(file.left_out_events), file.format);
    if (file.backwards > 0)
        text += fmt::format(
            "note: the recording's times run backwards: {} before {}, and {} no length\n",
            format_counted(file.backwards, "span ends", "spans end"),
            file.backwards == 1 ? "it begins" : "they begin", file.backwards == 1 ? "has" : "have");
    return text + trace_notes(file.info);
}

}  // namespace tidemark
