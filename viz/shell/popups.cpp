// Popups over the views: the menu, the key sheet, the prompt, the choosers.
#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "viz/draw/table.h"
#include "viz/shell/popup_window.h"
#include "viz/shell/shell_parts.h"
#include "viz/shell/widgets.h"

namespace tidemark::viz {
namespace {

constexpr std::array kGroups = {ActionGroup::navigate, ActionGroup::go, ActionGroup::show,
                                ActionGroup::window};

bool is_offered(const ShellParts& parts, Action action) {
    switch (action) {
        case Action::open_file:
            return static_cast<bool>(parts.host.open);
        case Action::replay_under:
            return static_cast<bool>(parts.host.replay);
        case Action::next_gpu:
            return parts.host.next_gpu && parts.run() != nullptr && parts.run()->gpus > 1;
        case Action::pause:
            return static_cast<bool>(parts.host.pause);
        case Action::align:
            return static_cast<bool>(parts.host.align);
        case Action::save_image:
            return static_cast<bool>(parts.host.save_image);
        case Action::save_table:
            return parts.host.saves_tables;
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

float menu_row_height(const Canvas& canvas) {
    return canvas.line_height() + canvas.px(6);
}

// --- menu ----------------------------------------------------------------------------------------

constexpr float kMenuPad = 14;    // points around a group
constexpr float kKeysApart = 24;  // between words and their keys

// The tabs are there for views.
std::vector<const ActionInfo*> menu_actions(const ShellParts& parts, ActionGroup group) {
    std::vector<const ActionInfo*> actions = actions_of(parts, group);
    std::erase_if(actions, [](const ActionInfo* info) {
        return info->action == Action::view || info->action == Action::view_below;
    });
    return actions;
}

struct MenuGroup {
    ActionGroup group = ActionGroup::navigate;
    std::vector<const ActionInfo*> actions;
    float width = 0;
};

std::vector<MenuGroup> menu_groups(const ShellParts& parts, const Canvas& canvas) {
    std::vector<MenuGroup> groups;
    for (const ActionGroup group : kGroups) {
        MenuGroup column{group, menu_actions(parts, group)};
        float title = 0;
        float keys = 0;
        for (const ActionInfo* const info : column.actions) {
            title = std::max(title, canvas.text_width(info->title));
            keys = std::max(keys, canvas.text_width(to_text(info->keys[0])));
        }
        column.width = std::ceil(title + canvas.px(kKeysApart) + keys);
        groups.push_back(std::move(column));
    }
    return groups;
}

void draw_menu_group(ShellParts& parts, Canvas& canvas, Box column, const MenuGroup& group) {
    const Theme& theme = canvas.theme();
    const float row = menu_row_height(canvas);
    const float around = canvas.px(6);
    canvas.text({column.left, column.top + canvas.px(3)}, to_text(group.group), theme.accent);
    column.top += row + canvas.px(2);
    for (const ActionInfo* const info : group.actions) {
        const Box line{column.left - around, column.top, column.right + around, column.top + row};
        const std::string id(info->title);
        if (button(canvas, line, id.c_str(), {}).left) {
            parts.popup = Popup::none;
            perform(parts, {info->action, 0});
        }
        const float top = line.top + canvas.px(3);
        const float keys = canvas.text({column.right, top}, to_text(info->keys[0]),
                                       theme.faint_text, Align::right);
        canvas.text_within({column.left, line.top, column.right - keys - around, line.bottom},
                           info->title, theme.text);
        column.top += row;
    }
}

// As wide as its words need, or as the window is.
void draw_menu(ShellParts& parts, const ImVec2& size, float scale) {
    const Canvas measure(nullptr, parts.theme(), scale);
    const std::vector<MenuGroup> groups = menu_groups(parts, measure);
    const float bar = ImGui::GetFontSize() + 12 * scale;
    const float pad = kMenuPad * scale;
    float width = 0;
    std::size_t rows = 0;
    for (const MenuGroup& group : groups) {
        width += group.width + 2 * pad;
        rows = std::max(rows, group.actions.size());
    }
    const float room = size.x - 8 * scale;
    const float share = std::min(1.0F, room / width);
    const float height = static_cast<float>(rows + 1) * menu_row_height(measure) + 20 * scale;
    const float left = 4 * scale;
    popup_window(parts, "menu", {left, bar, left + std::min(width, room), bar + height}, scale,
                 [&](Canvas& canvas) {
                     float from = left;
                     for (const MenuGroup& group : groups) {
                         const float to = from + (group.width + 2 * pad) * share;
                         draw_menu_group(parts, canvas,
                                         {from + pad, bar + canvas.px(8), to - pad, 0}, group);
                         from = to;
                     }
                 });
}

// --- keys ----------------------------------------------------------------------------------------

struct SheetLine {
    std::string keys;
    std::string meaning;
};

struct SheetGroup {
    std::string title;
    std::vector<SheetLine> lines;
};

std::vector<SheetGroup> sheet_groups(const ShellParts& parts) {
    std::vector<SheetGroup> groups{{"In the views", {}}};
    for (const Gesture& gesture : all_gestures())
        groups.back().lines.push_back({std::string(gesture.gesture), std::string(gesture.meaning)});
    for (const ActionGroup group : kGroups) {
        groups.push_back({std::string(to_text(group)), {}});
        for (const ActionInfo* const info : actions_of(parts, group)) {
            std::string meaning(info->title);
            if (!info->about.empty())
                meaning += fmt::format(": {}", info->about);
            groups.back().lines.push_back({keys_text(*info), std::move(meaning)});
        }
    }
    return groups;
}

// Positions of the groups: in two columns of about the same height, or one below the other.
struct Sheet {
    std::vector<SheetGroup> groups;
    std::vector<std::size_t> column;  // of each group
    std::size_t columns = 1;
    float keys = 0;   // width of the keys
    float width = 0;  // of a column
    float row = 0;
    float height = 0;  // of the higher column
};

float group_height(const SheetGroup& group, float row) {
    return (static_cast<float>(group.lines.size()) + 1.5F) * row;
}

Sheet lay_out_sheet(const ShellParts& parts, const Canvas& canvas, float room) {
    Sheet sheet;
    sheet.groups = sheet_groups(parts);
    sheet.row = menu_row_height(canvas);
    float meaning = 0;
    for (const SheetGroup& group : sheet.groups) {
        for (const SheetLine& line : group.lines) {
            sheet.keys = std::max(sheet.keys, canvas.text_width(line.keys));
            meaning = std::max(meaning, canvas.text_width(line.meaning));
        }
    }
    sheet.keys = std::ceil(sheet.keys + canvas.px(kKeysApart));
    sheet.width = std::ceil(sheet.keys + meaning + 1);
    sheet.columns = 2 * sheet.width + canvas.px(kKeysApart) <= room ? 2 : 1;
    sheet.width = std::min(sheet.width, room);
    std::vector<float> filled(sheet.columns, 0.0F);
    for (const SheetGroup& group : sheet.groups) {
        const auto shortest = std::min_element(filled.begin(), filled.end());
        sheet.column.push_back(static_cast<std::size_t>(shortest - filled.begin()));
        *shortest += group_height(group, sheet.row);
    }
    sheet.height = *std::max_element(filled.begin(), filled.end()) - sheet.row / 2;
    return sheet;
}

void draw_sheet_group(Canvas& canvas, const Sheet& sheet, const SheetGroup& group, ImVec2 at) {
    const Theme& theme = canvas.theme();
    const float right = at.x + sheet.width;
    canvas.text({at.x, at.y + canvas.px(3)}, group.title, theme.accent);
    canvas.horizontal(at.y + sheet.row - 2, at.x, right, theme.border);
    for (const SheetLine& line : group.lines) {
        at.y += sheet.row;
        canvas.text_within({at.x, at.y, at.x + sheet.keys, at.y + sheet.row}, line.keys,
                           theme.text);
        canvas.text_within({at.x + sheet.keys, at.y, right, at.y + sheet.row}, line.meaning,
                           theme.faint_text);
    }
}

void draw_sheet(Canvas& canvas, const Sheet& sheet, const Box& inner, float scrolled) {
    const Theme& theme = canvas.theme();
    canvas.clip({inner.left, inner.top, inner.right + canvas.px(16), inner.bottom});
    std::vector<float> tops(sheet.columns, inner.top - scrolled);
    for (std::size_t i = 0; i < sheet.groups.size(); ++i) {
        float& top = tops[sheet.column[i]];
        const float left = inner.left + static_cast<float>(sheet.column[i]) *
                                            (sheet.width + canvas.px(kKeysApart));
        draw_sheet_group(canvas, sheet, sheet.groups[i], {left, top});
        top += group_height(sheet.groups[i], sheet.row);
    }
    if (sheet.height > inner.height() + 1) {
        const float shown = inner.height() / sheet.height;
        const float top = inner.top + scrolled * shown;
        canvas.fill({inner.right + canvas.px(6), top, inner.right + canvas.px(12),
                     top + inner.height() * shown},
                    mix(theme.panel, theme.text, 0.3));
    }
    canvas.unclip();
}

// In a window that is too low for it, it moves with the wheel.
void draw_key_sheet(ShellParts& parts, const ImVec2& size, float scale) {
    const float pad = 20 * scale;
    const float beside = 10 * scale;
    const Canvas measure(nullptr, parts.theme(), scale);
    const Sheet sheet = lay_out_sheet(parts, measure, size.x - 2 * (pad + beside));
    const auto columns = static_cast<float>(sheet.columns);
    const float width = columns * sheet.width + (columns - 1) * measure.px(kKeysApart) + 2 * pad;
    const float height = std::min(size.y - 2 * beside, sheet.height + 2 * pad);
    const float left = std::round((size.x - width) / 2);
    const float top = std::round((size.y - height) / 2);
    const Box box{left, top, left + std::round(width), top + std::round(height)};
    const Box inner = box.inset(pad);
    const float step = 3 * sheet.row;
    parts.sheet_scrolled = std::clamp(parts.sheet_scrolled - step * ImGui::GetIO().MouseWheel, 0.0F,
                                      std::max(0.0F, sheet.height - inner.height()));
    popup_window(parts, "key sheet", box, scale,
                 [&](Canvas& canvas) { draw_sheet(canvas, sheet, inner, parts.sheet_scrolled); });
}

// --- prompt --------------------------------------------------------------------------------------

constexpr std::string_view kPromptHint =
    "1.25s   #1234   0x7f3a80000000   peak   oom   t=1.2s..1.4s";

void draw_prompt(ShellParts& parts, const ImVec2& size, float scale) {
    const float row = ImGui::GetFontSize() + 6 * scale;
    const float width = std::min(560 * scale, size.x - 20 * scale);
    const float left = std::round((size.x - width) / 2);
    const float top = std::round(size.y * 0.16F);
    const Canvas measure(nullptr, parts.theme(), scale);
    const bool is_wrong = !parts.prompt_error.empty();
    const std::string hint = is_wrong ? parts.prompt_error : std::string(kPromptHint);
    const auto lines = static_cast<float>(wrapped(measure, hint, width - 28 * scale).size());
    const Box box{left, top, left + width, top + (2.6F + lines) * row + 28 * scale};
    popup_window(parts, "prompt", box, scale, [&](Canvas& canvas) {
        const Theme& theme = canvas.theme();
        const Box inner = box.inset(canvas.px(14));
        canvas.text_within({inner.left, inner.top, inner.right, inner.top + row},
                           "Go to a time, an event, an address, or a copied location", theme.text);
        ImGui::SetCursorScreenPos({inner.left, inner.top + row + canvas.px(2)});
        ImGui::SetNextItemWidth(inner.width());
        if (parts.prompt.takes_focus)
            focus_next_field();
        parts.prompt.takes_focus = false;
        ImGui::InputText("##go", parts.prompt.text.data(), parts.prompt.text.size());
        if (std::exchange(parts.prompt.entered, false))
            submit_prompt(parts);
        const float line = inner.top + 2.5F * row + canvas.px(2);
        paragraph(canvas, {inner.left, line}, inner.width(), hint,
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
    else if (parts.popup == Popup::file)
        draw_file_chooser(parts, size, scale);
    else if (parts.popup == Popup::replay)
        draw_replay_chooser(parts, size, scale);
    else if (parts.popup == Popup::notice)
        draw_notices(parts, size, scale);
    else if (parts.popup == Popup::table)
        draw_table_popup(parts, size, scale);
}

}  // namespace tidemark::viz
