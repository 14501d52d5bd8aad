// The choosers of files and policies as popups, and the notice of files that could not be opened.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "replay/report/forms/wording.h"
#include "viz/draw/table.h"
#include "viz/shell/popup_window.h"
#include "viz/shell/shell_parts.h"
#include "viz/shell/widgets.h"

namespace tidemark::viz {
namespace {

// In the middle, of about that size, smaller where the window is.
Box chooser_box(const ImVec2& size, float scale, float width, float height) {
    const float across = std::min(width * scale, size.x - 24 * scale);
    const float down = std::min(height * scale, size.y - 24 * scale);
    const float left = std::round((size.x - across) / 2);
    const float top = std::round((size.y - down) / 2.4F);
    return {left, top, left + std::round(across), top + std::round(down)};
}

Frame popup_frame(ShellParts& parts, const Canvas& canvas, const Box& box) {
    return {parts.session, parts.camera, parts.selection, parts.search, canvas, box, parts.still};
}

constexpr std::size_t kMostNotices = 4;

// Files that could not be opened, with the reasons and what to do.
std::string notice_text(const std::vector<Error>& notices) {
    std::string text;
    for (std::size_t i = 0; i < std::min(notices.size(), kMostNotices); ++i) {
        const Error& error = notices[i];
        text += fmt::format("{}{}{}", text.empty() ? "" : "\n\n", printable(error.where),
                            error.where.empty() ? "" : "\n") +
                printable(error.what) + ".";
        if (!error.hint.empty())
            text += "\nWhat to do: " + printable(error.hint) + ".";
    }
    if (notices.size() > kMostNotices)
        text += fmt::format("\n\nand {} more", notices.size() - kMostNotices);
    return text;
}

}  // namespace

void draw_file_chooser(ShellParts& parts, const ImVec2& size, float scale) {
    const Box box = chooser_box(size, scale, 760, 560);
    std::optional<std::string> path;
    popup_window(parts, "file chooser", box, scale, [&](Canvas& canvas) {
        Frame frame = popup_frame(parts, canvas, box);
        path = parts.file_chooser.draw(frame, box.inset(canvas.px(14)));
    });
    if (!path)
        return;
    parts.popup = Popup::none;
    open_paths(parts, {*path});
}

void draw_replay_chooser(ShellParts& parts, const ImVec2& size, float scale) {
    const ViewedRun* const run = parts.run();
    if (run == nullptr) {
        parts.popup = Popup::none;
        return;
    }
    const Box box = chooser_box(size, scale, 860, 620);
    std::optional<std::string> policy;
    popup_window(parts, "replay chooser", box, scale, [&](Canvas& canvas) {
        Frame frame = popup_frame(parts, canvas, box);
        policy = parts.replay_chooser.draw(frame, box.inset(canvas.px(14)), run->label);
    });
    if (const std::string& copied = parts.replay_chooser.copied(); !copied.empty())
        parts.say("Copied: " + copied);
    if (!policy)
        return;
    parts.popup = Popup::none;
    replay_beside(parts, *policy, "compare");
}

void draw_notices(ShellParts& parts, const ImVec2& size, float scale) {
    const Canvas measure(nullptr, parts.theme(), scale);
    const float pad = 16 * scale;
    const float width = std::min(600 * scale, size.x - 24 * scale);
    const std::string text = notice_text(parts.notices);
    const std::string title = parts.session.runs.empty()
                                  ? "This could not be opened"
                                  : "This could not be opened; everything else stays open";
    const float line = measure.line_height() + 3 * scale;
    const auto lines = static_cast<float>(wrapped(measure, text, width - 2 * pad).size());
    const float height = (lines + 1.5F) * line + ImGui::GetFrameHeight() + 2.5F * pad;
    const Box box = chooser_box(size, scale, width / scale, height / scale);
    popup_window(parts, "notice", box, scale, [&](Canvas& canvas) {
        const Theme& theme = canvas.theme();
        const Box inner = box.inset(pad);
        canvas.text_within({inner.left, inner.top, inner.right, inner.top + line}, title,
                           theme.problem);
        paragraph(canvas, {inner.left, inner.top + 1.5F * line}, inner.width(), text, theme.text);
        constexpr std::string_view kClose = "Close (Esc)";
        const Box at{inner.left, inner.bottom - ImGui::GetFrameHeight(),
                     inner.left + button_width(canvas, kClose), inner.bottom};
        if (button(canvas, at, "close", kClose, ButtonLook::raised).left)
            parts.popup = Popup::none;
    });
}

}  // namespace tidemark::viz
