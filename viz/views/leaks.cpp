// Leaks: what was allocated between the two cursors and not freed, by call site; without cursors,
// over the whole run.
#include "viz/model/blocks/leaks.h"

#include <array>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "core/base/text.h"
#include "viz/draw/filter_bar.h"
#include "viz/draw/table.h"
#include "viz/model/session/async_query.h"
#include "viz/views/inspection.h"
#include "viz/views/view.h"

namespace tidemark::viz {
namespace {

constexpr std::array<VirtualColumn, 6> kLeaksColumns{{
    {"bytes", Align::right},
    {"blocks", Align::right},
    {"each", Align::right, false, false, true},
    {"oldest", Align::right, false, false, true},
    {"youngest", Align::right, false, false, true},
    {"allocated at", Align::left, false, true},
}};

struct LeakQuestion {
    EventSpan span;
    Filter filter;

    friend bool operator==(const LeakQuestion&, const LeakQuestion&) = default;
};

Leaks answer(const History& history, const LeakQuestion& question, const Cancelled& cancelled) {
    return find_leaks(history, question.span, question.filter, cancelled);
}

class LeaksView final : public View {
  public:
    void draw(Frame& frame) override {
        if (follow_shown(frame, history_, names_) == Shown::nothing)
            return draw_no_history(frame);
        ask(frame);
        const Box below = draw_filter_bar(frame, frame.area, frame.area.left, *history_, total());
        draw_rows(frame, draw_caution(frame, below));
    }

    bool busy() const override { return leaks_.running(); }

  private:
    void ask(const Frame& frame) {
        std::optional<LeakQuestion> question;
        const std::size_t events = history_->counts().events;
        measured_ = frame.selection.measure.has_value();
        if (measured_)
            question = {*measured_span(*history_, frame.camera.unit(), frame.selection.measure),
                        frame.selection.filter};
        else if (events > 0)
            question = {{kNever, static_cast<EventIndex>(events - 1)}, frame.selection.filter};
        leaks_.ask(history_, question, question ? question->span.last : 0, answer);
        if (frame.still)
            leaks_.finish();
    }

    std::string total() const {
        const std::string when = measured_
                                     ? "allocated between the two cursors and not freed"
                                     : "live at the end of the run (Shift-drag to measure a part)";
        if (leaks_.answer() == nullptr)
            return when;
        return fmt::format("{} in {}, {}", format_bytes(leaks_.answer()->bytes),
                           format_counted(leaks_.answer()->blocks, "block"), when);
    }

    // Where events are missing, the list of unfreed blocks is an estimate: a note above it says so.
    Box draw_caution(Frame& frame, const Box& box) const {
        if (leaks_.answer() == nullptr || leaks_.answer()->lost == 0)
            return box;
        Canvas& canvas = frame.canvas;
        const float height = canvas.line_height() + canvas.px(6);
        const Box line{box.left, box.top, box.right, box.top + height};
        canvas.fill(line, mix(canvas.theme().panel, canvas.theme().warning, 0.25));
        canvas.text_within(
            {line.left + canvas.px(8), line.top + canvas.px(3), line.right, line.bottom},
            fmt::format("{} events are missing in this stretch: some of these blocks may have been "
                        "freed, and others are not here.",
                        format_count(leaks_.answer()->lost)),
            canvas.theme().text);
        return {box.left, line.bottom, box.right, box.bottom};
    }

    void draw_rows(Frame& frame, const Box& box) {
        static const Leaks kNone;
        const Leaks& leaks = leaks_.answer() == nullptr ? kNone : *leaks_.answer();
        TableContent content;
        content.columns = kLeaksColumns;
        content.rows = leaks.groups.size();
        content.text = [&](std::uint64_t row, std::size_t column) {
            return cell(leaks, leaks.groups[static_cast<std::size_t>(row)], column);
        };
        content.empty = leaks_.running() ? "Looking\u2026"
                        : measured_      ? "Everything allocated between the two cursors was freed "
                                           "before the second one, or the filter hides it."
                                    : "Nothing is live at the end of the run, or the filter hides "
                                      "it.";
        const TableTouch touch = list_.draw(frame, box, "leaks", content);
        if (touch.hovered) {
            const LeakGroup& group = leaks.groups[static_cast<std::size_t>(*touch.hovered)];
            point_at_block(frame, *history_, *names_, group.oldest);
            frame.selection.described = leaks_text(*history_, leaks);
        }
        if (touch.clicked)
            frame.selection.block = leaks.groups[static_cast<std::size_t>(*touch.clicked)].oldest;
        if (touch.double_clicked)
            show_life(frame, *history_,
                      leaks.groups[static_cast<std::size_t>(*touch.double_clicked)].oldest);
    }

    std::string cell(const Leaks& leaks, const LeakGroup& group, std::size_t column) const {
        switch (column) {
            case 0:
                return format_bytes(group.bytes);
            case 1:
                return format_count(group.blocks);
            case 2:
                return format_bytes(group.bytes / group.blocks);
            case 3:
                return age_text(*history_, history_->block(group.oldest).born, leaks.span.last);
            case 4:
                return age_text(*history_, history_->block(group.youngest).born, leaks.span.last);
            default:
                return group.name;
        }
    }

    std::shared_ptr<const History> history_;
    std::unique_ptr<SiteNames> names_;
    AsyncQuery<LeakQuestion, Leaks> leaks_;
    VirtualTable list_;
    bool measured_ = false;
};

}  // namespace

ViewInfo leaks_view() {
    return {"leaks", "Leaks", "What a stretch allocated and did not free, by call stack.",
            Pane::table, make_view<LeaksView>};
}

}  // namespace tidemark::viz
