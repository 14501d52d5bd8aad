// Bookmarks: those of the shown trace as a table: a click goes there, a double click edits.
#include "viz/model/navigation/bookmarks.h"

#include <array>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "core/base/text.h"
#include "viz/draw/table.h"
#include "viz/model/blocks/site_names.h"
#include "viz/views/inspection.h"
#include "viz/views/view.h"

namespace tidemark::viz {
namespace {

constexpr std::array<VirtualColumn, 5> kBookmarksColumns{{
    {"name", Align::left},
    {"where", Align::left, false, false, true},
    {"block", Align::left, false, false, true},
    {"note", Align::left, false, true},
    {"made for", Align::left, false, false, true},
}};

constexpr std::string_view kNoBookmarks =
    "M sets a bookmark at the mouse or the cursor, or on the measured stretch, and asks for its "
    "name; N and P go from one to the next, Shift-G and bookmark:NAME to any.";

class BookmarksView final : public View {
  public:
    void draw(Frame& frame) override {
        if (frame.selection.bookmarks == nullptr ||
            frame.selection.run >= frame.session.runs.size())
            return draw_no_history(frame);
        draw_rows(frame, draw_head(frame));
    }

  private:
    static Box draw_head(Frame& frame) {
        Canvas& canvas = frame.canvas;
        const Bookmarks& bookmarks = *frame.selection.bookmarks;
        const float high = std::ceil(canvas.line_height() + canvas.px(8));
        const Box& area = frame.area;
        const std::size_t count = bookmarks.notes().size();
        std::string text = count == 0 ? std::string() : format_counted(count, "bookmark") + ". ";
        if (!frame.still)
            text += bookmarks.about();
        const bool is_kept = text.find("session only") == std::string::npos;
        canvas.text_within({area.left + canvas.px(8), area.top + canvas.px(4),
                            area.right - canvas.px(8), area.top + high},
                           text, is_kept ? canvas.theme().faint_text : canvas.theme().warning);
        return {area.left, area.top + high, area.right, area.bottom};
    }

    void draw_rows(Frame& frame, const Box& box) {
        const std::vector<Note>& notes = frame.selection.bookmarks->notes();
        const ViewedRun& run = frame.run();
        bool any_block = false;
        bool any_other = false;
        for (const Note& note : notes) {
            any_block = any_block || note.block.has_value();
            any_other = any_other || is_of_another_trace(note, run);
        }
        std::array<VirtualColumn, 5> columns = kBookmarksColumns;
        columns[2].hidden = !any_block;
        columns[4].hidden = !any_other;
        TableContent content;
        content.columns = columns;
        content.rows = notes.size();
        content.text = [&](std::uint64_t row, std::size_t column) {
            return cell(notes[static_cast<std::size_t>(row)], run, column);
        };
        content.look = [&](std::uint64_t row) {
            const Note& note = notes[static_cast<std::size_t>(row)];
            RowLook look;
            look.mark = is_of_another_trace(note, run) ? frame.canvas.theme().warning
                                                       : frame.canvas.theme().accent;
            return look;
        };
        content.empty = kNoBookmarks;
        const TableTouch touch = list_.draw(frame, box, "bookmarks", content);
        if (touch.hovered) {
            const Note& note = notes[static_cast<std::size_t>(*touch.hovered)];
            frame.selection.hot_bookmark = note.id;
            frame.selection.described = note.name + "\n" + where_text(note) + "\n" + note.text;
        }
        using Kind = BookmarkRequest::Kind;
        if (touch.clicked)
            frame.selection.wanted_bookmark = {Kind::go_to,
                                               notes[static_cast<std::size_t>(*touch.clicked)].id};
        if (touch.double_clicked)
            frame.selection.wanted_bookmark = {
                Kind::edit, notes[static_cast<std::size_t>(*touch.double_clicked)].id};
    }

    static std::string cell(const Note& note, const ViewedRun& run, std::size_t column) {
        switch (column) {
            case 0:
                return one_line(note.name, 60);
            case 1:
                return where_text(note);
            case 2:
                return note.block ? fmt::format("#{}", *note.block) : std::string();
            case 3:
                return one_line(note.text, 400);
            default:
                return is_of_another_trace(note, run) ? "another content of the trace" : "";
        }
    }

    VirtualTable list_;
};

}  // namespace

ViewInfo bookmarks_view() {
    return {"bookmarks", "Bookmarks",
            "Moments and stretches that somebody named, with notes; a click goes there.",
            Pane::table, make_view<BookmarksView>};
}

}  // namespace tidemark::viz
