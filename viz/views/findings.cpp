// Findings: what is worth a look, as a list; the chosen one in full beside it. A click goes there.
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

constexpr std::array<VirtualColumn, 3> kColumns{{
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

Colour colour_of(const Theme& theme, Finding::Weight weight) {
    return weight == Finding::Weight::problem   ? theme.problem
           : weight == Finding::Weight::warning ? theme.warning
                                                : theme.border;
}

class FindingsView final : public View {
  public:
    void draw(Frame& frame) override {
        Canvas& canvas = frame.canvas;
        const std::vector<Finding>& findings = frame.session.findings;
        chosen_ = std::min(chosen_, findings.empty() ? 0 : findings.size() - 1);
        canvas.fill(frame.area, canvas.theme().panel);
        const float middle = frame.area.left + std::floor(frame.area.width() * 0.52F);
        const bool wide = frame.area.width() > canvas.px(700) && !findings.empty();
        draw_list(frame, {frame.area.left, frame.area.top, wide ? middle : frame.area.right,
                          frame.area.bottom});
        if (wide)
            draw_detail(frame, {middle, frame.area.top, frame.area.right, frame.area.bottom});
    }

  private:
    void draw_list(Frame& frame, const Box& box) {
        const std::vector<Finding>& findings = frame.session.findings;
        const auto history = shown_history(frame);
        TableContent content;
        content.columns = kColumns;
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
            look.selected = row == chosen_;
            look.mark = colour_of(frame.canvas.theme(), finding.weight);
            return look;
        };
        const std::string empty = no_findings(frame.session.findings_state);
        content.empty = empty;
        const TableTouch touch = list_.draw(frame, box, "findings", content);
        if (touch.hovered) {
            const Finding& finding = findings[static_cast<std::size_t>(*touch.hovered)];
            frame.selection.described = finding.title + "\n" + finding.detail;
        }
        if (touch.clicked) {
            chosen_ = static_cast<std::size_t>(*touch.clicked);
            go_there(frame, findings[chosen_], history.get());
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

    void draw_detail(Frame& frame, const Box& box) const {
        Canvas& canvas = frame.canvas;
        const Theme& theme = canvas.theme();
        const Finding& finding = frame.session.findings[chosen_];
        canvas.vertical(box.left, box.top, box.bottom, theme.border);
        const Box inside{box.left + canvas.px(16), box.top + canvas.px(10),
                         box.right - canvas.px(16), box.bottom};
        const float line = std::ceil(canvas.line_height() * 1.3F);
        canvas.clip(box);
        float top = inside.top;
        canvas.fill({inside.left, top, inside.left + canvas.px(4), top + canvas.line_height()},
                    colour_of(theme, finding.weight));
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

    static std::string no_findings(const LoadState& state) {
        switch (state.phase) {
            case LoadState::Phase::failed:
                return fmt::format("Looking for findings failed: {}. {}", state.error.what,
                                   state.error.hint);
            case LoadState::Phase::ready:
                return "Nothing stands out: no refusals, little fragmentation, no lost events.";
            case LoadState::Phase::waiting:
            case LoadState::Phase::loading:
                break;
        }
        return state.doing.empty() ? "Looking for what is worth a look\u2026"
                                   : state.doing + "\u2026";
    }

    VirtualTable list_;
    std::size_t chosen_ = 0;
};

}  // namespace

ViewInfo findings_view() {
    return {"findings", "Findings",
            "What is worth a look, the most urgent first; a click goes there.", ViewPlace::table,
            [] { return std::unique_ptr<View>(new FindingsView); }};
}

}  // namespace tidemark::viz
