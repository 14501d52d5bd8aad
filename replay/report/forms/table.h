// Table: rows and columns as text. One layout serves both a terminal and a GitHub issue: columns
// are aligned with blanks and ruled as in Markdown, so a table copied from the screen stays a
// table. Pure; widths count UTF-8 characters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tidemark {

enum class Align : std::uint8_t { left, right };

// How the best cells are made to stand out.
enum class Emphasis : std::uint8_t { none, terminal, markdown };

struct TableColumn {
    std::string title;
    Align align = Align::right;
};

struct TableCell {
    std::string text;
    bool strong = false;
};

class Table {
  public:
    explicit Table(std::vector<TableColumn> columns) : columns_(std::move(columns)) {}

    // Columns without titles, "l" aligned left and "r" right: "lrr".
    static Table untitled(std::string_view alignments);

    // A row from its first cell on, at most as many as columns (TM_CHECK); the rest is empty.
    void add(std::vector<TableCell> row);

    // The same with plain texts, none of which stands out.
    template <class... Text>
    void row(Text&&... texts) {
        add({TableCell{std::string(std::forward<Text>(texts))}...});
    }

    // Ruled with '|' and '-', a new line at the end. O(cells).
    std::string ruled(Emphasis emphasis) const;

    // Without rules and titles, `indent` before each line: for lists of names and figures.
    std::string bare(std::string_view indent) const;

    // Such a list below a title, after an empty line; "" if it has no rows.
    std::string section(std::string_view title) const;

  private:
    std::vector<std::size_t> widths(Emphasis emphasis) const;

    std::vector<TableColumn> columns_;
    std::vector<std::vector<TableCell>> rows_;
};

// Columns of `text` on a screen, one for each code point.
std::size_t text_width(std::string_view text);

}  // namespace tidemark
