// Events: everything that happened, in order, as a table that follows the cursor.
#include <array>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "core/base/text.h"
#include "viz/draw/filter_bar.h"
#include "viz/draw/table.h"
#include "viz/model/blocks/event_table.h"
#include "viz/model/session/moment.h"
#include "viz/views/inspection.h"
#include "viz/views/view.h"

namespace tidemark::viz {
namespace {

constexpr std::array<VirtualColumn, 8> kEventsColumns{{
    {"event", Align::right},
    {"time", Align::right},
    {"what", Align::left},
    {"size", Align::right},
    {"address", Align::right, false, false, true},
    {"stream", Align::right, false, false, true},
    {"tag", Align::left, false, false, true},
    {"allocated at", Align::left, false, true},
}};

class EventsView final : public View {
  public:
    void draw(Frame& frame) override {
        const Shown shown = follow_shown(frame, history_, names_);
        if (shown == Shown::nothing)
            return draw_no_history(frame);
        if (shown == Shown::another)
            followed_.reset();
        rows_.ask(history_, frame.selection.filter);
        if (frame.still)
            rows_.finish();
        follow_cursor(frame);
        const Box below = draw_filter_bar(frame, frame.area, frame.area.left, *history_, total());
        draw_rows(frame, below);
    }

    bool busy() const override { return rows_.running(); }

  private:
    // The table follows the cursor; scrolling the table does not move the cursor.
    void follow_cursor(const Frame& frame) {
        const std::optional<Instant> instant =
            instant_of(frame.run(), frame.camera.unit(), frame.selection.cursor);
        at_ = instant ? std::optional(instant->event) : std::nullopt;
        if (at_ == followed_ || !at_)
            return;
        const std::uint64_t row = rows_.row_from(*at_);
        if (row < rows_.rows()) {
            list_.show(row);
            followed_ = at_;
        }
    }

    std::string total() const {
        if (!rows_.filtered())
            return format_count(rows_.rows()) + " events";
        std::string text = fmt::format("{} of {}", format_count(rows_.rows()),
                                       format_counted(history_->counts().events, "event"));
        if (rows_.running())
            text += fmt::format(", {:.0f} % searched", 100 * rows_.share());
        return text;
    }

    void draw_rows(Frame& frame, const Box& box) {
        TableContent content;
        std::array<VirtualColumn, kEventsColumns.size()> columns = kEventsColumns;
        columns[6].hidden = !names_->has_tags();
        columns[7].hidden = history_->stacks().size() <= 1;
        content.columns = columns;
        content.rows = rows_.rows();
        content.text = [this](std::uint64_t row, std::size_t column) { return cell(row, column); };
        content.file_rows = [this]() -> std::unique_ptr<TableRows> {
            return rows_.running() ? nullptr
                                   : event_rows_for_file(history_, rows_.bits(), rows_.rows());
        };
        content.look = [&](std::uint64_t row) {
            const EventIndex event = rows_.event(row);
            const BlockIndex block = history_->block_at(event);
            RowLook look;
            look.selected = at_ == event;
            look.hot = block != kNoBlock &&
                       (frame.selection.hot_block == block || frame.selection.block == block);
            if (history_->kind(event) != EventKind::allocate)
                look.text = frame.canvas.theme().faint_text;
            if (history_->kind(event) == EventKind::out_of_memory)
                look.text = frame.canvas.theme().problem;
            return look;
        };
        content.empty = rows_.running()    ? "Looking\u2026"
                        : rows_.filtered() ? "No event is about a block that passes the filter."
                                           : "Nothing has happened yet.";
        take(frame, list_.draw(frame, box, "events", content));
    }

    void take(Frame& frame, const TableTouch& touch) {
        if (touch.hovered)
            point_at(frame, rows_.event(*touch.hovered));
        if (touch.clicked) {
            const EventIndex event = rows_.event(*touch.clicked);
            go_to_event(frame, *history_, event);
            followed_ = instant_of(frame.run(), frame.camera.unit(), frame.selection.cursor)
                            .value_or(Instant{event})
                            .event;
            if (const BlockIndex block = history_->block_at(event); block != kNoBlock)
                frame.selection.block = block;
        }
        if (touch.double_clicked)
            if (const BlockIndex block = history_->block_at(rows_.event(*touch.double_clicked));
                block != kNoBlock)
                show_life(frame, *history_, block);
    }

    void point_at(Frame& frame, EventIndex event) {
        if (const BlockIndex block = history_->block_at(event); block != kNoBlock)
            frame.selection.hot_block = block;
        const EventRow row = event_row(*history_, event, *names_);
        frame.selection.described =
            fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}", row.index, row.time, row.kind, row.size,
                        row.address, row.stream, row.tag, row.call_site);
    }

    std::string cell(std::uint64_t row, std::size_t column) {
        if (row != cached_row_ || column == 0) {
            cached_ = event_row(*history_, rows_.event(row), *names_);
            cached_row_ = row;
        }
        const std::array<const std::string*, kEventsColumns.size()> cells{
            &cached_.index,   &cached_.time,   &cached_.kind, &cached_.size,
            &cached_.address, &cached_.stream, &cached_.tag,  &cached_.call_site};
        return *cells[column];
    }

    std::shared_ptr<const History> history_;
    std::unique_ptr<SiteNames> names_;
    EventTable rows_;
    VirtualTable list_;
    std::optional<EventIndex> at_;        // where the cursor is
    std::optional<EventIndex> followed_;  // where the table went last
    std::uint64_t cached_row_ = ~std::uint64_t{0};
    EventRow cached_;
};

}  // namespace

ViewInfo events_view() {
    return {"events", "Events", "All events in order; the table follows the cursor.", Pane::table,
            make_view<EventsView>};
}

}  // namespace tidemark::viz
