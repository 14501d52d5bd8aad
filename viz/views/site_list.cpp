// Two tables, one over the other.
#include "viz/views/site_list.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "core/base/shares.h"
#include "core/base/text.h"
#include "viz/model/blocks/owners.h"

namespace tidemark::viz {
namespace {

constexpr float kStackFrom = 300;     // points of height from which on a stack is shown
constexpr float kSitesShare = 0.55F;  // of the height, above the stack

constexpr std::array<VirtualColumn, 4> kSiteListColumns{{
    {"bytes", Align::right},
    {"share", Align::right, false, false, true, false, 60},
    {"blocks", Align::right, false, false, true},
    {"allocated at", Align::left, false, true},
}};

BlockClass owner_of(SiteNames& names, const SiteTotals& site) {
    BlockClass owner;
    owner.name = site.name;
    owner.blank = names.call_site(site.stack).empty();
    return owner;
}

}  // namespace

void SiteList::draw(Frame& frame, const Box& box, const StackTotals& totals, const History& history,
                    SiteNames& names) {
    Box upper = box;
    const bool has_stack = box.height() >= frame.canvas.px(kStackFrom) &&
                           history.stacks().size() > 1 && !totals.call_sites.empty();
    if (has_stack)
        upper.bottom = std::round(box.top + box.height() * kSitesShare);
    draw_sites(frame, upper, totals, names);
    if (!has_stack)
        return;
    const std::uint32_t stack = stack_.value_or(totals.call_sites.front().stack);
    const Box lower{box.left, upper.bottom + 1, box.right, box.bottom};
    const auto clicked = lines_.draw(frame, lower, history, names, stack, totals.question.folded);
    frame.canvas.horizontal(upper.bottom, box.left, box.right, frame.canvas.theme().border);
    if (clicked) {
        std::string& text = frame.selection.filter.text;
        text = text == *clicked ? std::string() : *clicked;
    }
}

void SiteList::draw_sites(Frame& frame, const Box& box, const StackTotals& totals,
                          SiteNames& names) {
    TableContent content;
    content.columns = kSiteListColumns;
    content.rows = totals.call_sites.size();
    content.text = [&](std::uint64_t row, std::size_t column) {
        const SiteTotals& site = totals.call_sites[static_cast<std::size_t>(row)];
        switch (column) {
            case 0:
                return format_bytes(site.bytes);
            case 1:
                return format_share(site.bytes, totals.bytes());
            case 2:
                return format_count(site.blocks);
            default:
                return brief_call_site(site.name);
        }
    };
    content.bars = [&](std::uint64_t row, std::size_t column) -> std::vector<CellBar> {
        if (column != 1)
            return {};
        const Theme& theme = frame.canvas.theme();
        const double share = static_cast<double>(totals.call_sites[row].bytes) /
                             static_cast<double>(std::max<Bytes>(totals.bytes(), 1));
        return {{0, share, theme.used}};
    };
    content.look = [&](std::uint64_t row) {
        RowLook look;
        look.selected = means_owner(frame.selection.filter, BlockTrait::stack,
                                    owner_of(names, totals.call_sites[row]));
        return look;
    };
    const TableTouch touch = list_.draw(frame, box, "places", content);
    if (!touch.hovered)
        return;
    const SiteTotals& site = totals.call_sites[static_cast<std::size_t>(*touch.hovered)];
    std::string text = fmt::format("{}\n{} in {}", site.name, format_bytes(site.bytes),
                                   format_counted(site.blocks, "block"));
    frame.selection.described = text;
    for (const std::string& at : names.frames(site.stack))
        frame.selection.described += "\n  " + at;
    if (touch.clicked) {
        stack_ = site.stack;
        toggle_owner(frame.selection.filter, BlockTrait::stack, owner_of(names, site));
    }
}

}  // namespace tidemark::viz
