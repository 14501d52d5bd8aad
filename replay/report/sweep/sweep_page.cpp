// A finished sweep as a page, and as text.
#include <algorithm>

#include <fmt/format.h>

#include "core/base/text.h"
#include "replay/report/forms/table.h"
#include "replay/report/forms/wording.h"
#include "replay/report/page/html_markup.h"
#include "replay/report/page/page_files.h"
#include "replay/report/page/page_style.h"
#include "replay/report/sweep/sweep_result.h"

namespace tidemark {
namespace {

using namespace report;

bool differs_in(const SweepResult& sweep, std::string_view axis) {
    return std::ranges::any_of(sweep.axes,
                               [&](const SweepAxis& each) { return each.name == axis; });
}

// "vpmm, memory 80GiB": the machine is named where settings differ in it.
std::string setting_name(const SweepResult& sweep, const SweptSetting& setting) {
    std::string text = printable(setting.policy);
    for (const auto& [name, value] : setting.values)
        for (const std::string_view of_machine :
             {"machine", "gpu_memory", "memory", "limit", "profile", "scale"})
            if (name == of_machine && differs_in(sweep, name))
                text += fmt::format(", {} {}", name, printable(value));
    return text;
}

std::string answer_text(const SweepResult& sweep) {
    if (sweep.settings.empty())
        return "No unit could be replayed.";
    const SweptSetting& best = sweep.settings.front();
    const auto on_front = static_cast<std::size_t>(std::ranges::count(sweep.front, true));
    std::string text = fmt::format(
        "Of {} on {}, {} is best: {} {:.3f}, {} {}{}. ",
        format_counted(sweep.settings.size(), "setting"), format_counted(sweep.traces, "trace"),
        setting_name(sweep, best), ratio_name(sweep), best.score.ratio, time_name(sweep),
        format_duration(best.score.time),
        best.score.out_of_memory > 0
            ? fmt::format(", out of memory {}", format_times(best.score.out_of_memory))
            : "");
    return text + (on_front == 1 ? "No other setting is better in either."
                                 : fmt::format("{} are on the Pareto front.",
                                               format_counted(on_front, "setting")));
}

std::size_t shown_of(const SweepResult& sweep, std::size_t top) {
    return top == 0 ? sweep.settings.size() : std::min(top, sweep.settings.size());
}

// Each row's texts, in the order of titles_of().
std::array<std::string_view, 6> titles_of(const SweepResult& sweep) {
    return {"setting", "Pareto", ratio_name(sweep), time_name(sweep), "out of memory", "traces"};
}

std::array<std::string, 6> row_of(const SweepResult& sweep, std::size_t i) {
    const SettingScore& score = sweep.settings[i].score;
    return {setting_name(sweep, sweep.settings[i]), sweep.front[i] ? "*" : "",
            fmt::format("{:.3f}", score.ratio),     format_duration(score.time),
            format_count(score.out_of_memory),      format_count(score.traces)};
}

std::string settings_markup(const SweepResult& sweep, std::size_t top) {
    std::vector<MarkupCell> titles;
    for (const std::string_view title : titles_of(sweep))
        titles.push_back({.text = std::string(title), .number = titles.size() >= 2});
    std::vector<std::vector<MarkupCell>> rows;
    for (std::size_t i = 0; i < shown_of(sweep, top); ++i) {
        std::vector<MarkupCell> row;
        for (const std::string& text : row_of(sweep, i))
            row.push_back({.text = text, .number = row.size() >= 2});
        rows.push_back(std::move(row));
    }
    return markup_table(
        fmt::format("The best {} of {}, by requests out of memory, then {}, then {}", rows.size(),
                    format_counted(sweep.settings.size(), "setting"), ratio_name(sweep),
                    time_name(sweep)),
        titles, rows);
}

std::string map_markup(const SweepResult& sweep, const HeatMap& map) {
    if (map.cells.empty())
        return "";
    std::string text =
        fmt::format("<section class=\"wide\">\n<h2>{}{}</h2>\n{}", escaped(map.across.name),
                    map.down.name.empty() ? "" : " and " + escaped(map.down.name),
                    plot_svg(heat_map_plot(sweep, map)));
    if (map.left_out > 0)
        text += fmt::format("<p class=\"words\">{} of other policies are not on it.</p>\n",
                            format_counted(map.left_out, "setting"));
    return text + "</section>\n";
}

std::string failed_markup(const SweepResult& sweep) {
    if (sweep.failed.empty())
        return "";
    std::string text = "<section>\n<h2>Could not be created</h2>\n<ul>\n";
    for (const std::string& why : sweep.failed)
        text += fmt::format("<li class=\"untrusted\">{}</li>\n", escaped(printable(why)));
    return text + "</ul>\n</section>\n";
}

// Of the units; "" if all have a checksum.
std::string unchecked_text(const SweepResult& sweep) {
    if (sweep.unchecked == 0)
        return "";
    return fmt::format(
        "{} of them without a checksum, as older versions wrote them, so changes "
        "to these can't be detected",
        format_count(sweep.unchecked));
}

}  // namespace

std::string sweep_page(const SweepResult& sweep, const SweepView& view,
                       const Provenance& provenance) {
    return filled_in(
        sweep_markup(),
        {{"version", escaped(provenance.version)},
         {"title", escaped(view.title)},
         {"style", style_markup()},
         {"answer", escaped(answer_text(sweep))},
         {"map", map_markup(sweep, view.map)},
         {"axes",
          fmt::format("{} against {}", sweep.over_tiers ? "Slowdown" : "Memory", time_name(sweep))},
         {"front", plot_svg(front_plot(sweep))},
         {"settings", settings_markup(sweep, view.top)},
         {"failed", failed_markup(sweep)},
         {"units", fmt::format("{} of {}{}{}", format_counted(sweep.units, "unit"),
                               format_counted(sweep.traces, "trace"),
                               sweep.unchecked == 0 ? "" : "; ", unchecked_text(sweep))},
         {"command", escaped(provenance.command)}});
}

std::string sweep_result_text(const SweepResult& sweep, const SweepView& view) {
    std::string text = answer_text(sweep) + "\n\n";
    if (!view.map.cells.empty()) {
        const HeatMap& map = view.map;
        std::vector<TableColumn> columns{
            {map.down.name.empty() ? map.across.name
                                   : fmt::format("{} \\ {}", map.down.name, map.across.name),
             Align::left}};
        for (const std::string& value : map.across.values)
            columns.push_back({printable(value)});
        Table table(columns);
        for (std::size_t row = 0; row < map.rows(); ++row) {
            std::vector<TableCell> cells{
                {map.down.name.empty() ? std::string() : printable(map.down.values[row])}};
            for (std::size_t i = 0; i < map.across.values.size(); ++i) {
                const auto& cell = map.cells[row * map.across.values.size() + i];
                cells.push_back(
                    {cell ? fmt::format("{:.3f}", sweep.settings[*cell].score.ratio) : ""});
            }
            table.add(cells);
        }
        text += table.ruled(Emphasis::none) + "\n";
    }
    std::vector<TableColumn> columns;
    for (const std::string_view title : titles_of(sweep))
        columns.push_back({std::string(title), columns.size() < 2 ? Align::left : Align::right});
    Table table(columns);
    for (std::size_t i = 0; i < shown_of(sweep, view.top); ++i) {
        std::vector<TableCell> cells;
        for (const std::string& each : row_of(sweep, i))
            cells.push_back({each});
        table.add(cells);
    }
    text += table.ruled(Emphasis::none);
    for (const std::string& why : sweep.failed)
        text += fmt::format("could not be created: {}\n", printable(why));
    if (sweep.unchecked != 0)
        text += fmt::format("note: {}: {}\n", format_counted(sweep.units, "unit"),
                            unchecked_text(sweep));
    return text;
}

}  // namespace tidemark
