// Figures, comparison, peak and refusals.
#include "replay/report/page/html_tables.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/text.h"
#include "replay/report/forms/wording.h"
#include "replay/report/page/change_text.h"
#include "replay/report/page/html_markup.h"

namespace tidemark::report {
namespace {

std::string_view colour_class(Judgement judgement) {
    if (judgement == Judgement::better)
        return "better";
    return judgement == Judgement::worse ? "worse" : "";
}

std::vector<MarkupCell> comparison_row(const ReportInput& input, const ReportedRun& run) {
    const ReportedRun& baseline = baseline_of(input, run);
    std::vector<MarkupCell> row{{.text = run.label}};
    for (const std::string_view name : compared_figures()) {
        const Measurement& now = run.recorded.run.measurement(name);
        std::string text = figure_text(now);
        Change change;
        if (&baseline != &run)
            change = change_of(now, baseline.recorded.run.measurement(name));
        if (!change.text.empty() && change.judgement != Judgement::same)
            text += "\n" + change.text;
        row.push_back({.text = std::move(text),
                       .number = true,
                       .style = std::string(colour_class(change.judgement))});
    }
    return row;
}

std::string group_markup(std::string_view caption, const std::vector<PeakGroup>& groups,
                         std::string_view nameless, Bytes whole) {
    if (groups.empty())
        return {};
    std::vector<std::vector<MarkupCell>> rows;
    for (const PeakGroup& group : groups) {
        rows.push_back(
            {{.text = group.name.empty() ? std::string(nameless) : group.name, .style = "name"},
             {.text = format_bytes(group.bytes), .number = true},
             {.text = format_percent(share_of(group.bytes, whole)), .number = true},
             {.text = format_count(group.blocks), .number = true}});
    }
    return markup_table(caption,
                        {{.text = "name"},
                         {.text = "bytes", .number = true},
                         {.text = "of allocated", .number = true},
                         {.text = "blocks", .number = true}},
                        rows);
}

bool has_name(const PeakBlock& each) {
    return !each.tag.empty() || !each.site.empty();
}

std::string name_of(const PeakBlock& each) {
    if (!has_name(each))
        return "(no stack recorded)";
    const bool both = !each.tag.empty() && !each.site.empty();
    return each.tag + (both ? ", " : "") + each.site;
}

std::vector<MarkupCell> block_row(const History& history, const PeakBlock& each, bool names) {
    const Block& block = each.block;
    const bool timed = history.end(AxisUnit::time) > 1;
    const auto moment = [&](EventIndex event) {
        if (event == kNever)
            return std::string("never");
        return timed ? format_duration(history.time(event)) : format_count(event);
    };
    std::vector<MarkupCell> row{
        {.text = fmt::format("{:#x}", to_integer(block.address)), .style = "code"},
        {.text = format_bytes(block.size), .number = true},
        {.text = format_bytes(block.requested), .number = true},
        {.text = each.stream, .style = "code"},
        {.text = moment(block.born), .number = true, .hint = fmt::format("event {}", block.born)},
        {.text = moment(block.freed), .number = true}};
    if (names)
        row.insert(row.begin(), {.text = name_of(each), .style = "name"});
    return row;
}

}  // namespace

// Of many traces, only the one that peaks highest: the comparison has the others.
std::string cards_markup(const ReportInput& input) {
    constexpr std::size_t kMostCards = 4;  // traces
    const std::size_t highest =
        std::ranges::max_element(input.runs, {}, [](const ReportedRun& run) {
            return run.recorded.run.measurement("peak_reserved_bytes").whole;
        })->trace;
    std::string out;
    for (std::size_t trace = 0; trace < input.traces.size(); ++trace) {
        if (input.traces.size() > kMostCards && trace != highest)
            continue;
        const auto run = std::ranges::find_if(
            input.runs, [trace](const ReportedRun& each) { return each.trace == trace; });
        if (run == input.runs.end())
            continue;
        if (input.runs.size() > 1)
            out += fmt::format("<h3 class=\"untrusted\">{}</h3>\n", escaped(run->label));
        out += "<dl class=\"cards\">\n";
        for (const Fact& fact : run_facts(input, *run))
            out +=
                fmt::format("<div><dt>{}</dt><dd><strong>{}</strong><span>{}</span></dd></div>\n",
                            escaped(fact.name), escaped(fact.value), escaped(fact.meaning));
        out += "</dl>\n";
    }
    return out;
}

std::string comparison_markup(const ReportInput& input) {
    if (input.runs.size() < 2)
        return {};
    std::vector<MarkupCell> titles{{.text = "run"}};
    for (const std::string_view name : compared_figures()) {
        const Measurement& figure = input.runs.front().recorded.run.measurement(name);
        titles.push_back(
            {.text = figure_name(figure), .number = true, .hint = std::string(figure.summary)});
    }
    std::vector<std::vector<MarkupCell>> rows;
    for (const ReportedRun& run : input.runs)
        rows.push_back(comparison_row(input, run));
    const std::string_view caption =
        input.traces.size() > 1 && input.ranks
            ? "All runs, each compared with the baseline of its trace"
        : input.traces.size() > 1
            ? "All runs, each compared with the baseline of its trace, baselines with the first one"
            : "The same program under each policy, compared with the baseline";
    return "<section id=\"comparison\" class=\"wide\"><h2>Comparison</h2>\n" +
           markup_table(caption, titles, rows) + "</section>\n";
}

std::string peak_markup(const ReportedRun& run, const PeakContent& content) {
    const History& history = *run.recorded.history;
    const Bytes allocated = content.values[Series::allocated];
    std::string out = fmt::format(
        "<section class=\"peak\"><h2>At the allocated peak <small "
        "class=\"untrusted\">{}</small></h2>\n"
        "<p>Event {}{}: {} reserved, {} allocated to {}, {} requested.</p>\n"
        "<div class=\"columns\">\n",
        escaped(run.label), format_count(content.event),
        content.time > 0 ? ", " + format_duration(content.time) : "",
        format_bytes(content.values[Series::reserved]), format_bytes(allocated),
        format_counted(content.live, "block"), format_bytes(content.values[Series::requested]));
    out += group_markup("By call site, largest first", content.sites, "(no stack recorded)",
                        allocated);
    out += group_markup("By tag, largest first", content.tags, "(no tag)", allocated);
    out += "</div>\n";
    const bool names = std::ranges::any_of(content.blocks, has_name);
    std::vector<std::vector<MarkupCell>> rows;
    for (const PeakBlock& each : content.blocks)
        rows.push_back(block_row(history, each, names));
    std::vector<MarkupCell> titles{{.text = "address"},
                                   {.text = "bytes", .number = true},
                                   {.text = "requested", .number = true},
                                   {.text = "stream"},
                                   {.text = "allocated at", .number = true},
                                   {.text = "freed at", .number = true}};
    if (names)
        titles.insert(titles.begin(), {.text = "block"});
    if (!rows.empty())
        out += markup_table(fmt::format("The {} largest blocks", rows.size()), titles, rows);
    return out + "</section>\n";
}

std::string refusals_markup(const ReportInput& input) {
    std::vector<std::vector<MarkupCell>> rows;
    for (const ReportedRun& run : input.runs)
        for (const Refusal& refusal : run.recorded.run.refusals)
            rows.push_back({{.text = run.label, .style = "name"},
                            {.text = format_count(refusal.event), .number = true},
                            {.text = format_bytes(refusal.what.size), .number = true},
                            {.text = format_bytes(refusal.usage.reserved), .number = true},
                            {.text = format_bytes(refusal.usage.allocated), .number = true},
                            {.text = format_bytes(refusal.largest_free), .number = true}});
    if (rows.empty())
        return {};
    return "<section id=\"refusals\"><h2>Out of memory</h2>\n" +
           markup_table("The first of each run",
                        {{.text = "run"},
                         {.text = "event", .number = true},
                         {.text = "requested", .number = true},
                         {.text = "reserved", .number = true},
                         {.text = "allocated", .number = true},
                         {.text = "largest free", .number = true}},
                        rows) +
           "</section>\n";
}

}  // namespace tidemark::report
