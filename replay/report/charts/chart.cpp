// Drawing a timeline: first columns of extremes, then cells, then axes.
#include "replay/report/charts/chart.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/base/text.h"
#include "replay/report/forms/byte_axis.h"

namespace tidemark {
namespace {

constexpr unsigned kNarrowest = 40;
constexpr unsigned kAxisWidth = 10;    // "1,023 MiB " and the line
constexpr unsigned kStepsPerLine = 8;  // an eighth of a line is the smallest block character

constexpr std::array<std::string_view, 9> kBlocks{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr std::string_view kReservedColour = "34";          // blue
constexpr std::string_view kAllocatedColour = "36";         // cyan
constexpr std::string_view kAllocatedOnReserved = "36;44";  // cyan before blue

struct Column {
    Bytes reserved = 0;
    Bytes allocated = 0;

    void join(const TimelineBucket& bucket) {
        reserved = std::max(reserved, bucket.reserved_max);
        allocated = std::max(allocated, bucket.allocated_max);
    }
};

// The largest of each column's buckets. A bucket covers the time from the end of the one before it
// to its own end, and every column that this touches; without times all are of equal length.
std::vector<Column> columns_of(const Timeline& timeline, std::size_t count) {
    const auto& buckets = timeline.buckets;
    const Nanoseconds duration = buckets.back().time;
    const auto end_of = [&](std::size_t bucket) {  // in columns
        const double share =
            duration > 0 ? static_cast<double>(buckets[bucket].time) / static_cast<double>(duration)
                         : static_cast<double>(bucket + 1) / static_cast<double>(buckets.size());
        return std::clamp(share, 0.0, 1.0) * static_cast<double>(count);
    };
    std::vector<Column> columns(count);
    double begin = 0;
    for (std::size_t i = 0; i < buckets.size(); ++i) {
        const double end = end_of(i);
        const auto last = static_cast<std::size_t>(std::max(std::ceil(end) - 1, 0.0));
        const auto first = std::min(static_cast<std::size_t>(begin), last);
        for (std::size_t column = first; column <= last; ++column)
            columns[column].join(buckets[i]);
        begin = std::max(begin, end);
    }
    return columns;
}

// The character for a cell, by its covered eighths.
struct Cell {
    unsigned reserved = 0;   // eighths, 0..8
    unsigned allocated = 0;  // never more than `reserved` in what is drawn
};

class Canvas {
  public:
    Canvas(const std::vector<Column>& columns, const ChartStyle& style, Bytes top)
        : columns_(columns), style_(style), top_(top) {}

    // Line `line` from the bottom.
    std::string line(unsigned line) const {
        std::string text;
        std::string_view colour;
        for (const Column& column : columns_) {
            const Cell cell{eighths(column.reserved, line), eighths(column.allocated, line)};
            const auto [letter, wanted] = style_.colour && style_.unicode ? fine(cell)
                                          : style_.unicode                ? blocks(cell)
                                                                          : ascii(cell);
            if (style_.colour && wanted != colour) {
                text += wanted.empty() ? "\x1b[0m" : fmt::format("\x1b[0;{}m", wanted);
                colour = wanted;
            }
            text += letter;
        }
        if (!colour.empty())
            text += "\x1b[0m";
        else
            text.erase(text.find_last_not_of(' ') + 1);
        return text;
    }

  private:
    using Shown = std::pair<std::string_view, std::string_view>;  // character, colour

    unsigned eighths(Bytes value, unsigned line) const {
        const double total = static_cast<double>(value) / static_cast<double>(top_) *
                             static_cast<double>(style_.height * kStepsPerLine);
        double part = std::round(total) - static_cast<double>(line * kStepsPerLine);
        if (value > 0 && line == 0)
            part = std::max(part, 1.0);  // a little is still shown
        return static_cast<unsigned>(std::clamp(part, 0.0, static_cast<double>(kStepsPerLine)));
    }

    // Both edges to an eighth: the allocated block before a reserved background.
    static Shown fine(Cell cell) {
        if (cell.reserved == 0)
            return {" ", ""};
        if (cell.allocated == kStepsPerLine)
            return {kBlocks[kStepsPerLine], kAllocatedColour};
        if (cell.reserved == kStepsPerLine && cell.allocated > 0)
            return {kBlocks[cell.allocated], kAllocatedOnReserved};
        if (cell.allocated > 0 && cell.allocated * 2 >= cell.reserved)
            return {kBlocks[cell.allocated], kAllocatedColour};
        return {kBlocks[cell.reserved], kReservedColour};
    }

    static Shown blocks(Cell cell) {
        if (cell.allocated * 2 >= kStepsPerLine ||
            (cell.allocated > 0 && cell.reserved < kStepsPerLine))
            return {kBlocks[cell.allocated], kAllocatedColour};
        if (cell.reserved == 0)
            return {" ", ""};
        return {"░", kReservedColour};
    }

    static Shown ascii(Cell cell) {
        if (cell.allocated * 2 >= kStepsPerLine)
            return {"#", kAllocatedColour};
        if (cell.reserved * 2 >= kStepsPerLine)
            return {".", kReservedColour};
        return {cell.allocated > 0 ? "_" : " ", cell.allocated > 0 ? kAllocatedColour : ""};
    }

    const std::vector<Column>& columns_;
    const ChartStyle& style_;
    Bytes top_;
};

// "0 s", half and the end, spread over `width` characters.
std::string horizontal_labels(const Timeline& timeline, std::size_t width) {
    const Nanoseconds duration = timeline.buckets.back().time;
    const std::uint64_t events = timeline.events_per_bucket * timeline.buckets.size();
    const auto label = [&](unsigned quarter) {
        if (duration > 0)
            return quarter == 0 ? std::string("0 s") : format_duration(duration / 4 * quarter);
        return (quarter == 0 ? "event " : "") + format_count(events / 4 * quarter);
    };
    std::string line(width, ' ');
    for (const unsigned quarter : {0U, 2U, 4U}) {
        const std::string text = label(quarter);
        const std::size_t centre = width * quarter / 4;
        const std::size_t begin = std::min(centre - std::min(centre, text.size() / 2),
                                           width - std::min(width, text.size()));
        line.replace(begin, text.size(), text);
    }
    return line;
}

std::string legend(const ChartStyle& style) {
    const auto coloured = [&style](std::string_view text, std::string_view colour) {
        return style.colour ? fmt::format("\x1b[{}m{}\x1b[0m", colour, text) : std::string(text);
    };
    const std::string_view reserved = !style.unicode ? "." : style.colour ? "█" : "░";
    const std::string_view allocated = style.unicode ? "█" : "#";
    return fmt::format("{} reserved   {} allocated", coloured(reserved, kReservedColour),
                       coloured(allocated, kAllocatedColour));
}

}  // namespace

std::string draw(const Timeline& timeline, const ChartStyle& style) {
    Bytes peak = 0;
    for (const TimelineBucket& bucket : timeline.buckets)
        peak = std::max({peak, bucket.reserved_max, bucket.allocated_max});
    if (peak == 0 || style.height == 0)
        return {};

    const std::size_t width = std::max(style.width, kNarrowest) - kAxisWidth - 1;
    const auto [step, top] = report::byte_axis(peak);
    const std::vector<Column> columns = columns_of(timeline, width);
    const Canvas canvas(columns, style, top);
    const double line_size = static_cast<double>(top) / style.height;

    std::string text;
    const auto axis = [&](std::string_view label, std::string_view rest) {
        text +=
            fmt::format("{:>{}} {}{}\n", label, kAxisWidth - 1, style.unicode ? "┤" : "|", rest);
    };
    Bytes next = top;  // the next tick to be written, from above
    for (unsigned line = style.height; line-- > 0;) {
        const double upper = (line + 1) * line_size;
        const bool tick = next > 0 && static_cast<double>(next) > upper - line_size / 2;
        axis(tick ? report::tick_label(next) : "", canvas.line(line));
        if (tick)
            next -= step;
    }
    std::string floor;
    for (std::size_t i = 0; i < width; ++i)
        floor += style.unicode ? "─" : "-";
    text += fmt::format("{:>{}} {}{}\n", "0 B", kAxisWidth - 1, style.unicode ? "└" : "+", floor);
    const std::string indent(kAxisWidth + 1, ' ');
    text += indent + horizontal_labels(timeline, width) + "\n";
    text += indent + legend(style) + "\n";
    return text;
}

}  // namespace tidemark
