// Saves a table to a file: all its rows, with a name next to the trace, written in the background.
// Existing files are never overwritten.
#include <cmath>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "core/base/text.h"
#include "viz/shell/popup_window.h"
#include "viz/shell/widgets.h"

namespace tidemark::viz {
namespace {

bool exists(const std::string& path) {
    std::error_code ignored;
    return std::filesystem::exists(std::filesystem::symlink_status(path, ignored));
}

// "run.tmk.blocks.csv", `beside` the trace if requested, else in the working directory; with a
// number if that is taken.
std::string free_name(const ViewedRun* run, const std::string& table, bool beside) {
    const std::string trace = run == nullptr || run->path.empty() ? "tidemark"
                              : beside                            ? run->path
                                       : std::filesystem::path(run->path).filename().string();
    for (int i = 1;; ++i) {
        std::string name = i == 1 ? fmt::format("{}.{}.csv", trace, table)
                                  : fmt::format("{}.{}-{}.csv", trace, table, i);
        if (!exists(name))
            return name;
    }
}

}  // namespace

void ask_for_rows(ShellParts& parts) {
    if (!parts.host.saves_tables)
        return parts.say("No files can be written from here: Ctrl-E copies the table.");
    if (parts.saving.job.running())
        return parts.say("Another table is being written: wait until it is done.");
    parts.selection.rows.reset();
    parts.selection.wanted_rows = "mouse";
}

void take_rows(ShellParts& parts) {
    Selection& selection = parts.selection;
    TableSaving& saving = parts.saving;
    if (const auto written = saving.job.take()) {
        parts.say(*written ? fmt::format("Saved {} as {}", format_counted(**written, "row"),
                                         saving.name())
                           : to_text(written->error()));
        if (*written && parts.host.take_file)
            parts.host.take_file(saving.target);
    }
    if (!parts.host.saves_tables)
        return;
    if (!std::exchange(selection.wanted_rows, {}).empty())
        return parts.say("Nothing to save: point at a table.");
    if (selection.rows_name.empty())
        return;
    const std::string table = std::exchange(selection.rows_name, {});
    saving.rows = std::exchange(selection.rows, {});
    if (!saving.rows)
        return parts.say("The table is not complete yet: try again in a moment.");
    const std::string name = free_name(parts.run(), table, !parts.host.take_file);
    saving.path.set(name.size() < saving.path.text.size() ? name : std::string());
    saving.path.takes_focus = true;
    saving.path.entered = false;
    saving.error.clear();
    parts.popup = Popup::table;
}

void submit_table(ShellParts& parts) {
    TableSaving& saving = parts.saving;
    const std::string path(trimmed(saving.path.view()));
    if (path.empty() || exists(path)) {
        saving.error = path.empty() ? "Where to?" : "That file exists already: use another name.";
        return;
    }
    parts.popup = Popup::none;
    saving.target = path;
    saving.share = std::make_shared<std::atomic<double>>(0.0);
    saving.job.start([rows = std::exchange(saving.rows, {}), share = saving.share,
                      path](const Cancelled& cancelled) {
        return write_csv(
            *rows, {.path = path, .kind = FileKind::table},
            [&share](double done) { share->store(done); }, cancelled);
    });
}

void draw_table_popup(ShellParts& parts, const ImVec2& size, float scale) {
    TableSaving& saving = parts.saving;
    const float row = ImGui::GetFontSize() + 6 * scale;
    const float width = std::min(720 * scale, size.x - 20 * scale);
    const float left = std::round((size.x - width) / 2);
    const float top = std::round(size.y * 0.16F);
    const Box box{left, top, left + width, top + 3.6F * row + 28 * scale};
    popup_window(parts, "table", box, scale, [&](Canvas& canvas) {
        const Theme& theme = canvas.theme();
        const Box inner = box.inset(canvas.px(14));
        canvas.text_within(
            {inner.left, inner.top, inner.right, inner.top + row},
            fmt::format("Save {} as CSV", saving.rows ? format_counted(saving.rows->rows(), "row")
                                                      : std::string("the table")),
            theme.text);
        ImGui::SetCursorScreenPos({inner.left, inner.top + row + canvas.px(2)});
        ImGui::SetNextItemWidth(inner.width());
        if (std::exchange(saving.path.takes_focus, false))
            focus_next_field();
        ImGui::InputText("##csv", saving.path.text.data(), saving.path.text.size());
        const bool is_wrong = !saving.error.empty();
        canvas.text_within({inner.left, inner.bottom - row, inner.right, inner.bottom},
                           is_wrong ? saving.error : "Enter saves, Esc cancels",
                           is_wrong ? theme.problem : theme.faint_text);
    });
    if (std::exchange(saving.path.entered, false))
        submit_table(parts);
}

}  // namespace tidemark::viz
