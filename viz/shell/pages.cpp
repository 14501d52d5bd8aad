// The middle of the window when no view can be shown: nothing is open, something is loading,
// something failed. Each page says what to do next.
#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "viz/draw/fonts.h"
#include "viz/shell/shell_parts.h"
#include "viz/shell/widgets.h"

namespace tidemark::viz {
namespace {

constexpr float kPageWidth = 640;  // points

struct Example {
    std::string_view command;
    std::string_view meaning;
};

constexpr std::array kExamples = {
    Example{"tidemark view run.tmk", "a recording, as it was"},
    Example{"tidemark view snapshot.pickle --policy torch --policy buddy", "under two allocators"},
    Example{"tidemark view uses.tmk --gpu-memory 60% --spill lru", "over GPU, host and disk"},
    Example{"tidemark view --attach NAME", "a running program"},
    Example{"tidemark view generate:training", "an example to look at"},
};

// Draws from the top down in a column in the middle of the page.
class Column {
  public:
    Column(Canvas& canvas, const Box& box, float height_share)
        : canvas_(canvas),
          width_(std::min(canvas.px(kPageWidth), box.width() - canvas.px(32))),
          left_(std::round(box.left + (box.width() - width_) / 2)),
          y_(std::round(box.top + box.height() * height_share)) {}

    void heading(std::string_view text) {
        ImGui::PushFont(current_fonts().heading);
        y_ += paragraph(canvas_, {left_, y_}, width_, text, canvas_.theme().text);
        ImGui::PopFont();
        skip(8);
    }

    void text(std::string_view text, Colour colour) {
        y_ += paragraph(canvas_, {left_, y_}, width_, text, colour);
    }

    // A command in monospaced letters, and what it does.
    void example(const Example& example) {
        const float gap = canvas_.px(16);
        ImGui::PushFont(current_fonts().fixed);
        const float used = canvas_.text({left_ + gap, y_}, example.command, canvas_.theme().accent);
        ImGui::PopFont();
        canvas_.text_within({left_ + 2 * gap + used, y_, left_ + width_ + canvas_.px(160),
                             y_ + canvas_.line_height()},
                            example.meaning, canvas_.theme().faint_text);
        y_ += canvas_.line_height() + canvas_.px(6);
    }

    bool action(const char* id, std::string_view text) {
        const float height = canvas_.line_height() + canvas_.px(10);
        const float width = std::min(button_width(canvas_, text), width_);
        const Box box{left_, y_, left_ + width, y_ + height};
        y_ += height + canvas_.px(6);
        return button(canvas_, box, id, text, ButtonLook::raised).left;
    }

    void bar(double share) {
        progress_bar(canvas_, {left_, y_, left_ + width_, y_ + canvas_.px(8)}, share);
        y_ += canvas_.px(8);
        skip(8);
    }

    void skip(float points) { y_ += canvas_.px(points); }

  private:
    Canvas& canvas_;
    float width_;
    float left_;
    float y_;
};

void draw_programs(ShellParts& parts, Column& column, const Theme& theme) {
    if (!parts.host.programs || !parts.host.attach)
        return;
    column.skip(18);
    column.heading("Programs that can be attached");
    const std::vector<AttachableProgram> programs = known_programs(parts);
    if (programs.empty())
        column.text("No program publishes its memory now; one that starts appears here.",
                    theme.faint_text);
    for (const AttachableProgram& program : programs) {
        const std::string text = fmt::format("{}  (process {}){}{}", program.name, program.process,
                                             program.about.empty() ? "" : ", ", program.about);
        const std::string id = fmt::format("attach {}", program.process);
        if (column.action(id.c_str(), text))
            attach(parts, program);
    }
}

void draw_empty(ShellParts& parts, Canvas& canvas, const Box& box) {
    Column column(canvas, box, 0.18F);
    const Theme& theme = canvas.theme();
    column.heading("Nothing is open");
    if (parts.host.open) {
        column.text("Open a recording, or drop one (or a folder of ranks) on this window.",
                    theme.text);
        column.skip(6);
        if (column.action("open a file", "Open a recording (Ctrl-O)"))
            perform(parts, {Action::open_file, 0});
        column.skip(8);
    }
    column.text(parts.host.open ? "Or start with one of these:" : "Start with one of these:",
                theme.text);
    column.skip(6);
    for (const Example& example : kExamples)
        column.example(example);
    column.skip(6);
    column.text(
        "Recordings may be .tmk, PyTorch snapshots (.pickle), RMM logs (.csv) and .jsonl, "
        "compressed as well.",
        theme.faint_text);
    draw_programs(parts, column, theme);
}

void draw_loading(ShellParts& parts, Canvas& canvas, const Box& box) {
    Column column(canvas, box, 0.3F);
    const Theme& theme = canvas.theme();
    column.heading(parts.session.runs.size() == 1
                       ? "Opening " + parts.session.runs.front().trace_name
                       : fmt::format("Opening {} runs", parts.session.runs.size()));
    constexpr std::size_t kMostListed = 8;
    const std::size_t count = std::min(parts.session.runs.size(), kMostListed);
    for (std::size_t i = 0; i < count; ++i) {
        const ViewedRun& run = parts.session.runs[i];
        column.text(run.state.activity.empty() ? run.label : run.state.activity, theme.faint_text);
        column.bar(run.state.phase == LoadState::Phase::ready ? 1 : run.state.share);
    }
    if (parts.session.runs.size() > count)
        column.text(fmt::format("and {} more", parts.session.runs.size() - count),
                    theme.faint_text);
    column.text("You can look at it as soon as its history has started.", theme.faint_text);
    column.skip(6);
    if (parts.host.cancel_loading && column.action("cancel loading", "Cancel"))
        parts.host.cancel_loading();
}

void draw_error(ShellParts& parts, Canvas& canvas, const Box& box) {
    const ViewedRun& run = *parts.run();
    const Error& error = run.state.error;
    const Theme& theme = canvas.theme();
    Column column(canvas, box, 0.26F);
    const bool was_cancelled = error.code == ErrorCode::cancelled;
    column.heading(was_cancelled ? run.label + " was cancelled"
                                 : run.label + " could not be opened");
    if (!was_cancelled)
        column.text(error.what, theme.problem);
    if (!error.where.empty())
        column.text("where: " + error.where, theme.text);
    if (!error.hint.empty()) {
        column.skip(6);
        column.text("what to do: " + error.hint, theme.text);
    }
    column.skip(10);
    if (parts.session.runs.size() > 1 && column.action("other run", "Show the next run (R)"))
        perform(parts, {Action::next_run, 0});
    if (!parts.host.open)
        return;
    if (column.action("open another", "Open another file (Ctrl-O)"))
        perform(parts, {Action::open_file, 0});
    column.text("Or drop one on this window.", theme.faint_text);
}

}  // namespace

Page page_of(const ShellParts& parts) {
    if (parts.session.runs.empty())
        return Page::empty;
    const ViewedRun* const run = parts.run();
    if (run == nullptr)
        return Page::empty;
    if (run->history || run->tiers)
        return Page::views;
    return run->state.phase == LoadState::Phase::failed ? Page::error : Page::loading;
}

void draw_page(ShellParts& parts, Page page, const Box& box, float scale) {
    Canvas canvas = parts.canvas(scale);
    if (page == Page::empty)
        draw_empty(parts, canvas, box);
    else if (page == Page::loading)
        draw_loading(parts, canvas, box);
    else if (page == Page::error)
        draw_error(parts, canvas, box);
}

}  // namespace tidemark::viz
