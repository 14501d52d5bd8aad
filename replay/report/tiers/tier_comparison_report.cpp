// The text of comparisons of victim policies.
#include <algorithm>

#include <fmt/format.h>

#include "core/base/text.h"
#include "replay/report/forms/wording.h"
#include "replay/report/tiers/tier_report.h"

namespace tidemark {
namespace {

// "1.42"; three digits if very large; "" if there is nothing to compare with.
std::string times_text(double times) {
    if (times <= 0)
        return {};
    return times < 1000 ? fmt::format("{:.2f}", times) : fmt::format("{:.3g}", times);
}

std::string label_of(const std::string& policy, bool knows_future) {
    return printable(policy) + (knows_future ? " *" : "");
}

Table table_of(const TierComparisonBlock& block, const std::vector<GpuMemory>& memories) {
    const auto any = [&block](double TierComparisonRow::*figure) {
        return std::any_of(block.rows.begin(), block.rows.end(),
                           [figure](const TierComparisonRow& row) { return row.*figure > 0; });
    };
    const bool bounded = any(&TierComparisonRow::of_bound);
    const bool belady = any(&TierComparisonRow::of_belady);
    std::vector<TableColumn> columns{{"GPU memory"}, {"policy", Align::left},
                                     {"slowdown"},   {"stalled"},
                                     {"out + in"},   {"dropped"},
                                     {"hits"}};
    if (bounded)
        columns.push_back({"/ bound"});
    if (belady)
        columns.push_back({"/ belady"});
    columns.push_back({"out of memory"});
    Table table(std::move(columns));
    std::size_t last = SIZE_MAX;
    for (const TierComparisonRow& row : block.rows) {
        const TierRun& run = row.run;
        std::vector<TableCell> cells{{row.memory == last ? "" : to_text(memories[row.memory])},
                                     {label_of(run.scenario.spill, row.knows_future), row.best},
                                     {fmt::format("{:.3f}", run.slowdown()), row.best},
                                     {format_duration(run.stalls.total())},
                                     {format_bytes(moved_bytes(run))},
                                     {format_bytes(run.dropped_bytes)},
                                     {format_percent(run.hit_ratio())}};
        if (bounded)
            cells.push_back({times_text(row.of_bound)});
        if (belady)
            cells.push_back({times_text(row.of_belady)});
        cells.push_back({format_count(run.out_of_memory)});
        table.add(std::move(cells));
        last = row.memory;
    }
    return table;
}

Table table_of(const std::vector<TierTotal>& totals, const std::vector<GpuMemory>& memories) {
    Table table({{"GPU memory"},
                 {"policy", Align::left},
                 {"slowdown"},
                 {"stalled"},
                 {"out + in"},
                 {"/ bound"},
                 {"out of memory"}});
    std::size_t last = SIZE_MAX;
    for (const TierTotal& total : totals) {
        table.add({{total.memory == last ? "" : to_text(memories[total.memory])},
                   {label_of(total.label, total.knows_future), total.best},
                   {fmt::format("{:.3f}", total.slowdown), total.best},
                   {format_duration(total.stall)},
                   {format_bytes(total.moved)},
                   {times_text(total.of_bound)},
                   {format_count(total.out_of_memory)}});
        last = total.memory;
    }
    return table;
}

// The line under a block's name: sizes in bytes and the least that must move.
std::string conditions(const TierComparisonBlock& block, const TierComparison& comparison) {
    std::string text;
    for (std::size_t i = 0; i < block.bounds.size(); ++i) {
        const TierBound& bound = block.bounds[i];
        text += fmt::format("{}{}", text.empty() ? "" : "; ", to_text(comparison.memories[i]));
        if (comparison.memories[i].bytes == 0)
            text += fmt::format(" = {}", format_bytes(block.capacities[i]));
        if (bound.runs)
            text += fmt::format(", at least {} must move", format_bytes(bound.bytes));
        else if (bound.least_capacity > 0)
            text += fmt::format(", too small: the largest kernel needs {}",
                                format_bytes(bound.least_capacity));
    }
    return text;
}

std::string block_text(const TierComparisonBlock& block, const TierComparison& comparison,
                       Emphasis emphasis) {
    std::string text = fmt::format(
        "{}{} on {}: {}, a peak of {}\n{}\n\n", emphasis == Emphasis::markdown ? "#### " : "",
        printable(block.name), printable(comparison.machine), format_counted(block.events, "event"),
        format_bytes(block.peak_bytes), conditions(block, comparison));
    text += table_of(block, comparison.memories).ruled(emphasis);
    text += "\n";
    const std::string_view mark = emphasis == Emphasis::markdown ? "- " : "";
    for (const std::string& verdict : block.verdicts)
        text += fmt::format("{}{}\n", mark, printable(verdict));
    if (!block.rows.empty() && !block.rows.front().run.warnings.empty() &&
        emphasis != Emphasis::markdown)
        text += "\n";
    if (!block.rows.empty()) {
        for (const std::string& warning : block.rows.front().run.warnings)
            text += fmt::format("{}note: {}\n", mark, printable(warning));
    }
    return text;
}

}  // namespace

std::string tier_comparison_text(const TierComparison& comparison, Emphasis emphasis) {
    std::string text;
    bool future = false;
    for (const TierComparisonBlock& block : comparison.programs) {
        text += (text.empty() ? "" : "\n") + block_text(block, comparison, emphasis);
        for (const TierComparisonRow& row : block.rows)
            future = future || row.knows_future;
    }
    if (!comparison.totals.empty()) {
        text +=
            fmt::format("\n{}All {} traces: geometric means, and sums\n\n",
                        emphasis == Emphasis::markdown ? "#### " : "", comparison.programs.size());
        text += table_of(comparison.totals, comparison.memories).ruled(emphasis);
    }
    if (future)
        text += fmt::format("\n{} knows the trace's future: a reference, not a policy\n",
                            emphasis == Emphasis::markdown ? "\\*" : "*");
    return text;
}

}  // namespace tidemark
