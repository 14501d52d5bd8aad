// Columns from a line in the middle: up to the difference of the last values in full colour, and
// from there to that of the largest ones in a lighter one.
#include "viz/views/compare_plot.h"

#include <algorithm>
#include <cmath>

#include "core/base/text.h"
#include "replay/report/forms/axis_ticks.h"

namespace tidemark::viz {
namespace {

std::int64_t farthest(std::span<const DifferenceColumn> columns) {
    std::int64_t most = 0;
    for (const DifferenceColumn& column : columns)
        if (column.both)
            most = std::max({most, std::abs(column.most), std::abs(column.last)});
    return most;
}

// A round size, as short as the margin is narrow: "+4 GiB".
std::string signed_tick(std::int64_t bytes) {
    const std::vector<ByteTick> ticks = byte_ticks(0, static_cast<Bytes>(std::abs(bytes)), 1);
    return (bytes > 0 ? "+" : "-") + (ticks.empty() ? std::string("0") : ticks.back().label);
}

}  // namespace

std::string signed_bytes(std::int64_t bytes) {
    if (bytes == 0)
        return "0 B";
    const Bytes size = static_cast<Bytes>(std::abs(bytes));
    return (bytes > 0 ? "+" : "-") + format_bytes(size);
}

void draw_differences(Canvas& canvas, const Box& box, std::span<const DifferenceColumn> columns) {
    const Theme& theme = canvas.theme();
    canvas.fill(box, theme.plot);
    const float middle = std::round((box.top + box.bottom) / 2);
    const std::int64_t most = farthest(columns);
    const float half = box.height() / 2 - 2;
    const auto y = [&](std::int64_t bytes) {
        if (most == 0)
            return middle;
        const double share = static_cast<double>(bytes) / static_cast<double>(most);
        return middle - static_cast<float>(std::round(share * static_cast<double>(half)));
    };
    const auto colour = [&](std::int64_t bytes, double share) {
        return mix(theme.plot, bytes > 0 ? theme.worse : theme.better, share);
    };
    canvas.clip(box);
    // The lighter ones are behind.
    const auto draw = [&](std::int64_t DifferenceColumn::*value, double share) {
        BandPainter painter(canvas, box.left);
        for (std::size_t i = 0; i < columns.size() && columns[i].both; ++i) {
            const float end = y(columns[i].*value);
            painter.column(i, std::min(middle, end), std::max(middle, end),
                           colour(columns[i].*value, share));
        }
    };
    draw(&DifferenceColumn::most, 0.45);
    draw(&DifferenceColumn::last, 1);
    canvas.unclip();
    canvas.horizontal(middle, box.left, box.right, theme.faint_text);
    canvas.outline(box, theme.border);
    const float gap = canvas.px(8);
    const float line = canvas.line_height();
    const auto label = [&](std::int64_t bytes) {
        const float top = std::clamp(y(bytes) - line / 2, box.top, box.bottom - line);
        canvas.text({box.left - gap, top}, bytes == 0 ? "0" : signed_tick(bytes), theme.faint_text,
                    Align::right);
    };
    label(0);
    if (most == 0 || box.height() < 4 * line)
        return;
    const std::vector<ByteTick> ticks = byte_ticks(0, static_cast<Bytes>(most), 1);
    const auto last = static_cast<std::int64_t>(ticks.empty() ? 0 : ticks.back().bytes);
    if (middle - y(last) < line)
        return;
    for (const std::int64_t bytes : {last, -last}) {
        canvas.horizontal(y(bytes), box.left, box.right, theme.grid);
        label(bytes);
    }
}

}  // namespace tidemark::viz
