// The search: a line for its words, the number of matching blocks, and buttons to the next and the
// previous one.
#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "viz/draw/tip.h"
#include "viz/model/blocks/site_index.h"
#include "viz/model/navigation/filter_query.h"
#include "viz/shell/shell_parts.h"
#include "viz/shell/widgets.h"

namespace tidemark::viz {
namespace {

constexpr float kWidth = 230;  // points, of the line
constexpr float kFindBarGap = 6;

constexpr std::string_view kFindHelp =
    "Part of a tag, function or file, resnet.py:154; >=1MiB, <64KiB, =512; 0x7f2c00000000; "
    "stream=7, pool=2, device=1; several together";
constexpr std::string_view kFindHelpMore = "exact names: tag=x, site=x, module=x, annotation=x";

// The typed text becomes the filter of all views; an invalid filter changes nothing.
void take_text(ShellParts& parts) {
    Result<Filter> filter = parse_filter(parts.find.view());
    parts.find_error = filter ? "" : filter.error().what;
    if (!filter)
        return;
    filter->hides_freed = parts.selection.filter.hides_freed;
    parts.selection.filter = *filter;
    parts.find_filter = std::move(*filter);
}

void draw_line(ShellParts& parts, Canvas& canvas, const Box& box) {
    ImGui::SetCursorScreenPos({box.left, box.top + (box.height() - ImGui::GetFrameHeight()) / 2});
    ImGui::SetNextItemWidth(box.width());
    if (parts.find.takes_focus)
        focus_next_field();
    parts.find.takes_focus = false;
    const bool changed =
        ImGui::InputTextWithHint("##find", "Find tag, function, size (F)", parts.find.text.data(),
                                 parts.find.text.size(), ImGuiInputTextFlags_AutoSelectAll);
    parts.find.has_focus = ImGui::IsItemActive();
    if (ImGui::IsItemHovered() && !parts.find.has_focus)
        draw_tip(canvas, kFindHelp, kFindHelpMore);
    if (changed && parts.find.has_focus) {
        take_text(parts);
    } else if (!parts.find.has_focus && (changed || parts.find_filter != parts.selection.filter)) {
        // A view has changed the filter, or the command line has set it; or ImGui (since 1.89.8)
        // has put back text that was cleared while the user typed.
        parts.find_filter = parts.selection.filter;
        parts.find.set(to_text(parts.find_filter));
        parts.find_error.clear();
    }
    if (std::exchange(parts.find.entered, false)) {
        ImGui::SetWindowFocus(nullptr);
        parts.wanted_hit = parts.finds_forward;  // stepped to as soon as this text was searched for
    }
    if (hides_something(parts.selection.filter))
        canvas.outline({box.left, box.bottom - canvas.px(4), box.right, box.bottom - canvas.px(2)},
                       canvas.theme().selection);
}

// Returns where it starts.
float draw_step(ShellParts& parts, Canvas& canvas, const Box& box, Action action,
                std::string_view sign) {
    const float width = button_width(canvas, sign);
    const ActionInfo& info = info_of(action);
    const std::string id(info.title);
    const Pressed pressed = button(canvas, {box.right - width, box.top, box.right, box.bottom},
                                   id.c_str(), sign, ButtonLook::raised);
    if (pressed.left)
        perform(parts, {action, 0});
    if (pressed.hovered)
        draw_tip(canvas, fmt::format("{} ({})", id, keys_text(info)));
    return box.right - width;
}

}  // namespace

float draw_find(ShellParts& parts, Canvas& canvas, const Box& box) {
    const float gap = canvas.px(kFindBarGap);
    const float width = std::min(canvas.px(kWidth), box.width() / 4);
    Box rest{box.left, box.top + canvas.px(3), box.right - width, box.bottom - canvas.px(3)};
    draw_line(parts, canvas, {rest.right, box.top, box.right, box.bottom});
    const Theme& theme = canvas.theme();
    const bool is_wrong = !parts.find_error.empty();
    const std::string text = is_wrong ? parts.find_error : parts.search.text(parts.selection.block);
    if (text.empty())
        return rest.right;
    rest.right -= gap;
    const bool has_hits = parts.search.hits() != nullptr && parts.search.hits()->count() > 0;
    if (has_hits && !is_wrong) {
        rest.right = draw_step(parts, canvas, rest, Action::next_hit, ">") - 1;
        rest.right = draw_step(parts, canvas, rest, Action::previous_hit, "<") - gap;
    }
    const float room = std::min(std::ceil(canvas.text_width(text)) + 1, box.width() / 3);
    const bool is_bad = is_wrong || (!has_hits && !parts.search.running());
    canvas.text_within({rest.right - room, rest.top, rest.right, rest.bottom}, text,
                       is_bad ? theme.problem : theme.text, Align::right);
    return rest.right - room;
}

}  // namespace tidemark::viz
