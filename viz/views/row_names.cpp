// Names and lines of the address map's rows.
#include "viz/views/row_names.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/base/text.h"
#include "traces/model/trace.h"

namespace tidemark::viz {
namespace {

constexpr float kNameHigh = 1.4F;   // lines of text that a row must be high to have a name
constexpr float kLineHigh = 7;      // points that a row must have to be ruled
constexpr float kNamePad = 3;       // points
constexpr float kNameShare = 0.4F;  // of the map's width that a name may take

// Rows that start at a pixel of their own, from the first visible one on. Rows that share a pixel
// with the one before are passed over.
template <class Visit>
void for_each_label(const OffsetScale& scale, const AddressLayout& layout, Visit&& visit) {
    const std::vector<AddressRow>& rows = layout.rows();
    auto row = std::partition_point(rows.begin(), rows.end(), [&](const AddressRow& candidate) {
        return candidate.offset + candidate.length <= scale.begin;
    });
    while (row != rows.end() && row->offset < scale.end) {
        // The next one that is at least a pixel lower: there are no more than pixels.
        const Bytes pixel =
            (scale.end - scale.begin) / static_cast<Bytes>(std::max(scale.box.height(), 1.0F));
        const Bytes from = row->offset + std::max<Bytes>(std::min(row->length, pixel), 1);
        const auto next = std::partition_point(
            row, rows.end(), [&](const AddressRow& other) { return other.offset < from; });
        visit(*row, next == rows.end() ? layout.length() : next->offset,
              static_cast<std::size_t>(next - row));
        row = next;
    }
}

// The pool and stream that a segment was reserved for: those of its first block.
std::string owner_text(const History& history, const Segment& segment) {
    // It is allocated by the event that needed it, or one before.
    BlockIndex block = history.find(segment.device, segment.begin, segment.born);
    if (block == kNoBlock && segment.born + 1 < history.counts().events)
        block = history.find(segment.device, segment.begin, segment.born + 1);
    if (block == kNoBlock)
        return fmt::format(", stream {}", segment.stream);
    const Site& site = history.site(history.block(block).site);
    return fmt::format(", pool {}, stream {}", to_integer(site.pool), to_integer(site.stream));
}

std::string device_text(const History& history, std::uint16_t device) {
    const std::vector<std::string>& devices = history.devices();
    if (devices.size() <= 1)
        return {};
    if (device < devices.size() && devices[device] == kHostMemory)
        return "host, ";
    return fmt::format("GPU {}, ", device);
}

std::string kind_text(const AddressRow& row) {
    if (row.segments == 0)
        return "no segment";
    if (row.view)
        return "second mapping";
    if (row.kind == SegmentKind::reservation)
        return "reservation";
    return row.segments == 1 ? fmt::format("segment {}", row.segment)
                             : fmt::format("{} segments", row.segments);
}

}  // namespace

std::vector<std::string> row_names(const History& history, const AddressRow& row) {
    const std::string device = device_text(history, row.device);
    const std::string size = format_bytes(row.length);
    const std::string name = fmt::format("{}{}", device, kind_text(row));
    const std::string where = fmt::format("{} at {:#x}", name, to_integer(row.range.begin));
    const bool is_one = row.segments == 1 && row.segment < history.counts().segments;
    const std::string owner = is_one ? owner_text(history, history.segment(row.segment)) : "";
    std::vector<std::string> names{fmt::format("{}, {}{}", where, size, owner)};
    if (is_one)
        names.push_back(fmt::format("{}, {}{}", name, size, owner));
    names.push_back(fmt::format("{}, {}", name, size));
    names.push_back(device + size);
    return names;
}

void draw_row_names(Canvas& canvas, const OffsetScale& scale, const AddressLayout& layout,
                    const History& history) {
    const float pad = std::round(canvas.px(kNamePad));
    const float least = canvas.line_height() * kNameHigh;
    for_each_label(scale, layout, [&](const AddressRow& row, Bytes end, std::size_t rows) {
        const float top = std::max(std::round(scale.y(row.offset)), scale.box.top);
        const float bottom = std::min(scale.y(end), scale.box.bottom);
        if ((rows != 1 && !layout.shares_rows()) || bottom - top < least)
            return;
        for (const std::string& name : row_names(history, row)) {
            const float width = canvas.text_width(name) + 2 * pad;
            if (width > scale.box.width() * kNameShare)
                continue;
            canvas.label({scale.box.left + 2 * pad, top + pad}, name, canvas.theme().text);
            return;
        }
    });
}

void draw_row_lines(Canvas& canvas, const OffsetScale& scale, const AddressLayout& layout) {
    const Colour line = mix(canvas.theme().plot, canvas.theme().text, 0.22);
    const std::vector<AddressPiece>& pieces = layout.pieces();
    for_each_label(scale, layout, [&](const AddressRow& row, Bytes end, std::size_t rows) {
        const float top = scale.y(row.offset);
        if (rows == 0 || scale.y(end) - top < canvas.px(kLineHigh))
            return;
        if (top > scale.box.top)
            canvas.horizontal(top, scale.box.left, scale.box.right, line);
        for (std::uint32_t i = 1; i < std::min(row.pieces, 200U); ++i) {
            const float y = scale.y(pieces[row.first_piece + i].offset);
            if (y > scale.box.top && y < scale.box.bottom)
                canvas.dashed_horizontal(y, scale.box.left, scale.box.right, line);
        }
    });
}

std::string row_text(const AddressRow& row) {
    if (row.segments == 0)
        return fmt::format("addresses without a segment, {}", format_bytes(row.length));
    if (row.view)
        return fmt::format("second mapping of {}, which counts elsewhere",
                           format_bytes(row.length));
    if (row.kind == SegmentKind::reservation)
        return fmt::format("reservation of {}, {} of it shown", format_bytes(row.range.size),
                           format_bytes(row.length));
    if (row.segments == 1)
        return fmt::format("segment of {}", format_bytes(row.range.size));
    return fmt::format("{} segments at these addresses, {} in total", row.segments,
                       format_bytes(row.range.size));
}

}  // namespace tidemark::viz
