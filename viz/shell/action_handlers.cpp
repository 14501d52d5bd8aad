// What actions do.
#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "core/base/check.h"
#include "replay/report/forms/axis_ticks.h"
#include "viz/model/blocks/block_details.h"
#include "viz/model/blocks/site_index.h"
#include "viz/model/navigation/navigation.h"
#include "viz/model/session/moment.h"
#include "viz/shell/shell_parts.h"

namespace tidemark::viz {
namespace {

constexpr double kKeyZoom = 1.25;  // of one press
constexpr double kKeyPan = 0.15;
constexpr std::int64_t kFarStep = 100;     // events
constexpr double kAskProgramsEvery = 0.9;  // seconds

void clear_find(ShellParts& parts) {
    Filter& filter = parts.selection.filter;
    const bool hides_freed = filter.hides_freed;
    filter = {};
    filter.hides_freed = hides_freed;
    parts.find_filter = filter;
    parts.find_error.clear();
    parts.find.set({});
    parts.wanted_hit.reset();
    ImGui::SetWindowFocus(nullptr);
}

// One thing at a time, the topmost first.
void clear(ShellParts& parts) {
    Selection& selection = parts.selection;
    if (parts.popup != Popup::none)
        parts.popup = Popup::none;
    else if (parts.find.has_focus || hides_something(selection.filter) || !parts.find_error.empty())
        clear_find(parts);
    else if (selection.measure)
        selection.measure.reset();
    else if (!selection.used.empty())
        selection.used.clear();
    else if (selection.block)
        selection.block.reset();
    else
        selection.cursor.reset();
}

std::string copied_text(const ShellParts& parts) {
    const Selection& selection = parts.selection;
    if (!selection.described.empty())
        return selection.described;
    const ViewedRun* const run = parts.run();
    if (run != nullptr && run->history && selection.block &&
        *selection.block < run->history->counts().blocks) {
        const History& history = *run->history;
        const auto instant = instant_of(*run, parts.camera.unit(), selection.cursor);
        const Cancelled never = false;
        return to_text(
            block_details(history, *selection.block, instant ? instant->event : 0, never));
    }
    return state_text(parts.session, parts.camera, selection);
}

void copy(ShellParts& parts) {
    const std::string text = copied_text(parts);
    if (text.empty())
        return parts.say("Nothing to copy: point at something, or select it.");
    ImGui::SetClipboardText(text.c_str());
    parts.say("Copied as text.");
}

// The views of this frame are yet to be drawn: the table under the mouse hands itself over.
void ask_for_table(ShellParts& parts) {
    parts.selection.table.clear();
    parts.selection.wants_table = true;
}

void copy_location(ShellParts& parts) {
    std::string views;
    for (const std::size_t view : parts.main)
        views += (views.empty() ? "" : "+") + std::string(all_views()[view].name);
    const std::string text = to_text(location_of(parts.camera, parts.selection, views));
    ImGui::SetClipboardText(text.c_str());
    parts.say("Copied: " + text);
}

// Timeline over address map, or whatever is there alone.
void toggle_split(ShellParts& parts) {
    parts.has_chosen_main = true;
    parts.wants_table = false;
    if (parts.main.size() > 1) {
        parts.main.pop_back();
        return;
    }
    const std::vector<std::size_t> views = views_in(Pane::main);
    for (const std::string_view name : {"address-map", "timeline"}) {
        const std::size_t other = *find_view(name);
        const bool is_there = std::find(views.begin(), views.end(), other) != views.end();
        if (!is_there || (!parts.main.empty() && parts.main.front() == other))
            continue;
        parts.main.push_back(other);
        return;
    }
}

// In a window that is too low for two views and a table, the last requested one is shown.
void want_table(ShellParts& parts) {
    parts.splits.has_table = true;
    parts.wants_table = true;
    parts.has_chosen_table = true;
}

void next_panel(ShellParts& parts, std::ptrdiff_t by) {
    const std::vector<std::size_t> tables = views_in(Pane::table);
    if (tables.empty())
        return;
    if (parts.splits.has_table && !parts.sees_table)
        by = 0;  // the current one comes first
    want_table(parts);
    const auto count = static_cast<std::ptrdiff_t>(tables.size());
    const auto here = std::find(tables.begin(), tables.end(), parts.table.value_or(tables.back()));
    const std::ptrdiff_t next = (here - tables.begin() + by + count) % count;
    parts.table = tables[static_cast<std::size_t>(next)];
}

void next_run(ShellParts& parts) {
    const std::size_t count = parts.session.runs.size();
    if (count < 2)
        return parts.say(
            "There is only one run: Shift-U replays it under another policy, Ctrl-O opens a file.");
    parts.selection.run = (parts.selection.run + 1) % count;
    parts.selection.block.reset();
    parts.say("Blocks and tables show " + parts.run()->label + ".");
}

void next_gpu(ShellParts& parts) {
    const ViewedRun* const run = parts.run();
    if (run == nullptr || !parts.host.next_gpu)
        return;
    if (run->gpus < 2)
        return parts.say(run->label + " has only one GPU.");
    const std::size_t next = (run->gpu + 1) % run->gpus;
    const auto shown = parts.host.next_gpu(parts.selection.run);
    if (!shown)
        return parts.say(to_text(shown.error()));
    parts.selection.run = *shown;
    parts.selection.block.reset();
    parts.say(fmt::format("Blocks and tables show GPU {}.", next));
}

// For a live program, pauses its view; else moves the cursor, from the window's start again once it
// has reached its end.
void toggle_pause(ShellParts& parts) {
    const ViewedRun* const run = parts.run();
    if (run == nullptr)
        return;
    if (run->live && parts.host.pause)
        return parts.host.pause(!run->live->paused);
    Selection& selection = parts.selection;
    const Window& window = parts.camera.window();
    selection.plays = !selection.plays;
    const bool is_outside = !selection.cursor || *selection.cursor < window.begin ||
                            *selection.cursor >= window.end - 1;
    if (selection.plays && is_outside)
        selection.cursor = window.begin;
}

void replay_suggested(ShellParts& parts) {
    const ViewedRun* const run = parts.run();
    if (run == nullptr)
        return;
    const auto found = std::ranges::find_if(
        run->findings, [](const Finding& each) { return !each.policy.empty(); });
    if (found == run->findings.end())
        return parts.say(run->advised_with.empty()
                             ? "No finding of this run suggests another setting."
                             : "Settings that need less were searched for in " + run->advised_with +
                                   ".");
    parts.selection.wanted_policy = found->policy;
}

void toggle_alignment(ShellParts& parts) {
    const auto lives = [](const ViewedRun& run) { return run.live.has_value(); };
    if (!parts.host.align || std::ranges::count_if(parts.session.runs, lives) < 2)
        return parts.say("With two or more live programs this switches how they are aligned.");
    parts.say(parts.host.align() ? "Live programs are aligned by the clock."
                                 : "Live programs are aligned by their own starts.");
}

void open_prompt(ShellParts& parts) {
    parts.popup = Popup::prompt;
    parts.prompt.set({});
    parts.prompt.takes_focus = true;
    parts.prompt_error.clear();
}

void fold_table(ShellParts& parts) {
    if (parts.splits.has_table && parts.sees_table)
        parts.splits.has_table = false;
    else
        want_table(parts);
}

void switch_axis(ShellParts& parts) {
    parts.has_axis = true;
    if (!toggle_axis(parts.session, parts.camera, parts.selection))
        parts.say("This run has no events to count: time is its only axis.");
}

void next_colours(ShellParts& parts) {
    ColourBy& colours = parts.selection.colour_by;
    colours = static_cast<ColourBy>((static_cast<unsigned>(colours) + 1) %
                                    (static_cast<unsigned>(ColourBy::age) + 1));
}

void toggle_key_sheet(ShellParts& parts) {
    parts.popup = parts.popup == Popup::keys ? Popup::none : Popup::keys;
    parts.sheet_scrolled = 0;
}

void call(const std::function<void()>& requested) {
    if (requested)
        requested();
}

struct Handler {
    Action action;
    void (*handle)(ShellParts& parts);
};

// Views by their number are not among them: they need the digit.
constexpr std::array kHandlers = {
    Handler{Action::zoom_in, [](ShellParts& parts) { zoom(parts, 1 / kKeyZoom); }},
    Handler{Action::zoom_out, [](ShellParts& parts) { zoom(parts, kKeyZoom); }},
    Handler{Action::pan_left, [](ShellParts& parts) { parts.camera.pan(-kKeyPan); }},
    Handler{Action::pan_right, [](ShellParts& parts) { parts.camera.pan(kKeyPan); }},
    Handler{Action::fit, [](ShellParts& parts) { parts.camera.fit(); }},
    Handler{Action::follow, follow_end},
    Handler{Action::zoom_selected, zoom_selected},
    Handler{Action::undo, [](ShellParts& parts) { go_through_history(parts, false); }},
    Handler{Action::redo, [](ShellParts& parts) { go_through_history(parts, true); }},
    Handler{Action::peak,
            [](ShellParts& parts) { go_to_landmark(parts, ViewLocation::Landmark::peak); }},
    Handler{
        Action::out_of_memory,
        [](ShellParts& parts) { go_to_landmark(parts, ViewLocation::Landmark::out_of_memory); }},
    Handler{Action::prompt, open_prompt},
    Handler{Action::previous_event, [](ShellParts& parts) { step(parts, -1); }},
    Handler{Action::next_event, [](ShellParts& parts) { step(parts, 1); }},
    Handler{Action::previous_event_far, [](ShellParts& parts) { step(parts, -kFarStep); }},
    Handler{Action::next_event_far, [](ShellParts& parts) { step(parts, kFarStep); }},
    Handler{Action::previous_mark, [](ShellParts& parts) { go_to_mark(parts, false); }},
    Handler{Action::next_mark, [](ShellParts& parts) { go_to_mark(parts, true); }},
    Handler{Action::previous_step, [](ShellParts& parts) { go_to_step(parts, false); }},
    Handler{Action::next_step, [](ShellParts& parts) { go_to_step(parts, true); }},
    Handler{Action::find, [](ShellParts& parts) { parts.find.takes_focus = true; }},
    Handler{Action::next_hit, [](ShellParts& parts) { step_to_hit(parts, true); }},
    Handler{Action::previous_hit, [](ShellParts& parts) { step_to_hit(parts, false); }},
    Handler{Action::clear, clear},
    Handler{Action::split, toggle_split},
    Handler{Action::next_panel, [](ShellParts& parts) { next_panel(parts, 1); }},
    Handler{Action::previous_panel, [](ShellParts& parts) { next_panel(parts, -1); }},
    Handler{Action::fold_side,
            [](ShellParts& parts) { parts.splits.has_side = !parts.splits.has_side; }},
    Handler{Action::fold_table, fold_table},
    Handler{Action::next_run, next_run},
    Handler{Action::axis, switch_axis},
    Handler{Action::colours, next_colours},
    Handler{Action::theme, [](ShellParts& parts) { parts.dark = !parts.dark; }},
    Handler{Action::next_gpu, next_gpu},
    Handler{Action::replay_suggested, replay_suggested},
    Handler{Action::replay_under, choose_policy},
    Handler{Action::open_file, choose_file},
    Handler{Action::pause, toggle_pause},
    Handler{Action::align, toggle_alignment},
    Handler{Action::copy, copy},
    Handler{Action::copy_table, ask_for_table},
    Handler{Action::save_table, ask_for_rows},
    Handler{Action::copy_location, copy_location},
    Handler{Action::save_image, [](ShellParts& parts) { call(parts.host.save_image); }},
    Handler{Action::key_sheet, toggle_key_sheet},
    Handler{Action::quit, [](ShellParts& parts) { call(parts.host.quit); }},
};

}  // namespace

void show_view(ShellParts& parts, std::size_t index, bool below) {
    const Pane pane = all_views()[index].pane;
    if (pane == Pane::side) {
        parts.side = index;
        parts.splits.has_side = true;
    } else if (pane == Pane::table) {
        parts.table = index;
        want_table(parts);
    } else if (pane == Pane::main) {
        parts.has_chosen_main = true;
        parts.wants_table = parts.wants_table && !below;
        if (below && !parts.main.empty() && parts.main.front() != index)
            parts.main = {parts.main.front(), index};
        else
            parts.main = {index};
    }
}

const std::vector<AttachableProgram>& known_programs(ShellParts& parts) {
    const bool is_due = parts.programs_requested < 0 ||
                        parts.elapsed - parts.programs_requested > kAskProgramsEvery;
    if (is_due && parts.host.programs) {
        parts.programs = parts.host.programs();
        parts.programs_requested = parts.elapsed;
    }
    return parts.programs;
}

void attach(ShellParts& parts, const AttachableProgram& program) {
    const std::size_t before = parts.session.runs.size();
    parts.host.attach(program);
    if (parts.session.runs.size() > before)
        show_whole_run(parts, before);
}

void show_whole_run(ShellParts& parts, std::size_t run) {
    parts.selection.run = run;
    parts.selection.block.reset();
    parts.selection.used.clear();
    parts.selection.cursor.reset();
    parts.selection.measure.reset();
    parts.camera.fit();
}

void take_table(ShellParts& parts) {
    Selection& selection = parts.selection;
    if (std::exchange(selection.wants_table, false))
        parts.say("Nothing to copy: point at a table.");
    if (selection.table.empty())
        return;
    ImGui::SetClipboardText(selection.table.c_str());
    selection.table.clear();
    const std::uint64_t rows = selection.table_rows;
    parts.say(rows > kMostCsvRows
                  ? fmt::format("Copied the first {} of {} as CSV.", format_count(kMostCsvRows),
                                format_counted(rows, "row"))
                  : fmt::format("Copied {} as CSV.", format_counted(rows, "row")));
}

void submit_prompt(ShellParts& parts) {
    const Result<ViewLocation> location = parse_target(parts.prompt.view());
    const Result<void> gone = location
                                  ? go_to(*location, parts.session, parts.camera, parts.selection)
                                  : tl::make_unexpected(location.error());
    if (!gone) {
        const Error& error = gone.error();
        parts.prompt_error = error.what + (error.hint.empty() ? "" : "; " + error.hint);
        return;
    }
    if (!location->view.empty())
        parts.selection.wanted_view = location->view;
    parts.popup = Popup::none;
}

void perform(ShellParts& parts, const RequestedAction& requested) {
    if (requested.action == Action::view || requested.action == Action::view_below) {
        const std::vector<std::size_t> views = views_in(Pane::main);
        if (requested.digit >= 1 && requested.digit <= views.size())
            show_view(parts, views[requested.digit - 1], requested.action == Action::view_below);
        return;
    }
    const auto* const handler = std::find_if(
        kHandlers.begin(), kHandlers.end(),
        [&](const Handler& candidate) { return candidate.action == requested.action; });
    TM_CHECK(handler != kHandlers.end());
    handler->handle(parts);
}

}  // namespace tidemark::viz
