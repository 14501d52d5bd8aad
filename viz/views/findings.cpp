// Findings: what is worth a look, as a list, with the chosen one in full next to it. A click goes
// there.
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "core/base/text.h"
#include "viz/draw/table.h"
#include "viz/views/inspection.h"
#include "viz/views/view.h"

namespace tidemark::viz {
namespace {

constexpr std::array<VirtualColumn, 3> kFindingsColumns{{
    {"", Align::left},
    {"finding", Align::left, false, true},
    {"where", Align::right, false, false, true},
}};

std::string_view word_of(Finding::Weight weight) {
    switch (weight) {
        case Finding::Weight::problem:
            return "problem";
        case Finding::Weight::warning:
            return "warning";
        case Finding::Weight::note:
            return "note";
    }
    return "";
}

Colour edge_colour(const Theme& theme, Finding::Weight weight) {
    return weight == Finding::Weight::problem   ? theme.problem
           : weight == Finding::Weight::warning ? theme.warning
                                                : theme.border;
}

class FindingsView final : public View {
  public:
    void draw(Frame& frame) override {
        Canvas& canvas = frame.canvas;
        canvas.fill(frame.area, canvas.theme().panel);
        const ViewedRun* const run = frame.session.shown(frame.selection.run);
        if (run == nullptr)
            return;
        const std::vector<Finding>& findings = run->findings;
        std::size_t& chosen = frame.selection.finding;
        chosen = std::min(chosen, findings.empty() ? 0 : findings.size() - 1);
        const float middle = frame.area.left + std::floor(frame.area.width() * 0.52F);
        const bool wide = frame.area.width() > canvas.px(700) && !findings.empty();
        Box list{frame.area.left, frame.area.top, wide ? middle : frame.area.right,
                 frame.area.bottom};
        list.bottom = draw_advice(frame, *run, list);
        draw_list(frame, *run, list);
        if (wide)
            draw_detail(frame, findings[chosen],
                        {middle, frame.area.top, frame.area.right, frame.area.bottom});
    }

  private:
    // At the bottom: that `advise` has not run, and how to run it; or its progress. Returns where
    // it starts.
    static float draw_advice(Frame& frame, const ViewedRun& run, const Box& box) {
        const std::string text = advice_text(run);
        if (text.empty())
            return box.bottom;
        Canvas& canvas = frame.canvas;
        const float pad = canvas.px(8);
        const float top = box.bottom - ImGui::GetFrameHeight() - pad;
        canvas.horizontal(top, box.left, box.right, canvas.theme().border);
        Box line{box.left + pad, top + pad / 2, box.right - pad, box.bottom - pad / 2};
        if (run.unadvised_events > 0 && !frame.still) {
            constexpr const char* kAsk = "Ask now";
            line.right -= ImGui::CalcTextSize(kAsk).x + 2 * ImGui::GetStyle().FramePadding.x;
            ImGui::SetCursorScreenPos({line.right, line.top});
            if (ImGui::Button(kAsk))
                frame.selection.wants_advice = true;
            line.right -= pad;
        }
        canvas.text_within(line, text, canvas.theme().faint_text);
        return top;
    }

    static std::string advice_text(const ViewedRun& run) {
        const LoadState& state = run.findings_state;
        if (state.phase == LoadState::Phase::loading)
            return fmt::format("{}: {:.0f} %", state.activity, std::floor(100 * state.share));
        if (state.phase == LoadState::Phase::failed)
            return "Settings that need less are not known: " + state.error.what;
        if (!run.advised_with.empty())
            return "Settings that need less were searched for once for the trace: see " +
                   run.advised_with;
        if (run.unadvised_events == 0)
            return {};
        return fmt::format(
            "Settings that need less were not searched for: with {} that takes minutes",
            format_counted(run.unadvised_events, "event"));
    }

    void draw_list(Frame& frame, const ViewedRun& run, const Box& box) {
        const std::vector<Finding>& findings = run.findings;
        const auto history = shown_history(frame);
        TableContent content;
        content.columns = kFindingsColumns;
        content.rows = findings.size();
        content.text = [&](std::uint64_t row, std::size_t column) {
            const Finding& finding = findings[static_cast<std::size_t>(row)];
            if (column == 0)
                return std::string(word_of(finding.weight));
            return column == 1 ? finding.title : where(history.get(), finding.event);
        };
        content.look = [&](std::uint64_t row) {
            const Finding& finding = findings[static_cast<std::size_t>(row)];
            RowLook look;
            look.selected = row == frame.selection.finding;
            look.mark = edge_colour(frame.canvas.theme(), finding.weight);
            return look;
        };
        const std::string empty = no_findings(run);
        content.empty = empty;
        const TableTouch touch = list_.draw(frame, box, "findings", content);
        if (touch.hovered) {
            const Finding& finding = findings[static_cast<std::size_t>(*touch.hovered)];
            frame.selection.described = finding.title + "\n" + finding.detail;
        }
        if (touch.clicked) {
            frame.selection.finding = static_cast<std::size_t>(*touch.clicked);
            go_there(frame, findings[frame.selection.finding], history.get());
        }
    }

    static std::string where(const History* history, EventIndex event) {
        if (event == kNever)
            return {};
        if (history != nullptr && event < history->counts().events &&
            history->end(AxisUnit::time) > 1)
            return format_duration(history->time(event));
        return "event " + format_count(event);
    }

    static void go_there(Frame& frame, const Finding& finding, const History* history) {
        if (history == nullptr)
            return;
        if (finding.event != kNever)
            go_to_event(frame, *history, finding.event);
        if (finding.block != kNoBlock && finding.block < history->counts().blocks)
            frame.selection.block = finding.block;
    }

    static void draw_detail(Frame& frame, const Finding& finding, const Box& box) {
        Canvas& canvas = frame.canvas;
        const Theme& theme = canvas.theme();
        canvas.vertical(box.left, box.top, box.bottom, theme.border);
        const Box inside{box.left + canvas.px(16), box.top + canvas.px(10),
                         box.right - canvas.px(16), box.bottom};
        const float line = std::ceil(canvas.line_height() * 1.3F);
        canvas.clip(box);
        float top = inside.top;
        canvas.fill({inside.left, top, inside.left + canvas.px(4), top + canvas.line_height()},
                    edge_colour(theme, finding.weight));
        for (const std::string& text :
             wrapped(canvas, finding.title, inside.width() - canvas.px(12))) {
            canvas.text({inside.left + canvas.px(12), top}, text, theme.text);
            top += line;
        }
        top += line / 3;
        for (const std::string& text : wrapped(canvas, finding.detail, inside.width())) {
            canvas.text_within({inside.left, top, inside.right, top + line}, text,
                               mix(theme.faint_text, theme.text, 0.5));
            top += line;
        }
        if (finding.event != kNever)
            canvas.text({inside.left, top + line / 3}, "A click in the list goes there.",
                        theme.faint_text);
        canvas.unclip();
    }

    static std::string no_findings(const ViewedRun& run) {
        const LoadState& state = run.findings_state;
        if (state.phase == LoadState::Phase::failed)
            return fmt::format("Looking for findings failed: {}. {}", state.error.what,
                               state.error.hint);
        if (state.phase == LoadState::Phase::ready)
            return "Nothing stands out: never out of memory, little fragmentation, no lost events.";
        if (run.tiers)
            return "Runs over tiers are not searched for findings: their lanes and figures are "
                   "in the timeline.";
        if (run.live)
            return "A live program is not searched for findings: open its recording.";
        return state.activity.empty() ? "Looking for findings\u2026" : state.activity + "\u2026";
    }

    VirtualTable list_;
};

}  // namespace

ViewInfo findings_view() {
    return {.name = "findings",
            .title = "Findings",
            .summary = "What is worth a look, the most urgent first; a click goes there.",
            .pane = Pane::table,
            .make = make_view<FindingsView>,
            .shows_advice = true};
}

}  // namespace tidemark::viz
