// Folding: tables by columns, rows by their last column, sentences by words.
#include "replay/cli_support/fit_screen.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "replay/report/forms/table.h"

namespace tidemark {
namespace {

constexpr std::size_t kFolded = 8;          // how far a row's second line is indented
constexpr std::size_t kNarrowestText = 12;  // a first column is not cut below that
constexpr std::size_t kLeading = 3;         // columns that are kept before those behind them

using Row = std::vector<std::string>;

// Calls `add(character, is_visible)` for each character; an escape sequence counts as one that is
// not visible.
template <class Add>
void for_each_character(std::string_view text, Add add) {
    while (!text.empty()) {
        std::size_t length = 1;
        const bool escape = text.starts_with("\x1b[");
        if (escape)
            length = std::min(text.find('m'), text.size() - 1) + 1;
        else
            while (length < text.size() &&
                   (static_cast<unsigned char>(text[length]) & 0xc0U) == 0x80U)
                ++length;
        add(text.substr(0, length), !escape);
        text.remove_prefix(length);
    }
}

std::size_t screen_width(std::string_view text) {
    std::size_t width = 0;
    for_each_character(text,
                       [&width](std::string_view, bool visible) { width += visible ? 1 : 0; });
    return width;
}

std::string plain(std::string_view text) {
    std::string result;
    for_each_character(text, [&result](std::string_view character, bool visible) {
        result += visible ? character : std::string_view();
    });
    return result;
}

// At most `width` characters, the last three dots if some are left out.
std::string cut(std::string_view text, std::size_t width) {
    if (screen_width(text) <= width)
        return std::string(text);
    std::string result;
    std::size_t used = 0;
    for_each_character(text, [&](std::string_view character, bool visible) {
        if (!visible || used + 3 < width)
            result += character;
        used += visible ? 1 : 0;
    });
    return result + "...";
}

std::string wrapped(std::string_view line, std::size_t width, std::size_t hanging) {
    const std::size_t indent = std::min(line.find_first_not_of(' '), width / 2);
    std::string text(indent, ' ');
    std::size_t used = indent;
    bool first = true;
    for (std::string_view rest = line.substr(indent); !rest.empty();) {
        const std::string_view word = rest.substr(0, rest.find(' '));
        rest.remove_prefix(std::min(word.size() + 1, rest.size()));
        const std::size_t length = screen_width(word);
        if (!first && used + 1 + length > width) {
            text += "\n" + std::string(indent + hanging, ' ');
            used = indent + hanging;
        } else if (!first) {
            text += ' ';
            ++used;
        }
        text += word;
        used += length;
        first = false;
    }
    return text + "\n";
}

// A row of a list: its last column on a line of its own.
std::string folded_row(std::string_view line, std::size_t width) {
    const std::size_t gap = line.rfind("  ");
    const std::string_view head = line.substr(0, line.find_last_not_of(' ', gap) + 1);
    const std::string_view last = line.substr(gap + 2);
    if (head.find_first_not_of(' ') == std::string_view::npos)
        return cut(line, width) + "\n";
    const std::string indent(kFolded, ' ');
    return cut(head, width) + "\n" + indent + cut(last, width - kFolded) + "\n";
}

class RuledTable {
  public:
    explicit RuledTable(const std::vector<std::string_view>& lines) {
        for (const std::string_view line : lines)
            rows_.push_back(cells_of(line));
        const bool even = std::ranges::all_of(
            rows_, [this](const Row& row) { return row.size() == rows_.front().size(); });
        whole_ = rows_.size() > 2 && even && rows_.front().size() > 1;
    }

    // Whether this is a table at all, and not lines that happen to begin with '|'.
    bool whole() const { return whole_; }

    std::string fitted(std::size_t width) {
        fold_same(width);
        leave_out(width);
        if (const std::size_t all = total(); all > width) {
            const std::size_t own = widths()[0];
            const std::size_t room = std::max(kNarrowestText, own - std::min(own, all - width));
            for (Row& row : rows_)
                row[0] = cut(row[0], room);
        }
        std::string text = laid_out();
        if (!same_.empty())
            text += wrapped(fmt::format("  in all rows: {}", same_), width, 2);
        if (!left_out_.empty())
            text += wrapped(fmt::format("  not shown here: {}", left_out_), width, 2);
        return text;
    }

  private:
    static Row cells_of(std::string_view line) {
        Row cells;
        std::string cell;
        for (std::size_t i = 1; i < line.size(); ++i) {
            if (line[i] == '|' && line[i - 1] != '\\') {
                cells.push_back(trimmed(cell));
                cell.clear();
            } else {
                cell += line[i];
            }
        }
        return cells;
    }

    static std::string trimmed(const std::string& text) {
        const std::size_t begin = text.find_first_not_of(' ');
        if (begin == std::string::npos)
            return {};
        return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
    }

    std::vector<std::size_t> widths() const {
        std::vector<std::size_t> result(rows_.front().size(), 3);
        for (std::size_t r = 0; r < rows_.size(); ++r)
            for (std::size_t c = 0; r != 1 && c < result.size(); ++c)
                result[c] = std::max(result[c], screen_width(rows_[r][c]));
        return result;
    }

    std::size_t total() const {
        std::size_t sum = 1;
        for (const std::size_t each : widths())
            sum += each + 3;
        return sum;
    }

    void erase(std::size_t column) {
        for (Row& row : rows_)
            row.erase(row.begin() + static_cast<std::ptrdiff_t>(column));
    }

    void fold_same(std::size_t width) {
        for (std::size_t c = rows_.front().size() - 1; c > 0 && total() > width; --c) {
            const std::string value = plain(rows_[2][c]);
            const bool same = rows_.size() > 3 &&
                              std::all_of(rows_.begin() + 2, rows_.end(),
                                          [&](const Row& row) { return plain(row[c]) == value; });
            if (!same)
                continue;
            same_ = fmt::format("{} {}{}{}", rows_[0][c], value.empty() ? "-" : value,
                                same_.empty() ? "" : ", ", same_);
            erase(c);
        }
    }

    // From the last but one to the left: the last is what went wrong, if something did.
    void leave_out(std::size_t width) {
        while (total() > width && rows_.front().size() > 2) {
            const std::size_t count = rows_.front().size();
            const std::size_t column = count > kLeading + 1 ? count - 2 : count - 1;
            left_out_ =
                fmt::format("{}{}{}", rows_[0][column], left_out_.empty() ? "" : ", ", left_out_);
            erase(column);
        }
    }

    std::string laid_out() const {
        const std::vector<std::size_t> width = widths();
        std::string text;
        for (std::size_t r = 0; r < rows_.size(); ++r) {
            text += "|";
            for (std::size_t c = 0; c < width.size(); ++c) {
                const bool right = rows_[1][c].ends_with(':');
                if (r == 1) {
                    std::string rule(width[c], '-');
                    rule.back() = right ? ':' : '-';
                    text += fmt::format(" {} |", rule);
                    continue;
                }
                const std::string blanks(width[c] - screen_width(rows_[r][c]), ' ');
                text += right ? fmt::format(" {}{} |", blanks, rows_[r][c])
                              : fmt::format(" {}{} |", rows_[r][c], blanks);
            }
            text += "\n";
        }
        return text;
    }

    std::vector<Row> rows_;
    bool whole_ = false;
    std::string same_;
    std::string left_out_;
};

bool begins_with_rule(std::string_view line) {
    return line.starts_with('|');
}

// A line of a shell or a program, which is pasted whole.
bool is_code(std::string_view text) {
    const std::string_view word = text.substr(0, text.find(' '));
    return word == "export" || word == "unset" || word == "import" ||
           (word.find('(') != std::string_view::npos && !word.starts_with('(')) ||
           word.find("::") != std::string_view::npos;
}

std::string fitted_line(std::string_view line, std::size_t width) {
    const std::string_view text = line.substr(std::min(line.find_first_not_of(' '), line.size()));
    if (screen_width(line) <= width || is_code(text))
        return std::string(line) + "\n";
    return text.find("  ") != std::string_view::npos ? folded_row(line, width)
                                                     : wrapped(line, width, 0);
}

}  // namespace

std::string fit_screen(std::string_view text, std::size_t width) {
    if (text.starts_with('{') || text.starts_with('['))
        return std::string(text);
    std::vector<std::string_view> lines;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        lines.push_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    std::string result;
    for (std::size_t i = 0; i < lines.size();) {
        std::size_t end = i;
        bool wide = false;
        for (; end < lines.size() && begins_with_rule(lines[end]); ++end)
            wide = wide || screen_width(lines[end]) > width;
        if (wide) {
            const std::vector<std::string_view> block(
                lines.begin() + static_cast<std::ptrdiff_t>(i),
                lines.begin() + static_cast<std::ptrdiff_t>(end));
            if (RuledTable table(block); table.whole()) {
                result += table.fitted(width);
                i = end;
                continue;
            }
        }
        result += fitted_line(lines[i], width);
        ++i;
    }
    return result;
}

}  // namespace tidemark
