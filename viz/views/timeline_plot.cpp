// Columns, lines and the axis of bytes.
#include "viz/views/timeline_plot.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "core/base/text.h"
#include "replay/report/forms/axis_ticks.h"

namespace tidemark::viz {
namespace {

constexpr float kTicksApart = 44;  // points
constexpr std::size_t kDot = 2;    // columns of a dot of a dotted line
constexpr std::size_t kDots = 4;   // from one dot to the next

// One layer of all columns: between two heights of each.
void draw_layer(Canvas& canvas, const ByteScale& scale, std::span<const ColumnLayers> columns,
                Colour colour, Bytes ColumnLayers::*low, Bytes ColumnLayers::*high) {
    BandPainter painter(canvas, scale.box.left);
    for (std::size_t i = 0; i < columns.size(); ++i)
        painter.column(i, scale.y(columns[i].*high),
                       low == nullptr ? scale.box.bottom : scale.y(columns[i].*low), colour);
}

// Allocated memory, as a thin line over its calm area.
void draw_edge(Canvas& canvas, const ByteScale& scale, std::span<const ColumnLayers> columns,
               Colour colour) {
    BandPainter painter(canvas, scale.box.left);
    for (std::size_t i = 0; i < columns.size(); ++i) {
        const float top = scale.y(columns[i].allocated);
        painter.column(i, top, std::min(top + 1, scale.box.bottom), colour);
    }
}

// The line of what is reserved.
void draw_line(Canvas& canvas, const ByteScale& scale, std::span<const SeriesColumn> columns,
               Colour colour, float thick) {
    constexpr Series kSeries = Series::reserved;
    BandPainter painter(canvas, scale.box.left);
    for (std::size_t i = 0; i < columns.size(); ++i)
        painter.column(i, scale.y(columns[i].max[kSeries]) - thick,
                       scale.y(columns[i].min[kSeries]), colour);
}

void draw_dots(Canvas& canvas, const ByteScale& scale, std::span<const SeriesColumn> columns,
               Series series, float thick) {
    const Colour colour = colour_of(canvas.theme(), series);
    for (std::size_t i = 0; i < columns.size(); i += kDots) {
        const float top = scale.y(columns[i].max[series]) - thick / 2;
        const float left = scale.box.left + static_cast<float>(i);
        canvas.fill({left, top, left + static_cast<float>(kDot), top + thick}, colour);
    }
}

}  // namespace

void BandPainter::column(std::size_t at, float top, float bottom, Colour colour) {
    if (at == until_ && top == top_ && bottom == bottom_ && colour == colour_) {
        ++until_;
        return;
    }
    flush();
    from_ = at;
    until_ = at + 1;
    top_ = top;
    bottom_ = bottom;
    colour_ = colour;
}

void BandPainter::flush() {
    if (bottom_ > top_ && until_ > from_)
        canvas_.fill(
            {left_ + static_cast<float>(from_), top_, left_ + static_cast<float>(until_), bottom_},
            colour_);
    from_ = until_;
}

float ByteScale::y(Bytes bytes) const {
    const double share = (static_cast<double>(bytes) - static_cast<double>(low)) /
                         static_cast<double>(std::max<Bytes>(top - low, 1));
    const double above = std::round(share * static_cast<double>(box.height()));
    return box.bottom - static_cast<float>(std::clamp(above, -1e6, 1e6));
}

Colour colour_of(const Theme& theme, Series series) {
    switch (series) {
        case Series::reserved:
            return theme.reserved;
        case Series::allocated:
            return theme.allocated;
        case Series::active:
            return theme.active;
        case Series::requested:
            return theme.requested;
    }
    return theme.text;
}

Colour colour_of(const Theme& theme, Tier tier) {
    return tier == Tier::gpu ? theme.allocated : tier == Tier::host ? theme.host : theme.disk;
}

void draw_byte_axis(Canvas& canvas, const ByteScale& scale) {
    const Theme& theme = canvas.theme();
    const float apart = canvas.px(kTicksApart);
    const auto most = static_cast<std::size_t>(std::max(scale.box.height() / apart, 1.0F));
    const float gap = canvas.px(8);
    for (const ByteTick& tick : byte_ticks(scale.low, scale.top, most)) {
        const float y = scale.y(tick.bytes);
        canvas.horizontal(y - 1, scale.box.left, scale.box.right, theme.grid);
        const float text_top = std::max(y - canvas.line_height() / 2, scale.box.top);
        canvas.text({scale.box.left - gap, text_top}, tick.label, theme.faint_text, Align::right);
    }
}

void draw_series(Canvas& canvas, const ByteScale& scale, std::span<const SeriesColumn> columns,
                 std::span<const HeldColumn> held, const ShownSeries& shown, Colour line) {
    const Theme& theme = canvas.theme();
    const auto is_shown = [&shown](Series series) {
        return shown[static_cast<std::size_t>(series)];
    };
    std::vector<ColumnLayers> layers(columns.size());
    for (std::size_t i = 0; i < columns.size(); ++i)
        layers[i] = layers_of(columns[i], i < held.size() ? held[i].max : 0);
    const auto layer = [&](Colour colour, Bytes ColumnLayers::*low, Bytes ColumnLayers::*high) {
        draw_layer(canvas, scale, layers, colour, low, high);
    };
    if (is_shown(Series::reserved)) {
        layer(theme.cached, &ColumnLayers::swing, &ColumnLayers::cached);
        layer(theme.fragmentation, &ColumnLayers::waiting, &ColumnLayers::fragmentation);
    }
    if (is_shown(Series::active))
        layer(theme.active, &ColumnLayers::swing, &ColumnLayers::waiting);
    if (is_shown(Series::allocated)) {
        // Between the least and the largest value of a column.
        layer(mix(theme.plot, theme.used, 0.72), &ColumnLayers::allocated, &ColumnLayers::swing);
        layer(theme.used, nullptr, &ColumnLayers::allocated);
        if (is_shown(Series::requested))
            layer(theme.rounding, &ColumnLayers::requested, &ColumnLayers::allocated);
        draw_edge(canvas, scale, layers, theme.allocated);
    }
    if (is_shown(Series::requested))
        draw_dots(canvas, scale, columns, Series::requested, std::round(canvas.px(2)));
    if (is_shown(Series::reserved))
        draw_line(canvas, scale, columns, line, std::round(canvas.px(2)));
}

std::size_t columns_before(Position end, const Window& window, std::size_t columns) {
    std::size_t low = 0;
    std::size_t high = columns;
    while (low < high) {
        const std::size_t middle = (low + high) / 2;
        if (column_edge(window.begin, window.end, middle, columns) < end)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

std::string ended_text(const History& history, AxisUnit unit) {
    const Position last = history.end(unit) - 1;
    return "ended at " +
           (unit == AxisUnit::time ? format_duration(last) : position_text(unit, last));
}

void draw_after_end(Canvas& canvas, const Box& plot, std::size_t first) {
    const Box rest{plot.left + static_cast<float>(first), plot.top, plot.right, plot.bottom};
    if (rest.width() < 1)
        return;
    const Theme& theme = canvas.theme();
    canvas.hatch(rest, theme.plot, mix(theme.plot, theme.faint_text, 0.25));
    canvas.vertical(rest.left, rest.top, rest.bottom, theme.faint_text);
}

void draw_level_line(Canvas& canvas, const ByteScale& scale, std::span<const LevelColumn> columns,
                     Colour colour, float thick) {
    BandPainter painter(canvas, scale.box.left);
    for (std::size_t i = 0; i < columns.size(); ++i)
        painter.column(i, scale.y(columns[i].max) - thick, scale.y(columns[i].min), colour);
}

void draw_level_area(Canvas& canvas, const ByteScale& scale, std::span<const LevelColumn> columns,
                     Colour colour, Colour swing) {
    BandPainter full(canvas, scale.box.left);
    BandPainter light(canvas, scale.box.left);
    for (std::size_t i = 0; i < columns.size(); ++i) {
        const float low = scale.y(columns[i].min);
        light.column(i, scale.y(columns[i].max), low, swing);
        full.column(i, low, scale.box.bottom, colour);
    }
}

Box put_label(Canvas& canvas, ImVec2 at, std::string_view text, Colour colour, Align align,
              std::vector<Box>& labels) {
    Box box = canvas.label_box(at, text, align);
    for (std::size_t i = 0; i < labels.size();) {
        if (!box.overlaps(labels[i])) {
            ++i;
            continue;
        }
        const float down = labels[i].bottom + canvas.px(2) - box.top;
        at.y += down;
        box = canvas.label_box(at, text, align);
        i = 0;
    }
    canvas.label(at, text, colour, align);
    labels.push_back(box);
    return box;
}

void label_end(Canvas& canvas, const Box& plot, std::size_t first, std::string_view ended,
               std::vector<Box>& labels) {
    const float x = plot.left + static_cast<float>(first);
    const float pad = canvas.px(8);
    const bool fits = plot.right - x > canvas.text_width(ended) + 2 * pad;
    put_label(canvas, {fits ? x + pad : x - pad, plot.top + pad}, ended, canvas.theme().faint_text,
              fits ? Align::left : Align::right, labels);
}

void draw_bound(Canvas& canvas, const ByteScale& scale, Bytes bytes, std::string_view name,
                Colour colour, std::vector<Box>& labels) {
    if (bytes == 0)
        return;
    const std::string size = format_bytes(bytes);
    // At the left: runs start low, and their peaks have labels of their own.
    const float left = scale.box.left + canvas.px(6);
    if (bytes > scale.top) {
        put_label(canvas, {left, scale.box.top + canvas.px(2)},
                  fmt::format("{} {}, above", name, size), canvas.theme().faint_text, Align::left,
                  labels);
        return;
    }
    const float y = scale.y(bytes);
    canvas.dashed_horizontal(y - 1, scale.box.left, scale.box.right, colour);
    const bool below = y - canvas.line_height() - canvas.px(4) < scale.box.top;
    const float text_top = below ? y + canvas.px(4) : y - canvas.line_height() - canvas.px(4);
    put_label(canvas, {left, text_top}, fmt::format("{} {}", name, size), colour, Align::left,
              labels);
}

}  // namespace tidemark::viz
