// One object a finding; every key is in docs/json.md.
#include "replay/report/findings/finding_json.h"

#include <utility>

#include "replay/report/findings/finding_text.h"

namespace tidemark::report {
namespace {

Json part_of(const findings::Part& part) {
    return {{"role", part.role},   {"name", part.name},
            {"bytes", part.bytes}, {"count", part.count},
            {"note", part.note},   {"helps", part.role == "remedy" ? Json(part.helps) : Json()}};
}

}  // namespace

Json findings_json(std::span<const findings::Finding> list) {
    return list_of(list, [](const findings::Finding& finding) -> Json {
        const FindingText said = finding_text(finding);
        Json figures = Json::object();
        for (const findings::Figure& figure : finding.figures)
            figures[std::string(figure.name)] = figure.value;
        return {{"kind", to_text(finding.kind)},
                {"severity", to_text(finding.severity)},
                {"title", said.title},
                {"detail", said.detail},
                {"command", said.command},
                {"run", finding.run},
                {"place", finding.site},
                {"event", or_null(finding.event, kNotInTrace)},
                {"time_ns", finding.time < 0 ? Json() : Json(finding.time)},
                {"figures", std::move(figures)},
                {"parts", list_of(finding.parts, part_of)}};
    });
}

}  // namespace tidemark::report
