// Where a bookmark's name and note are written.
#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "core/base/text.h"
#include "viz/model/blocks/site_names.h"
#include "viz/shell/popup_window.h"
#include "viz/shell/widgets.h"

namespace tidemark::viz {
namespace {

constexpr float kNoteLines = 4;
constexpr std::string_view kEditorHint = "Enter saves, Tab: the note, Esc: nothing changes";

// "block #81, 8.00 MiB, act": of a run that has it.
std::string block_text(const ViewedRun& run, std::uint64_t index) {
    std::string text = fmt::format("block #{}", index);
    if (!run.history || index >= run.history->counts().blocks)
        return text;
    const Block block = run.history->block(static_cast<BlockIndex>(index));
    SiteNames names(*run.history);
    return fmt::format("{}, {}, {}", text, format_bytes(block.size),
                       one_line(names.name(run.history->site(block.site)), 40));
}

void draw_fields(ShellParts& parts, const Canvas& canvas, const Box& inner, float row) {
    BookmarkEditor& editor = parts.editor;
    ImGui::SetCursorScreenPos({inner.left, inner.top + row + canvas.px(2)});
    ImGui::SetNextItemWidth(inner.width());
    if (std::exchange(editor.name.takes_focus, false))
        ImGui::SetKeyboardFocusHere();
    ImGui::InputTextWithHint("##bookmark", "its name", editor.name.text.data(),
                             std::min<std::size_t>(editor.name.text.size(), kLongestNoteName));
    ImGui::SetCursorScreenPos({inner.left, inner.top + 2.5F * row});
    if (std::exchange(editor.text_takes_focus, false))
        ImGui::SetKeyboardFocusHere();
    ImGui::InputTextMultiline("##note", editor.text.data(), editor.text.size(),
                              {inner.width(), kNoteLines * row});
    editor.text_has_focus = ImGui::IsItemActive();
}

// Save, remove, and which block it is about; the hint below.
void draw_buttons(ShellParts& parts, Canvas& canvas, const Box& line) {
    BookmarkEditor& editor = parts.editor;
    const float gap = canvas.px(8);
    float right = line.right;
    const auto pressed = [&](const char* title, ButtonLook look) {
        const float width = button_width(canvas, title);
        const Box box{right - width, line.top, right, line.bottom};
        right -= width + gap;
        return button(canvas, box, title, title, look).left;
    };
    if (pressed("Save", ButtonLook::on))
        editor.name.entered = true;
    if (!editor.is_new && pressed("Remove", ButtonLook::raised)) {
        parts.popup = Popup::none;
        parts.selection.hot_bookmark = editor.note.id;
        remove_bookmark_here(parts);
    }
    const ViewedRun* const run = parts.run();
    if (!editor.block || run == nullptr)
        return;
    const std::string text = "with " + block_text(*run, *editor.block);
    const float width = std::min(button_width(canvas, text), right - line.left);
    const bool is_on = editor.note.block.has_value();
    if (button(canvas, {line.left, line.top, line.left + width, line.bottom}, "block", text,
               is_on ? ButtonLook::on : ButtonLook::raised)
            .left)
        editor.note.block = is_on ? std::nullopt : editor.block;
}

}  // namespace

void draw_bookmark_popup(ShellParts& parts, const ImVec2& size, float scale) {
    const float row = ImGui::GetFontSize() + 6 * scale;
    const float width = std::min(560 * scale, size.x - 20 * scale);
    const float left = std::round((size.x - width) / 2);
    const float top = std::round(size.y * 0.16F);
    const float height = (2.5F + kNoteLines + 2.8F) * row + 28 * scale;
    popup_window(
        parts, "bookmark", {left, top, left + width, top + height}, scale, [&](Canvas& canvas) {
            const Theme& theme = canvas.theme();
            const Box inner = Box{left, top, left + width, top + height}.inset(canvas.px(14));
            canvas.text_within({inner.left, inner.top, inner.right, inner.top + row},
                               "Bookmark, " + where_text(parts.editor.note), theme.text);
            draw_fields(parts, canvas, inner, row);
            const float line = inner.top + (2.5F + kNoteLines) * row + canvas.px(8);
            draw_buttons(parts, canvas, {inner.left, line, inner.right, line + row + canvas.px(2)});
            canvas.text_within({inner.left, inner.bottom - row, inner.right, inner.bottom},
                               kEditorHint, theme.faint_text);
        });
    if (std::exchange(parts.editor.name.entered, false) && parts.popup == Popup::bookmark)
        submit_bookmark(parts);
}

}  // namespace tidemark::viz
