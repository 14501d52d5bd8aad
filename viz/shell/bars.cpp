// Tabs of views and tables, and the status line.
#include <algorithm>
#include <cmath>
#include <span>

#include <fmt/format.h>

#include "core/base/text.h"
#include "viz/draw/tip.h"
#include "viz/model/navigation/navigation.h"
#include "viz/shell/shell_parts.h"
#include "viz/shell/widgets.h"

namespace tidemark::viz {
namespace {

constexpr float kTabsCloser = 14;  // points that a tab may be narrower in a narrow window

// A job as the status line describes it.
struct JobLine {
    std::string text;
    double share = 0;
    bool is_cancellable = false;
};

std::vector<JobLine> jobs_of(const Session& session) {
    std::vector<JobLine> jobs;
    for (const ViewedRun& run : session.runs) {
        const LoadState& state = run.state;
        if (state.phase == LoadState::Phase::loading)
            jobs.push_back(
                {state.activity.empty() ? run.label : state.activity, state.share, true});
        else if (state.phase == LoadState::Phase::waiting && !run.live)
            jobs.push_back({run.label + " is waiting", 0, true});
    }
    for (const ViewedRun& run : session.runs) {
        const LoadState& state = run.findings_state;
        if (state.phase == LoadState::Phase::loading)
            jobs.push_back({state.activity, state.share, true});
    }
    return jobs;
}

// Text, a bar and a way to stop; returns where it ends at the left.
float draw_jobs(ShellParts& parts, Canvas& canvas, const Box& box) {
    std::vector<JobLine> jobs = jobs_of(parts.session);
    if (parts.saving.job.running())
        jobs.push_back({"writing " + parts.saving.name(), parts.saving.share->load(), false});
    if (jobs.empty())
        return box.right;
    const Theme& theme = canvas.theme();
    const float gap = canvas.px(8);
    float right = box.right;
    if (parts.host.cancel_loading) {
        const float width = button_width(canvas, "Cancel");
        if (button(canvas, {right - width, box.top, right, box.bottom}, "cancel", "Cancel").left)
            parts.host.cancel_loading();
        right -= width + gap;
    }
    const float bar = canvas.px(90);
    const float middle = (box.top + box.bottom) / 2;
    progress_bar(canvas, {right - bar, middle - canvas.px(3), right, middle + canvas.px(3)},
                 jobs.front().share);
    right -= bar + gap;
    std::string text =
        fmt::format("{}  {:.0f} %", jobs.front().text, std::floor(jobs.front().share * 100));
    if (jobs.size() > 1)
        text += fmt::format("  (+{} more)", jobs.size() - 1);
    const float room = std::min(canvas.text_width(text), std::max(right - box.left, 0.0F) * 0.7F);
    const Box line{right - room, box.top, right, box.bottom};
    canvas.text_within(line, text, theme.text, Align::right);
    ImGui::SetCursorScreenPos({line.left, line.top});
    ImGui::Dummy({std::max(line.width(), 1.0F), line.height()});
    if (ImGui::IsItemHovered()) {
        std::string others;
        for (const JobLine& job : std::span(jobs).subspan(1))
            others += fmt::format("{}{}  {:.0f} %", others.empty() ? "" : "; ", job.text,
                                  std::floor(job.share * 100));
        draw_tip(canvas, jobs.front().text, others);
    }
    return line.left - gap;
}

// What a click on the right end of the status line does.
struct Switch {
    const char* id;
    std::string_view text;
    Action action;
};

float draw_switches(ShellParts& parts, Canvas& canvas, const Box& box) {
    const bool has_runs = !parts.session.runs.empty();
    const std::array<Switch, 3> switches{{
        {"keys", "Keys ?", Action::key_sheet},
        {"theme", parts.dark ? "dark" : "light", Action::theme},
        {"axis", parts.camera.unit() == AxisUnit::time ? "axis: time" : "axis: events",
         Action::axis},
    }};
    float right = box.right;
    for (const Switch& one : switches) {
        if (one.action == Action::axis && !has_runs)
            continue;
        const float width = button_width(canvas, one.text);
        const Pressed pressed =
            button(canvas, {right - width, box.top, right, box.bottom}, one.id, one.text);
        if (pressed.left)
            perform(parts, {one.action, 0});
        if (pressed.hovered)
            draw_tip(canvas, fmt::format("{} ({})", info_of(one.action).title,
                                         keys_text(info_of(one.action))));
        right -= width;
    }
    return right;
}

bool is_shown(const Session& session, const AttachableProgram& program) {
    return std::any_of(session.runs.begin(), session.runs.end(), [&](const ViewedRun& run) {
        return run.live && run.live->alive && run.live->process == program.process;
    });
}

std::string live_text(const ViewedRun& run) {
    const LiveState& live = *run.live;
    if (!live.alive)
        return live.died
                   ? fmt::format("the program {} died: it was killed, or crashed", live.process)
                   : fmt::format("the program {} has ended", live.process);
    std::string text =
        fmt::format("{} {}/s, ring {:.0f} %", live.paused ? "paused" : "live",
                    format_counted(static_cast<std::uint64_t>(live.events_per_second), "event"),
                    live.ring_share * 100);
    if (live.dropped > 0)
        text += fmt::format(", {} lost", format_count(live.dropped));
    return text;
}

// Where a program has ended: live programs of its name, to be attached by a click. Returns where
// they end at the left.
float draw_successors(ShellParts& parts, Canvas& canvas, const Box& box) {
    if (!has_ended(parts.run()) || !parts.host.attach)
        return box.right;
    float right = box.right;
    const std::string name = parts.run()->trace_name;
    const std::vector<AttachableProgram> programs = known_programs(parts);
    for (const AttachableProgram& program : programs) {
        if (program.name != name || is_shown(parts.session, program))
            continue;
        const std::string text = fmt::format("Attach {} ({})", program.name, program.process);
        const float width = button_width(canvas, text);
        if (right - width < box.left)
            break;
        const std::string id = fmt::format("attach {}", program.process);
        if (button(canvas, {right - width, box.top, right, box.bottom}, id.c_str(), text,
                   ButtonLook::raised)
                .left)
            attach(parts, program);
        right -= width + canvas.px(8);
    }
    return right;
}

// At the right end of the tabs' row, if there is room.
bool tab_row_button(Canvas& canvas, const Box& box, const char* text) {
    const float width = button_width(canvas, text);
    const float right = box.right - canvas.px(4);
    return box.left + width < right &&
           button(canvas, {right - width, box.top, right, box.bottom}, text, text).left;
}

bool is_offered(const ShellParts& parts, const ViewInfo& view) {
    return view.offered == nullptr || view.offered(parts.session, parts.selection);
}

struct TabText {
    std::size_t view = 0;  // of all_views()
    std::string hint;      // its key
    std::string title;
    float width = 0;
};

// For views that share a row `room` wide: in a narrow one without their keys, and closer together.
std::vector<TabText> tab_texts(const ShellParts& parts, const Canvas& canvas,
                               const std::vector<std::size_t>& views, float room) {
    std::vector<TabText> tabs;
    const auto total = [&tabs] {
        float width = 0;
        for (const TabText& tab : tabs)
            width += tab.width;
        return width;
    };
    for (std::size_t i = 0; i < views.size(); ++i) {
        const ViewInfo& info = all_views()[views[i]];
        if (!is_offered(parts, info))
            continue;
        const bool has_key = info.pane == Pane::main && i < 9;
        TabText tab{views[i], has_key ? fmt::format("{}", i + 1) : "", std::string(info.title)};
        if (info.name == "findings" && !parts.run()->findings.empty())
            tab.title += fmt::format(" ({})", parts.run()->findings.size());
        tab.width = tab_width(canvas, tab.title, tab.hint);
        tabs.push_back(std::move(tab));
    }
    if (total() > room)
        for (TabText& tab : tabs) {
            tab.hint.clear();
            tab.width = tab_width(canvas, tab.title, {});
        }
    if (const float beyond = total() - room; beyond > 0)
        for (TabText& tab : tabs)
            tab.width -= std::min(beyond / static_cast<float>(tabs.size()), canvas.px(kTabsCloser));
    return tabs;
}

}  // namespace

float draw_view_tabs(ShellParts& parts, Canvas& canvas, const Box& box, Pane pane) {
    const bool is_main = pane == Pane::main;
    float left = box.left;
    for (const auto& [view, hint, title, width] :
         tab_texts(parts, canvas, views_in(pane), box.width())) {
        const ViewInfo& info = all_views()[view];
        const bool is_on =
            is_main ? std::find(parts.main.begin(), parts.main.end(), view) != parts.main.end()
                    : (pane == Pane::table ? parts.table : parts.side) == view;
        const std::string id = fmt::format("tab {}", info.name);
        const Pressed pressed =
            tab(canvas, {left, box.top, left + width, box.bottom}, id.c_str(), title, hint, is_on);
        if (pressed.left || pressed.beneath)
            show_view(parts, view, pressed.beneath);
        if (pressed.hovered)
            draw_tip(canvas, info.summary, is_main ? "Ctrl-click: below the current view" : "");
        left += width;
    }
    return left;
}

void draw_tabs(ShellParts& parts, Canvas& canvas, const Box& box) {
    canvas.fill(box, canvas.theme().panel);
    canvas.horizontal(box.bottom - 1, box.left, box.right, canvas.theme().border);
    const std::string_view split = parts.main.size() > 1 ? "one view" : "two views";
    const float room = button_width(canvas, split) + canvas.px(6);
    const Box row{box.left + canvas.px(4), box.top, box.right - room, box.bottom};
    const float left = draw_view_tabs(parts, canvas, row, Pane::main);
    if (tab_row_button(canvas, {left, box.top, box.right, box.bottom - 1}, split.data()))
        perform(parts, {Action::split, 0});
}

void draw_table_tabs(ShellParts& parts, Canvas& canvas, const Box& box) {
    canvas.fill(box, canvas.theme().panel);
    canvas.horizontal(box.top, box.left, box.right, canvas.theme().border);
    const Box row{box.left + canvas.px(4), box.top, box.right, box.bottom};
    const float left = draw_view_tabs(parts, canvas, row, Pane::table);
    if (tab_row_button(canvas, {left, box.top + 1, box.right, box.bottom}, "fold"))
        perform(parts, {Action::fold_table, 0});
}

void draw_status(ShellParts& parts, Canvas& canvas, const Box& box) {
    const Theme& theme = canvas.theme();
    canvas.fill(box, theme.panel);
    canvas.horizontal(box.top, box.left, box.right, theme.border);
    const float gap = canvas.px(10);
    Box rest{box.left + gap, box.top + 1, box.right, box.bottom};
    rest.right = draw_switches(parts, canvas, rest) - gap;
    if (parts.frame_ms > 0 && !parts.still) {
        const std::string frame = fmt::format("{:.1f} ms", parts.frame_ms);
        const float room = canvas.text_width("888.8 ms");
        canvas.text_within({rest.right - room, rest.top, rest.right, rest.bottom}, frame,
                           theme.faint_text, Align::right);
        rest.right -= room + gap;
    }
    rest.right = draw_jobs(parts, canvas, rest);
    rest.right = draw_successors(parts, canvas, rest);
    if (parts.now < parts.message_until && !parts.message.empty()) {
        canvas.text_within(rest, parts.message, theme.text);
        return;
    }
    const ViewedRun* const run = parts.run();
    if (run == nullptr || page_of(parts) != Page::views)
        return;
    std::string text = window_text(parts.session, parts.camera, parts.selection);
    if (run->live)
        text = live_text(*run) + "   " + text;
    canvas.text_within(rest, text, theme.faint_text);
}

void draw_splitters(ShellParts& parts, Canvas& canvas, const Layout& layout) {
    const float scale = canvas.px(1);
    Splits& splits = parts.splits;
    const auto line = [&](const Box& grip, bool is_vertical) {
        if (grip.width() < 1 || grip.height() < 1)
            return;
        const Colour colour = canvas.theme().border;
        if (is_vertical)
            canvas.vertical((grip.left + grip.right) / 2, grip.top, grip.bottom, colour);
        else
            canvas.horizontal((grip.top + grip.bottom) / 2, grip.left, grip.right, colour);
    };
    line(layout.side_edge, true);
    line(layout.table_edge, false);
    line(layout.main_edge, false);
    // Only the edge that is pulled moves: if a small window shrinks a part, a larger window
    // restores it.
    if (const float moved = splitter(layout.side_edge, "side edge", true); moved != 0)
        splits.side_width = (layout.side.width() - moved) / scale;
    if (const float moved = splitter(layout.table_edge, "table edge", false); moved != 0)
        splits.table_height = (layout.table.height() - moved) / scale;
    const float both = layout.first.height() + layout.second.height();
    if (const float moved = splitter(layout.main_edge, "main edge", false); moved != 0)
        splits.first_share = (layout.first.height() + moved) / both;
}

}  // namespace tidemark::viz
