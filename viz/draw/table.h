// VirtualTable: rows and columns of text, of any number of rows: only those on the screen are
// requested. Its scrollbar counts rows in 64 bits; ImGui's counts pixels in floats, which ends at a
// million rows.
//
// Columns are as wide as the widest text that they have shown, so that nothing is cut off and
// nothing jumps back and forth; the stretching ones share what is left; if there is too little
// room, droppable ones are dropped, the last first. A click on a title sorts. Screen's thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "viz/draw/frame.h"
#include "viz/model/blocks/table_rows.h"

namespace tidemark::viz {

struct VirtualColumn {
    std::string_view title;
    Align align = Align::left;
    bool sorts = false;      // its title can be clicked
    bool stretches = false;  // takes what is left, cutting texts off
    bool droppable = false;  // may be left out where there is no room
    bool hidden = false;     // there is nothing to show in it
    float points = 0;        // at least this wide
};

// A part of a cell's width behind its text, from one share of it to another.
struct CellBar {
    double from = 0;
    double to = 0;
    Colour colour = 0;
};

// How a row looks, apart from its text.
struct RowLook {
    bool selected = false;
    bool hot = false;                 // its subject is under the mouse, here or elsewhere
    std::optional<Colour> mark = {};  // a small square before the first column
    std::optional<Colour> text = {};  // instead of the theme's
};

// The contents of a table.
struct TableContent {
    std::span<const VirtualColumn> columns;
    std::uint64_t rows = 0;
    std::optional<std::size_t> sorted_by = {};  // a column
    bool descending = true;
    std::function<std::string(std::uint64_t row, std::size_t column)> text;
    std::function<RowLook(std::uint64_t row)> look = {};  // may be empty
    std::function<std::vector<CellBar>(std::uint64_t row, std::size_t column)> bars =
        {};                  // the same
    std::string_view empty;  // shown instead of no rows, with what to do about it
    // All rows for a file, exact; where it is empty a file gets what is shown. Null: not yet known.
    std::function<std::unique_ptr<TableRows>()> file_rows = {};
};

// The table as comma-separated values (replay/report/forms/csv_line.h): its titles, then at
// most `most_rows` rows. O(rows).
std::string csv_of(const TableContent& content, std::uint64_t most_rows);

constexpr std::uint64_t kMostCsvRows = 200'000;

// What the mouse did to it.
struct TableTouch {
    std::optional<std::uint64_t> hovered;
    std::optional<std::uint64_t> clicked;
    std::optional<std::uint64_t> double_clicked;
    std::optional<std::size_t> title;  // of a column that sorts
};

class VirtualTable {
  public:
    // Draws into `box`. `id` identifies the tables of one window. Cost: the rows on the screen. If
    // the selection requests a table and the mouse is over this one, it gets kMostCsvRows of it at
    // most; for a file it gets all its rows.
    TableTouch draw(Frame& frame, const Box& box, const char* id, const TableContent& content);

    // Scrolls as little as is needed to show the row, at the next draw.
    void show(std::uint64_t row) { wanted_ = row; }

    // Of its titles and so many rows.
    static float height(const Canvas& canvas, std::size_t rows);

    // The topmost row, and how many rows were visible at the last draw.
    std::uint64_t first() const { return first_; }

    std::uint64_t seen() const { return seen_; }

  private:
    // Where a column is; not drawn if it has no width.
    struct ColumnSpan {
        float left = 0;
        float right = 0;
    };

    static void give(Frame& frame, const Box& box, const char* id, const TableContent& content);
    void keep_in_bounds(const TableContent& content);
    void measure(const Canvas& canvas, const TableContent& content);
    std::vector<ColumnSpan> spans(const Canvas& canvas, const TableContent& content,
                                  const Box& box) const;
    void take_wheel(const Frame& frame, const Box& box, const TableContent& content);
    void draw_titles(Frame& frame, const Box& box, const TableContent& content,
                     const std::vector<ColumnSpan>& spans, TableTouch& touch);
    void draw_rows(Frame& frame, const Box& box, const TableContent& content,
                   const std::vector<ColumnSpan>& spans, const TableTouch& touch) const;
    void draw_scrollbar(Frame& frame, const Box& box, const char* id, const TableContent& content);

    std::uint64_t first_ = 0;
    std::uint64_t seen_ = 1;  // rows that fit, as of the last draw
    std::optional<std::uint64_t> wanted_;
    std::vector<float> widths_;                    // the widest text of each column so far
    std::vector<std::vector<std::string>> cells_;  // of the rows seen
    float scale_ = 0;                              // that the widths are for
    double grip_ = 0;  // rows between the first one and the mouse that holds the bar
};

// `text` in lines that fit `width`, broken at blanks where there are any, else anywhere. O(length *
// words).
std::vector<std::string> wrapped(const Canvas& canvas, std::string_view text, float width);

// A few sentences in the middle of a box that would otherwise be empty.
void draw_notice(Canvas& canvas, const Box& box, std::string_view text);

}  // namespace tidemark::viz
