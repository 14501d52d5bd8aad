// Laying out a table: measure, pad, join.
#include "replay/report/forms/table.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/check.h"

namespace tidemark {
namespace {

constexpr std::size_t kNarrowestColumn = 3;  // "--:" is the shortest rule

// A cell's text as it is written; '|' would end the cell.
std::string shown(const TableCell& cell, Emphasis emphasis) {
    std::string text;
    for (const char letter : cell.text)
        text += letter == '|' ? std::string("\\|") : std::string(1, letter);
    return cell.strong && emphasis == Emphasis::markdown ? fmt::format("**{}**", text) : text;
}

std::string padded(const std::string& text, std::size_t width, Align align) {
    const std::size_t used = text_width(text);
    const std::string blanks(width > used ? width - used : 0, ' ');
    return align == Align::left ? text + blanks : blanks + text;
}

std::string rule(std::size_t width, Align align) {
    std::string dashes(width, '-');
    if (align == Align::right)
        dashes.back() = ':';
    return dashes;
}

}  // namespace

Table Table::untitled(std::string_view alignments) {
    std::vector<TableColumn> columns;
    for (const char alignment : alignments)
        columns.push_back({"", alignment == 'l' ? Align::left : Align::right});
    return Table(std::move(columns));
}

void Table::add(std::vector<TableCell> row) {
    TM_CHECK(row.size() <= columns_.size());
    row.resize(columns_.size());
    rows_.push_back(std::move(row));
}

std::vector<std::size_t> Table::widths(Emphasis emphasis) const {
    std::vector<std::size_t> result;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        std::size_t width = text_width(columns_[i].title);
        for (const auto& row : rows_)
            width = std::max(width, text_width(shown(row[i], emphasis)));
        result.push_back(width);
    }
    return result;
}

std::string Table::ruled(Emphasis emphasis) const {
    std::vector<std::size_t> width = widths(emphasis);
    for (std::size_t& each : width)
        each = std::max(each, kNarrowestColumn);
    std::string titles = "|";
    std::string rules = "|";
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        titles += fmt::format(" {} |", padded(columns_[i].title, width[i], columns_[i].align));
        rules += fmt::format(" {} |", rule(width[i], columns_[i].align));
    }
    std::string text = fmt::format("{}\n{}\n", titles, rules);
    for (const auto& row : rows_) {
        text += "|";
        for (std::size_t i = 0; i < columns_.size(); ++i) {
            std::string cell = padded(shown(row[i], emphasis), width[i], columns_[i].align);
            if (row[i].strong && emphasis == Emphasis::terminal)
                cell = fmt::format("\x1b[1m{}\x1b[0m", cell);
            text += fmt::format(" {} |", cell);
        }
        text += "\n";
    }
    return text;
}

std::string Table::bare(std::string_view indent) const {
    std::vector<std::size_t> width;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        width.push_back(0);
        for (const auto& row : rows_)
            width[i] = std::max(width[i], text_width(row[i].text));
    }
    std::string text;
    for (const auto& row : rows_) {
        std::string line(indent);
        for (std::size_t i = 0; i < columns_.size(); ++i)
            line += (i == 0 ? "" : "  ") + padded(row[i].text, width[i], columns_[i].align);
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + "\n";
    }
    return text;
}

std::string Table::section(std::string_view title) const {
    return rows_.empty() ? std::string() : fmt::format("\n{}\n{}", title, bare("  "));
}

std::size_t text_width(std::string_view text) {
    return static_cast<std::size_t>(std::ranges::count_if(
        text, [](char letter) { return (static_cast<unsigned char>(letter) & 0xc0U) != 0x80U; }));
}

}  // namespace tidemark
