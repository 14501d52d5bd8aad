// What lies over the views for a moment: the menu, the key sheet, the prompt.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "viz/draw/fonts.h"
#include "viz/shell/shell_parts.h"
#include "viz/shell/widgets.h"

namespace tidemark::viz {
namespace {

constexpr ImGuiWindowFlags kFlags = ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove |
                                    ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoNav;

constexpr std::array kGroups = {ActionGroup::navigate, ActionGroup::go, ActionGroup::show,
                                ActionGroup::window};

bool is_offered(const ShellParts& parts, Action action) {
    switch (action) {
        case Action::pause:
            return static_cast<bool>(parts.host.pause);
        case Action::picture:
            return static_cast<bool>(parts.host.save_picture);
        case Action::quit:
            return static_cast<bool>(parts.host.quit);
        default:
            return true;
    }
}

std::vector<const ActionInfo*> actions_of(const ShellParts& parts, ActionGroup group) {
    std::vector<const ActionInfo*> actions;
    for (const ActionInfo& info : all_actions()) {
        if (info.group == group && is_offered(parts, info.action))
            actions.push_back(&info);
    }
    return actions;
}

// A window over the others; a press of the mouse beside it, or Esc, takes it away.
template <class Content>
void popup_window(ShellParts& parts, const char* name, const Box& box, float scale,
                  Content content) {
    ImGui::SetNextWindowPos({box.left, box.top});
    ImGui::SetNextWindowSize({box.width(), box.height()});
    ImGui::SetNextWindowFocus();
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2{0, 0});
    ImGui::Begin(name, nullptr,
                 kFlags | ImGuiWindowFlags_NoBackground | ImGuiWindowFlags_NoScrollWithMouse);
    ImGui::PopStyleVar();
    Canvas canvas = parts.canvas(scale);
    canvas.fill(box, canvas.theme().panel);
    canvas.outline(box, canvas.theme().border);
    content(canvas);
    ImGui::End();
    const ImGuiIO& io = ImGui::GetIO();
    const bool is_beside = (io.MouseClicked[0] || io.MouseClicked[1]) && !box.contains(io.MousePos);
    // The menu's own button closes it by itself.
    if (is_beside && !(parts.popup == Popup::menu && io.MousePos.y < box.top))
        parts.popup = Popup::none;
}

float row_height(const Canvas& canvas) {
    return canvas.line_height() + canvas.px(6);
}

// --- menu ----------------------------------------------------------------------------------------

void draw_menu_group(ShellParts& parts, Canvas& canvas, Box column, ActionGroup group) {
    const Theme& theme = canvas.theme();
    const float row = row_height(canvas);
    canvas.text({column.left, column.top + canvas.px(3)}, to_text(group), theme.faint_text);
    column.top += row + canvas.px(2);
    for (const ActionInfo* const info : actions_of(parts, group)) {
        if (info->action == Action::view || info->action == Action::view_below)
            continue;  // the tabs are there for that
        const Box line{column.left - canvas.px(6), column.top, column.right, column.top + row};
        const std::string id(info->title);
        if (button(canvas, line, id.c_str(), {}).left) {
            parts.popup = Popup::none;
            perform(parts, {info->action, 0});
        }
        const float top = line.top + canvas.px(3);
        canvas.text({column.left, top}, info->title, theme.text);
        canvas.text({column.right - canvas.px(6), top}, keys_text(*info), theme.faint_text,
                    Align::right);
        column.top += row;
    }
}

std::size_t longest_group(const ShellParts& parts) {
    std::size_t longest = 0;
    for (const ActionGroup group : kGroups)
        longest = std::max(longest, actions_of(parts, group).size());
    return longest;
}

void draw_menu(ShellParts& parts, const ImVec2& size, float scale) {
    const float bar = ImGui::GetFontSize() + 12 * scale;
    const float row = ImGui::GetFontSize() + 6 * scale;
    const float width = std::min(size.x - 8 * scale, 1240 * scale);
    const float height = static_cast<float>(longest_group(parts) + 1) * row + 24 * scale;
    const Box box{4 * scale, bar, 4 * scale + width, bar + height};
    popup_window(parts, "menu", box, scale, [&](Canvas& canvas) {
        const float pad = canvas.px(16);
        const float each = (box.width() - pad) / static_cast<float>(kGroups.size());
        float left = box.left + pad;
        for (const ActionGroup group : kGroups) {
            draw_menu_group(parts, canvas, {left, box.top + canvas.px(8), left + each - pad, 0},
                            group);
            left += each;
        }
    });
}

// --- keys ----------------------------------------------------------------------------------------

struct SheetLine {
    std::string keys;
    std::string meaning;
    bool is_title = false;
};

std::vector<SheetLine> sheet_lines(const ShellParts& parts) {
    std::vector<SheetLine> lines;
    lines.push_back({"In the views", {}, true});
    for (const Gesture& gesture : all_gestures())
        lines.push_back({std::string(gesture.gesture), std::string(gesture.meaning)});
    for (const ActionGroup group : kGroups) {
        lines.push_back({std::string(to_text(group)), {}, true});
        for (const ActionInfo* const info : actions_of(parts, group)) {
            std::string meaning(info->title);
            if (!info->about.empty())
                meaning += fmt::format(": {}", info->about);
            lines.push_back({keys_text(*info), std::move(meaning)});
        }
    }
    return lines;
}

void draw_sheet_line(Canvas& canvas, const Box& line, const SheetLine& words) {
    const Theme& theme = canvas.theme();
    if (words.is_title) {
        canvas.text_within(line, words.keys, theme.accent);
        canvas.horizontal(line.bottom - 2, line.left, line.right, theme.border);
        return;
    }
    const float keys = canvas.px(170);
    canvas.text_within({line.left, line.top, line.left + keys - canvas.px(10), line.bottom},
                       words.keys, theme.text);
    canvas.text_within({line.left + keys, line.top, line.right, line.bottom}, words.meaning,
                       theme.faint_text);
}

void draw_key_sheet(ShellParts& parts, const ImVec2& size, float scale) {
    const std::vector<SheetLine> lines = sheet_lines(parts);
    const float row = ImGui::GetFontSize() + 6 * scale;
    const float width = std::min(size.x - 20 * scale, 1240 * scale);
    const std::size_t columns = width > 900 * scale ? 2 : 1;
    const std::size_t rows = (lines.size() + columns - 1) / columns;
    const float height = std::min(size.y - 20 * scale, static_cast<float>(rows) * row + 40 * scale);
    const Box box{std::round((size.x - width) / 2), std::round((size.y - height) / 2),
                  std::round((size.x + width) / 2), std::round((size.y + height) / 2)};
    popup_window(parts, "key sheet", box, scale, [&](Canvas& canvas) {
        const Box inner = box.inset(canvas.px(20));
        const float gap = canvas.px(28);
        const float each =
            (inner.width() - gap * static_cast<float>(columns - 1)) / static_cast<float>(columns);
        for (std::size_t i = 0; i < lines.size(); ++i) {
            const float left = inner.left + static_cast<float>(i / rows) * (each + gap);
            const float top = inner.top + static_cast<float>(i % rows) * row;
            if (top + row > box.bottom)
                continue;
            draw_sheet_line(canvas, {left, top, left + each, top + row}, lines[i]);
        }
    });
}

// --- prompt --------------------------------------------------------------------------------------

void draw_prompt(ShellParts& parts, const ImVec2& size, float scale) {
    const float row = ImGui::GetFontSize() + 6 * scale;
    const float width = std::min(560 * scale, size.x - 20 * scale);
    const float left = std::round((size.x - width) / 2);
    const float top = std::round(size.y * 0.16F);
    const Box box{left, top, left + width, top + 4 * row + 28 * scale};
    popup_window(parts, "prompt", box, scale, [&](Canvas& canvas) {
        const Theme& theme = canvas.theme();
        const Box inner = box.inset(canvas.px(14));
        canvas.text_within({inner.left, inner.top, inner.right, inner.top + row},
                           "Go to a time, an event, an address, or a place that was copied",
                           theme.text);
        ImGui::SetCursorScreenPos({inner.left, inner.top + row + canvas.px(2)});
        ImGui::SetNextItemWidth(inner.width());
        if (parts.prompt.takes_focus)
            ImGui::SetKeyboardFocusHere();
        parts.prompt.takes_focus = false;
        ImGui::InputText("##go", parts.prompt.text.data(), parts.prompt.text.size());
        const float line = inner.top + 2.5F * row + canvas.px(2);
        const bool is_wrong = !parts.prompt_error.empty();
        paragraph(canvas, {inner.left, line}, inner.width(),
                  is_wrong ? parts.prompt_error
                           : "1.25s   #1234   0x7f3a80000000   peak   oom   t=1.2s..1.4s",
                  is_wrong ? theme.problem : theme.faint_text);
    });
}

}  // namespace

void draw_popups(ShellParts& parts, float scale) {
    const ImVec2 size = ImGui::GetIO().DisplaySize;
    if (parts.popup == Popup::menu)
        draw_menu(parts, size, scale);
    else if (parts.popup == Popup::keys)
        draw_key_sheet(parts, size, scale);
    else if (parts.popup == Popup::prompt)
        draw_prompt(parts, size, scale);
}

}  // namespace tidemark::viz
