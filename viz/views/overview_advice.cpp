// What to do, and facts about the run.
#include "viz/views/overview_advice.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "core/base/text.h"
#include "viz/draw/table.h"
#include "viz/views/inspection.h"

namespace tidemark::viz {
namespace {

constexpr std::size_t kMostFindings = 6;
constexpr float kFindingIndent = 14;  // points

Colour weight_colour(const Theme& theme, Finding::Weight weight) {
    return weight == Finding::Weight::problem   ? theme.problem
           : weight == Finding::Weight::warning ? theme.warning
                                                : theme.faint_text;
}

void show_finding(Frame& frame, const Finding& finding, std::size_t index) {
    const auto history = shown_history(frame);
    if (history && finding.event != kNever)
        go_to_event(frame, *history, finding.event);
    frame.selection.finding = index;
    frame.selection.wanted_view = "findings";
}

// A finding's title, which is a link, with a square that says how urgent it is.
void draw_title(Frame& frame, Writer& writer, const Finding& finding, std::size_t index) {
    Canvas& canvas = frame.canvas;
    const float indent = canvas.px(kFindingIndent);
    const auto lines = wrapped(canvas, finding.title, std::max(writer.box.width() - indent, 1.0F));
    if (!writer.has_room(static_cast<float>(lines.size())))
        return;
    const Box all{writer.box.left, writer.box.top, writer.box.right,
                  writer.box.top + writer.line() * static_cast<float>(lines.size())};
    if (clicked_line(frame, all, fmt::format("finding {}", index)))
        show_finding(frame, finding, index);
    const float size = canvas.px(6);
    const float middle = writer.box.top + writer.line() / 2;
    canvas.fill({writer.box.left, middle - size / 2, writer.box.left + size, middle + size / 2},
                weight_colour(canvas.theme(), finding.weight));
    for (const std::string& line : lines) {
        Box row = writer.row();
        row.left += indent;
        canvas.text_within(row, line, canvas.theme().text);
    }
}

// "Out of memory" of "Out of memory: 574 MiB requested": of several such the first is enough here.
std::string_view topic_of(const Finding& finding) {
    return std::string_view(finding.title).substr(0, finding.title.find(':'));
}

// The finding with the best advice: a setting that was tried, else the most urgent one.
std::size_t first_advice(const std::vector<Finding>& findings) {
    const auto tried =
        std::ranges::find_if(findings, [](const Finding& each) { return !each.policy.empty(); });
    return tried == findings.end() ? 0 : static_cast<std::size_t>(tried - findings.begin());
}

void draw_detail(Frame& frame, Writer& writer, const Finding& finding) {
    const float indent = frame.canvas.px(kFindingIndent);
    writer.box.left += indent;
    const Theme& theme = frame.canvas.theme();
    for (std::size_t at = 0; at < finding.detail.size();) {
        const std::size_t end = std::min(finding.detail.find('\n', at), finding.detail.size());
        const std::string line = finding.detail.substr(at, end - at);
        writer.paragraph(line, at == 0 && finding.has_command ? theme.text : theme.faint_text);
        at = end + 1;
    }
    if (!finding.policy.empty() && !frame.still && writer.has_room(1)) {
        const Box row = writer.row();
        constexpr std::string_view kReplay = "Show both side by side (U)";
        if (clicked_line(frame, row, "replay"))
            frame.selection.wanted_policy = finding.policy;
        frame.canvas.text_within(row, kReplay, theme.accent);
    }
    writer.box.left -= indent;
}

}  // namespace

void draw_what_to_do(Frame& frame, Writer& writer) {
    const Theme& theme = frame.canvas.theme();
    const ViewedRun& run = frame.run();
    const std::vector<Finding>& findings = run.findings;
    const LoadState& state = run.findings_state;
    if (!writer.has_room(3) || (findings.empty() && state.phase == LoadState::Phase::waiting))
        return;
    writer.heading("What to do");
    writer.skip(2);
    if (findings.empty()) {
        writer.paragraph(state.phase == LoadState::Phase::ready
                             ? "Nothing stands out: never out of memory, little fragmentation."
                             : state.activity + "\u2026",
                         theme.faint_text);
        return;
    }
    const std::size_t first = first_advice(findings);
    draw_title(frame, writer, findings[first], first);
    draw_detail(frame, writer, findings[first]);
    writer.skip(4);
    std::vector<std::string_view> topics{topic_of(findings[first])};
    const auto is_another = [&topics](const Finding& finding) {
        return std::ranges::none_of(topics, [&finding](std::string_view topic) {
            return finding.title.starts_with(topic);
        });
    };
    std::size_t shown = 1;
    for (std::size_t i = 0; i < findings.size() && shown < kMostFindings && writer.has_room(1); ++i)
        if (is_another(findings[i])) {
            topics.push_back(topic_of(findings[i]));
            draw_title(frame, writer, findings[i], i);
            ++shown;
        }
    if (findings.size() > shown)
        writer.paragraph(fmt::format("and {} more, in the table Findings", findings.size() - shown),
                         theme.faint_text);
    writer.skip(12);
}

void draw_run_facts(Frame& frame, Writer& writer) {
    if (!writer.has_room(4))
        return;
    const ViewedRun& run = frame.run();
    const Theme& theme = frame.canvas.theme();
    writer.heading("This run");
    writer.skip(2);
    writer.fact("trace", run.trace_name);
    writer.fact("policy", run.run ? run.run->scenario.policy : run.policy);
    if (run.history) {
        const HistoryCounts counts = run.history->counts();
        writer.fact("events", format_count(counts.events));
        writer.fact("blocks", format_count(counts.blocks));
        if (run.history->end(AxisUnit::time) > 1)
            writer.fact("length", format_duration(run.history->end(AxisUnit::time)));
    }
    if (run.run)
        writer.fact("device", run.run->device_name);
    if (run.tiers) {
        const TierStalls& stalls = run.tiers->stalls;
        writer.fact("machine", run.tiers->machine_name);
        writer.fact("kernels", format_count(run.tiers->kernels));
        writer.fact("length", format_duration(run.tiers->makespan));
        writer.fact("stalls",
                    fmt::format("{} for data in transit, {} for room, {} for reservations",
                                format_duration(stalls.fetch), format_duration(stalls.room),
                                format_duration(stalls.reservation)));
    }
    for (const std::string& warning : run.warnings)
        writer.paragraph("note: " + warning, theme.faint_text);
}

}  // namespace tidemark::viz
