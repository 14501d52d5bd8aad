// The blocks that are live at a moment are those that came since before the first event.
#include "viz/views/block_groups.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/shares.h"
#include "core/base/text.h"
#include "viz/draw/filter_bar.h"
#include "viz/views/inspection.h"
#include "viz/views/owner_chooser.h"

namespace tidemark::viz {
namespace {

enum GroupColumn : std::size_t {
    kGroupName,
    kGroupBytes,
    kGroupShare,
    kGroupBlocks,
    kGroupMean,
    kGroupColumns,
};

constexpr std::array<VirtualColumn, kGroupColumns> kBlockGroupColumns{{
    {"owner", Align::left, false, true},
    {"bytes", Align::right, false, false, false, false, 160},
    {"share", Align::right, false, false, true},
    {"blocks", Align::right},
    {"mean size", Align::right, false, false, true},
}};

std::string group_cell(const OwnerDiff& group, Bytes all, std::size_t column) {
    const BlockSum& live = group.came;
    switch (column) {
        case kGroupName:
            return one_line(group.owner.name, 80);
        case kGroupBytes:
            return format_bytes(live.bytes);
        case kGroupShare:
            return format_share(live.bytes, all);
        case kGroupBlocks:
            return format_count(live.blocks);
        case kGroupMean:
        default:
            return format_bytes(live.bytes / std::max<std::uint64_t>(live.blocks, 1));
    }
}

}  // namespace

void BlockGroups::draw(Frame& frame, const std::shared_ptr<const History>& history,
                       std::optional<EventIndex> event, float left) {
    const OwnerChooser chooser = choose_owners(frame, *history, "by", left);
    std::optional<DiffQuestion> question;
    if (event)
        question = DiffQuestion{{kNever, *event}, chooser.trait, frame.selection.filter};
    groups_.ask(history, question, event.value_or(0), moment_diff);
    if (frame.still)
        groups_.finish();
    std::string total;
    if (const MomentDiff* const groups = groups_.answer(); groups != nullptr && event)
        total = fmt::format("held at {}: {} in {}", event_time_text(*history, *event),
                            format_bytes(groups->all.came.bytes),
                            format_counted(groups->all.came.blocks, "block"));
    draw_rows(frame, draw_filter_bar(frame, frame.area, chooser.right, *history, total));
}

void BlockGroups::draw_rows(Frame& frame, const Box& box) {
    static const MomentDiff kNone;
    const MomentDiff& groups = groups_.answer() == nullptr ? kNone : *groups_.answer();
    TableContent content;
    content.columns = kBlockGroupColumns;
    content.rows = groups.owners.size();
    content.text = [&](std::uint64_t row, std::size_t column) {
        return group_cell(groups.owners[row], groups.all.came.bytes, column);
    };
    content.bars = [&](std::uint64_t row, std::size_t column) -> std::vector<CellBar> {
        if (column != kGroupBytes)
            return {};
        const Theme& theme = frame.canvas.theme();
        const double share = static_cast<double>(groups.owners[row].came.bytes) /
                             static_cast<double>(std::max<Bytes>(groups.all.came.bytes, 1));
        return {{0, share, theme.used}};
    };
    content.look = [&](std::uint64_t row) {
        RowLook look;
        look.selected =
            means_owner(frame.selection.filter, groups.question.trait, groups.owners[row].owner);
        return look;
    };
    content.empty = groups_.running() ? "Adding up\u2026"
                                      : "The program holds nothing here, or the filter hides it.";
    const TableTouch touch = list_.draw(frame, box, "groups", content);
    if (touch.clicked)
        toggle_owner(frame.selection.filter, groups.question.trait,
                     groups.owners[*touch.clicked].owner);
}

}  // namespace tidemark::viz
