// Planes of the map. Shares are kept in 32 steps: the eye sees no more, and they compress.
#include "replay/report/page/html_map.h"

#include <algorithm>
#include <atomic>
#include <string>

#include <fmt/format.h>

#include "replay/report/forms/wording.h"
#include "replay/report/page/html_bytes.h"
#include "replay/timeline/address_layout.h"
#include "replay/timeline/block_classes.h"
#include "replay/timeline/occupancy.h"

namespace tidemark::report {
namespace {

constexpr std::size_t kMostPieces = 2000;
constexpr std::size_t kMostClasses = 12;
constexpr std::size_t kMostSizes = 8;
constexpr std::uint8_t kWaitingBit = 0x80;  // of the plane of classes

// 0 stays 0, and nothing else becomes it.
char step_of(std::uint8_t share) {
    return static_cast<char>((share + 7) / 8);
}

std::string planes(const OccupancyHeatmap& heatmap) {
    std::string taken;
    std::string memory;
    std::string kinds;
    for (const OccupancyCell& cell : heatmap.cells) {
        const bool holds = cell.taken > 0;
        taken += step_of(cell.taken);
        memory += step_of(cell.memory);
        const int waiting = (cell.flags & kWaitingCell) != 0 ? kWaitingBit : 0;
        kinds += static_cast<char>(holds ? cell.kind | waiting : 0);
    }
    return packed(taken + memory + kinds);
}

Json pieces_of(const AddressLayout& layout) {
    Json list = Json::array();
    for (const AddressPiece& piece : layout.pieces()) {
        if (list.size() == kMostPieces)
            break;
        const AddressRow& row = layout.rows()[piece.row];
        list.push_back({piece.offset, piece.range.size,
                        fmt::format("{:#x}", to_integer(piece.range.begin)), row.device, row.born,
                        row.died == kNever ? Json() : Json(row.died)});
    }
    return list;
}

// By tag where blocks have some, else by stack, else by size.
BlockClasses classes_of(const History& history) {
    for (const BlockTrait trait : {BlockTrait::tag, BlockTrait::stack}) {
        BlockClasses classes = BlockClasses::of(history, trait, kMostClasses);
        if (!classes.trivial())
            return classes;
    }
    return BlockClasses::of(history, BlockTrait::size, kMostSizes);
}

}  // namespace

Json map_json(const History& history, MapSize size, const Cancelling& cancelled) {
    const AddressLayout layout = AddressLayout::of(history);
    if (layout.length() == 0 || history.counts().events == 0)
        return nullptr;
    const BlockClasses classes = classes_of(history);
    Json names = list_of(classes.all(), [&](const BlockClass& each) -> Json {
        return {one_line(each.name), each.rest || each.blank};
    });
    Json map{{"bytes", layout.length()},    {"columns", size.columns},
             {"rows", size.rows},           {"by", to_text(classes.trait())},
             {"classes", std::move(names)}, {"pieces", pieces_of(layout)}};
    std::atomic<bool> stop = false;
    const OccupancyOptions options{.cancel = &stop,
                                   .progress = [&](double) { stop = cancelled && cancelled(); }};
    const bool timed = history.end(AxisUnit::time) > 1;
    for (const AxisUnit unit : {AxisUnit::time, AxisUnit::events}) {
        if (stop || (unit == AxisUnit::time && !timed))
            continue;
        const OccupancyFrame frame = whole_frame(history, layout, unit, size.columns, size.rows);
        map[unit == AxisUnit::time ? "time" : "events"] =
            planes(draw_occupancy(history, layout, classes, frame, options));
    }
    return map;
}

}  // namespace tidemark::report
