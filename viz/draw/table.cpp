// VirtualTable: the rows on the screen are requested first, which gives widths; then drawn.
#include "viz/draw/table.h"

#include <algorithm>
#include <cmath>

namespace tidemark::viz {
namespace {

constexpr float kTableRowPad = 2;    // points above and below a row's text
constexpr float kColumnPad = 8;      // points left and right of a column's text
constexpr float kTableBar = 12;      // points: the scrollbar's width
constexpr float kShortestGrip = 24;  // points
constexpr float kLeastStretch = 90;  // points for a stretching column
constexpr float kTableMark = 9;      // points: the square before a row
constexpr std::uint64_t kWheelRows = 3;

float row_height(const Canvas& canvas) {
    return std::ceil(canvas.line_height() + canvas.px(2 * kTableRowPad));
}

// An invisible item over `box`; false in pictures, where nothing can be touched.
bool item(const Frame& frame, const Box& box, const char* id) {
    if (frame.still || box.width() < 1 || box.height() < 1)
        return false;
    ImGui::SetCursorScreenPos({box.left, box.top});
    ImGui::InvisibleButton(id, {box.width(), box.height()});
    return true;
}

void draw_arrow(Canvas& canvas, float x, float y, bool down, Colour colour) {
    const float half = canvas.px(3.5F);
    const float tip = down ? half : -half;
    canvas.triangle({x - half, y - tip / 2}, {x + half, y - tip / 2}, {x, y + tip / 2}, colour);
}

// Anything above zero gets at least a pixel.
void draw_bars(Canvas& canvas, const Box& cell, const std::vector<CellBar>& bars) {
    const float gap = canvas.px(kTableRowPad);
    for (const CellBar& bar : bars) {
        if (bar.to <= bar.from)
            continue;
        const float left = cell.left + std::round(cell.width() * static_cast<float>(bar.from));
        const float right = cell.left + std::round(cell.width() * static_cast<float>(bar.to));
        canvas.fill({left, cell.top + gap, std::max(right, left + 1), cell.bottom - gap},
                    bar.colour);
    }
}

// For a word that is too long for a line, the part that fits: up to the end of a folder, if there
// is one. At least a letter.
std::size_t fitting_letters(const Canvas& canvas, std::string_view word, float width) {
    std::size_t fits = 0;
    std::size_t folder = 0;
    for (std::size_t end = 1; end <= word.size() && word[end - 1] != ' '; ++end) {
        const bool inside =
            end < word.size() && (static_cast<unsigned char>(word[end]) & 0xc0U) == 0x80U;
        if (inside)
            continue;
        if (fits > 0 && canvas.text_width(word.substr(0, end)) > width)
            break;
        fits = end;
        if (word[end - 1] == '/')
            folder = end;
    }
    return folder > 0 ? folder : std::max<std::size_t>(fits, 1);
}

}  // namespace

namespace {

// Our columns are figures, at the right; texts of the trace are at the left.
void put_row(CsvLine& line, const TableContent& content, std::uint64_t row) {
    for (std::size_t i = 0; i < content.columns.size(); ++i) {
        if (content.columns[i].hidden)
            continue;
        const std::string cell = content.text(row, i);
        content.columns[i].align == Align::left ? line.text(cell) : line.figure(cell);
    }
}

void put_titles(CsvLine& line, const TableContent& content) {
    for (const VirtualColumn& column : content.columns)
        if (!column.hidden)
            line.figure(column.title);
}

// Everything shown: such tables have a row for each of a few things.
std::unique_ptr<TableRows> shown_rows(const TableContent& content) {
    CsvLine titles;
    put_titles(titles, content);
    std::vector<std::string> lines;
    for (std::uint64_t row = 0; row < content.rows; ++row) {
        CsvLine line;
        put_row(line, content, row);
        lines.push_back(std::move(line.lines()));
    }
    return text_rows_for_file(std::move(titles.lines()), std::move(lines));
}

}  // namespace

std::string csv_of(const TableContent& content, std::uint64_t most_rows) {
    CsvLine line;
    put_titles(line, content);
    line.end();
    for (std::uint64_t row = 0; row < std::min(content.rows, most_rows); ++row) {
        put_row(line, content, row);
        line.end();
    }
    return std::move(line.lines());
}

// Hands the table over if it was requested.
void VirtualTable::give(Frame& frame, const Box& box, const char* id, const TableContent& content) {
    Selection& selection = frame.selection;
    const bool has_mouse = (selection.wants_table || selection.wanted_rows == "mouse") &&
                           box.contains(ImGui::GetIO().MousePos) && ImGui::IsWindowHovered();
    if (selection.wants_table && has_mouse) {
        selection.wants_table = false;
        selection.table = csv_of(content, kMostCsvRows);
        selection.table_rows = content.rows;
    }
    if (selection.wanted_rows.empty())
        return;
    if (selection.wanted_rows == "mouse" ? has_mouse
                                         : selection.wanted_rows == selection.drawn_view) {
        selection.wanted_rows.clear();
        selection.rows = content.file_rows ? content.file_rows() : shown_rows(content);
        selection.rows_name = id;
    }
}

TableTouch VirtualTable::draw(Frame& frame, const Box& box, const char* id,
                              const TableContent& content) {
    TableTouch touch;
    Canvas& canvas = frame.canvas;
    const float height = row_height(canvas);
    if (box.height() < 2 * height || box.width() < canvas.px(kLeastStretch))
        return touch;
    const Box head{box.left, box.top, box.right, box.top + height};
    Box body{box.left, head.bottom, box.right, box.bottom};
    canvas.fill(box, canvas.theme().panel);
    give(frame, box, id, content);
    seen_ =
        std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::floor(body.height() / height)));
    if (content.rows > seen_)
        body.right -= canvas.px(kTableBar);
    take_wheel(frame, body, content);
    keep_in_bounds(content);
    measure(canvas, content);
    const std::vector<ColumnSpan> columns = spans(canvas, content, body);
    ImGui::PushID(id);
    draw_titles(frame, {head.left, head.top, body.right, head.bottom}, content, columns, touch);
    if (item(frame, body, "rows") && ImGui::IsItemHovered()) {
        const float y = ImGui::GetIO().MousePos.y - body.top;
        const std::uint64_t row = first_ + static_cast<std::uint64_t>(std::max(y, 0.0F) / height);
        if (row < content.rows) {
            touch.hovered = row;
            if (ImGui::IsMouseClicked(0))
                touch.clicked = row;
            if (ImGui::IsMouseDoubleClicked(0))
                touch.double_clicked = row;
        }
    }
    draw_rows(frame, body, content, columns, touch);
    if (content.rows > seen_)
        draw_scrollbar(frame, {body.right, body.top, box.right, box.bottom}, "bar", content);
    ImGui::PopID();
    if (content.rows == 0)
        draw_notice(canvas, body, content.empty);
    return touch;
}

void VirtualTable::keep_in_bounds(const TableContent& content) {
    if (wanted_ && *wanted_ < content.rows) {
        if (*wanted_ < first_)
            first_ = *wanted_;
        else if (*wanted_ >= first_ + seen_)
            first_ = *wanted_ - seen_ / 2;
        wanted_.reset();
    }
    const std::uint64_t last = content.rows > seen_ ? content.rows - seen_ : 0;
    first_ = std::min(first_, last);
}

void VirtualTable::take_wheel(const Frame& frame, const Box& box, const TableContent& content) {
    const ImGuiIO& io = ImGui::GetIO();
    if (frame.still || io.MouseWheel == 0 || !box.contains(io.MousePos) ||
        !ImGui::IsWindowHovered(ImGuiHoveredFlags_AllowWhenBlockedByActiveItem))
        return;
    const std::uint64_t rows = io.KeyShift ? seen_ : kWheelRows;
    if (io.MouseWheel > 0)
        first_ -= std::min(first_, rows);
    else
        first_ = std::min(first_ + rows, content.rows);
}

void VirtualTable::measure(const Canvas& canvas, const TableContent& content) {
    if (scale_ != canvas.px(1) || widths_.size() != content.columns.size()) {
        scale_ = canvas.px(1);
        widths_.assign(content.columns.size(), 0);
        for (std::size_t i = 0; i < widths_.size(); ++i)
            widths_[i] = std::max(canvas.text_width(content.columns[i].title) +
                                      (content.columns[i].sorts ? canvas.px(14) : 0),
                                  canvas.px(content.columns[i].points));
    }
    cells_.clear();
    const std::uint64_t end = std::min(content.rows, first_ + seen_ + 1);
    for (std::uint64_t row = first_; row < end; ++row) {
        std::vector<std::string>& cells = cells_.emplace_back(widths_.size());
        for (std::size_t i = 0; i < cells.size(); ++i) {
            cells[i] = content.text(row, i);
            widths_[i] = std::max(widths_[i], canvas.text_width(cells[i]));
        }
    }
}

std::vector<VirtualTable::ColumnSpan> VirtualTable::spans(const Canvas& canvas,
                                                          const TableContent& content,
                                                          const Box& box) const {
    const float pad = canvas.px(2 * kColumnPad);
    const float mark = content.look ? canvas.px(kTableMark + kColumnPad) : 0;
    std::vector<float> widths(widths_.size());
    float fixed = mark;
    float stretching = 0;
    for (std::size_t i = 0; i < widths.size(); ++i) {
        const bool stretches = content.columns[i].stretches;
        if (content.columns[i].hidden)
            continue;
        widths[i] = stretches ? canvas.px(kLeastStretch) : std::ceil(widths_[i] + pad);
        fixed += widths[i];
        stretching += stretches ? 1.0F : 0.0F;
    }
    for (std::size_t i = widths.size(); i-- > 0 && fixed > box.width();) {
        if (!content.columns[i].droppable || widths[i] == 0)
            continue;
        fixed -= widths[i];
        widths[i] = 0;
    }
    const float more = std::max(0.0F, box.width() - fixed) / std::max(1.0F, stretching);
    std::vector<ColumnSpan> spans;
    float left = box.left + mark;
    for (std::size_t i = 0; i < widths.size(); ++i) {
        if (widths[i] > 0 && content.columns[i].stretches)
            widths[i] += more;
        spans.push_back({left, left + widths[i]});
        left += widths[i];
    }
    return spans;
}

float VirtualTable::height(const Canvas& canvas, std::size_t rows) {
    return row_height(canvas) * static_cast<float>(rows + 1);
}

void VirtualTable::draw_titles(Frame& frame, const Box& box, const TableContent& content,
                               const std::vector<ColumnSpan>& spans, TableTouch& touch) {
    Canvas& canvas = frame.canvas;
    const Theme& theme = canvas.theme();
    canvas.fill(box, theme.ground);
    canvas.horizontal(box.bottom - 1, box.left, box.right, theme.border);
    const float pad = canvas.px(kColumnPad);
    for (std::size_t i = 0; i < spans.size(); ++i) {
        const VirtualColumn& column = content.columns[i];
        const Box cell{spans[i].left, box.top, std::min(spans[i].right, box.right), box.bottom};
        if (cell.width() <= 2 * pad)
            continue;
        bool hovered = false;
        ImGui::PushID(static_cast<int>(i));
        if (column.sorts && item(frame, cell, "title")) {
            hovered = ImGui::IsItemHovered();
            if (ImGui::IsItemClicked())
                touch.title = i;
        }
        ImGui::PopID();
        const bool sorted = content.sorted_by == i;
        const Colour colour = hovered || sorted ? theme.text : theme.faint_text;
        const float arrow = column.sorts ? canvas.px(14) : 0;
        const Box title{cell.left + pad, cell.top,
                        cell.right - pad - (column.align == Align::right ? 0 : arrow), cell.bottom};
        const float width = canvas.text_width(column.title);
        canvas.text_within(title, column.title, colour, column.align);
        if (sorted)
            draw_arrow(canvas,
                       column.align == Align::right ? title.right - width - arrow / 2
                                                    : title.left + width + arrow / 2,
                       (cell.top + cell.bottom) / 2, content.descending, theme.accent);
    }
}

void VirtualTable::draw_rows(Frame& frame, const Box& box, const TableContent& content,
                             const std::vector<ColumnSpan>& spans, const TableTouch& touch) const {
    Canvas& canvas = frame.canvas;
    const Theme& theme = canvas.theme();
    const float height = row_height(canvas);
    const float pad = canvas.px(kColumnPad);
    canvas.clip(box);
    for (std::size_t i = 0; i < cells_.size(); ++i) {
        const std::uint64_t row = first_ + i;
        const float top = box.top + static_cast<float>(i) * height;
        const Box line{box.left, top, box.right, top + height};
        const RowLook look = content.look ? content.look(row) : RowLook{};
        if (look.selected)
            canvas.fill(line, mix(theme.panel, theme.selection, 0.28));
        else if (look.hot || touch.hovered == row)
            canvas.fill(line, mix(theme.panel, theme.accent, 0.25));
        else if (row % 2 != 0)
            canvas.fill(line, mix(theme.panel, theme.text, 0.03));
        if (look.selected)
            canvas.fill({line.left, line.top, line.left + canvas.px(3), line.bottom},
                        theme.selection);
        if (look.mark) {
            const float side = canvas.px(kTableMark);
            const float from = std::floor((line.top + line.bottom - side) / 2);
            canvas.fill({line.left + pad, from, line.left + pad + side, from + side}, *look.mark);
        }
        for (std::size_t column = 0; column < spans.size(); ++column) {
            const Box cell{spans[column].left + pad, line.top,
                           std::min(spans[column].right - pad, box.right), line.bottom};
            if (cell.width() <= 0)
                continue;
            if (content.bars)
                draw_bars(canvas, cell, content.bars(row, column));
            canvas.text_within(cell, cells_[i][column], look.text.value_or(theme.text),
                               content.columns[column].align);
        }
    }
    canvas.unclip();
}

void VirtualTable::draw_scrollbar(Frame& frame, const Box& box, const char* id,
                                  const TableContent& content) {
    Canvas& canvas = frame.canvas;
    const Theme& theme = canvas.theme();
    const auto rows = static_cast<double>(content.rows);
    const double shown = static_cast<double>(seen_) / rows;
    const auto length = std::min(
        box.height(), std::max(canvas.px(kShortestGrip), box.height() * static_cast<float>(shown)));
    const auto last = static_cast<double>(content.rows - seen_);  // the largest first row
    const double way = std::max(1.0, static_cast<double>(box.height() - length));
    bool held = false;
    bool hovered = false;
    if (item(frame, box, id)) {
        const double at = static_cast<double>(ImGui::GetIO().MousePos.y - box.top);
        const double top = static_cast<double>(first_) / last * way;
        hovered = ImGui::IsItemHovered();
        held = ImGui::IsItemActive();
        if (ImGui::IsItemActivated())
            grip_ = at >= top && at < top + static_cast<double>(length)
                        ? at - top
                        : static_cast<double>(length) / 2;
        if (held)
            first_ = static_cast<std::uint64_t>(
                std::round(std::clamp((at - grip_) / way, 0.0, 1.0) * last));
    }
    const auto top =
        box.top + static_cast<float>(std::min(1.0, static_cast<double>(first_) / last) * way);
    canvas.fill(box, theme.ground);
    const Colour colour = mix(theme.ground, theme.text, held ? 0.6 : hovered ? 0.45 : 0.3);
    canvas.fill({box.left + canvas.px(3), top, box.right - canvas.px(3), top + length}, colour);
}

std::vector<std::string> wrapped(const Canvas& canvas, std::string_view text, float width) {
    std::vector<std::string> lines;
    while (!text.empty()) {
        const std::size_t line_end = std::min(text.find('\n'), text.size());
        std::string_view rest = text.substr(0, line_end);
        text.remove_prefix(std::min(text.size(), line_end + 1));
        if (rest.empty())
            lines.emplace_back();
        while (!rest.empty()) {
            std::size_t fits = 0;
            for (std::size_t end = 0; end < rest.size();) {
                end = std::min(rest.find(' ', end + 1), rest.size());
                if (canvas.text_width(rest.substr(0, end)) > width)
                    break;
                fits = end;
            }
            if (fits == 0)
                fits = fitting_letters(canvas, rest, width);
            lines.emplace_back(rest.substr(0, fits));
            rest.remove_prefix(fits);
            while (!rest.empty() && rest.front() == ' ')
                rest.remove_prefix(1);
        }
    }
    return lines;
}

void draw_notice(Canvas& canvas, const Box& box, std::string_view text) {
    const float width = std::min(box.width() - canvas.px(32), canvas.px(560));
    if (width < canvas.px(60))
        return;
    const std::vector<std::string> lines = wrapped(canvas, text, width);
    const float height = canvas.line_height() * 1.3F;
    float top = (box.top + box.bottom - height * static_cast<float>(lines.size())) / 2;
    for (const std::string& line : lines) {
        canvas.text({(box.left + box.right) / 2, top}, line, canvas.theme().faint_text,
                    Align::centre);
        top += height;
    }
}

}  // namespace tidemark::viz
