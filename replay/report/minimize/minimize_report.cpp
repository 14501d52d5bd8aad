// How much was left out, and the command that shows the rest.
#include "replay/report/minimize/minimize_report.h"

#include <fmt/format.h>

#include "core/base/text.h"
#include "replay/report/forms/json_values.h"
#include "replay/report/forms/wording.h"

namespace tidemark {
namespace {

using report::Json;

Json measured_json(const Measurement& figure) {
    return figure.unit == Unit::ratio ? Json(figure.real) : Json(figure.whole);
}

Json minimized_figure_of(const MinimizedFigure& figure) {
    return {{"name", figure.before.name},
            {"before", measured_json(figure.before)},
            {"after", measured_json(figure.after)}};
}

}  // namespace

std::string minimize_text(const MinimizeReport& report) {
    std::string text = fmt::format(
        "{}: {} of {}, {} of {}\n\n", printable(report.target), format_count(report.after.events),
        format_counted(report.before.events, "event"), format_count(report.after.allocations),
        format_counted(report.before.allocations, "allocation"));
    text += fmt::format("It still shows {} under {}.\n", report.condition, report.policy);
    for (const MinimizedFigure& figure : report.figures)
        text += fmt::format("  {}: {} before, {} now\n", figure.before.name,
                            figure_text(figure.before), figure_text(figure.after));
    text += fmt::format("{}: {}\n", format_counted(report.replays, "replay"),
                        report.complete ? "no further allocation can be left out"
                                        : "stopped early: more could be left out");
    return text + fmt::format("To see it: {}\n", printable(report.again));
}

std::string minimize_json(const MinimizeReport& report, const Provenance& provenance) {
    return report::text_of({{"trace", report.name},
                            {"target", report.target},
                            {"format", report.format},
                            {"bytes", report.bytes},
                            {"condition", report.condition},
                            {"policy", report.policy},
                            {"figures", report::list_of(report.figures, minimized_figure_of)},
                            {"events", report.after.events},
                            {"events_before", report.before.events},
                            {"allocations", report.after.allocations},
                            {"allocations_before", report.before.allocations},
                            {"replays", report.replays},
                            {"complete", report.complete},
                            {"again", report.again},
                            {"provenance", report::provenance_of(provenance)}});
}

}  // namespace tidemark
