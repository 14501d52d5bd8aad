// What actions do.
#include <algorithm>

#include <fmt/format.h>

#include "viz/model/blocks/block_details.h"
#include "viz/model/blocks/site_index.h"
#include "viz/model/navigation/navigation.h"
#include "viz/model/session/moment.h"
#include "viz/model/timeline/axis_ticks.h"
#include "viz/shell/shell_parts.h"

namespace tidemark::viz {
namespace {

constexpr double kKeyZoom = 1.25;  // of one press
constexpr double kKeyPan = 0.15;
constexpr std::int64_t kFarStep = 100;     // events
constexpr double kAskProgramsEvery = 0.9;  // seconds
constexpr Position kMarkReach = 100;       // a mark is hit within such a part of the window

std::size_t index_of(std::string_view name) {
    const auto views = all_views();
    return static_cast<std::size_t>(
        std::find_if(views.begin(), views.end(),
                     [name](const ViewInfo& info) { return info.name == name; }) -
        views.begin());
}

void zoom(ShellParts& parts, double factor) {
    const Window& window = parts.camera.window();
    parts.camera.zoom(factor, parts.selection.hover.value_or(window.begin + window.length() / 2));
}

void step(ShellParts& parts, std::int64_t by) {
    if (!step_events(parts.session, parts.camera, parts.selection, by))
        return parts.say("This run has no events to step through.");
    const auto& cursor = parts.selection.cursor;
    const ViewedRun& run = *parts.run();
    const auto event = event_at(*run.history, parts.camera.unit(), *cursor);
    if (event)
        parts.say(moment_text(*run.history, *event));
}

void go_to_landmark(ShellParts& parts, ViewLocation::Landmark landmark) {
    ViewLocation location;
    location.landmark = landmark;
    const auto gone = go_to(location, parts.session, parts.camera, parts.selection);
    parts.say(gone ? fmt::format(
                         "{} at {}",
                         landmark == ViewLocation::Landmark::peak ? "The peak is" : "Memory is out",
                         position_text(parts.camera.unit(), *parts.selection.cursor))
                   : to_text(gone.error()));
}

void go_to_stop(ShellParts& parts, bool forward) {
    const auto stop = next_stop(parts.session, parts.camera, parts.selection, forward);
    if (!stop)
        return parts.say(forward ? "No finding or mark after this."
                                 : "No finding or mark before this.");
    put_cursor(parts.camera, parts.selection, stop->position);
    if (stop->block != kNoBlock)
        parts.selection.block = stop->block;
    parts.say(stop->what);
}

void set_mark(ShellParts& parts) {
    const auto at = parts.selection.looked_at();
    if (!at)
        return parts.say("A mark is set at the mouse or the cursor: click into a view first.");
    toggle_mark(parts.selection, *at, parts.camera.window().length() / kMarkReach);
}

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
        const auto instant = instant_of(history, parts.camera.unit(), selection.cursor);
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

void copy_location(ShellParts& parts) {
    std::string views;
    for (const std::size_t view : parts.main)
        views += (views.empty() ? "" : "+") + std::string(all_views()[view].name);
    const std::string text = to_text(location_of(parts.camera, parts.selection, views));
    ImGui::SetClipboardText(text.c_str());
    parts.say("Copied: " + text);
}

// Timeline over address map, or whatever stands there alone.
void toggle_split(ShellParts& parts) {
    parts.has_chosen_main = true;
    if (parts.main.size() > 1) {
        parts.main.pop_back();
        return;
    }
    const std::vector<std::size_t> views = views_in(Pane::main);
    for (const std::size_t other : {index_of("address-map"), index_of("timeline")}) {
        const bool is_there = std::find(views.begin(), views.end(), other) != views.end();
        if (!is_there || (!parts.main.empty() && parts.main.front() == other))
            continue;
        parts.main.push_back(other);
        return;
    }
}

// In a window that is too low for two views and a table, what was asked for last is shown.
void want_table(ShellParts& parts) {
    parts.splits.has_table = true;
    if (parts.sees_table || parts.main.size() < 2)
        return;
    parts.has_chosen_main = true;
    parts.main.pop_back();
}

void next_panel(ShellParts& parts, std::ptrdiff_t by) {
    const std::vector<std::size_t> tables = views_in(Pane::table);
    if (tables.empty())
        return;
    if (parts.splits.has_table && !parts.sees_table)
        by = 0;  // the one that is there comes first
    want_table(parts);
    const auto count = static_cast<std::ptrdiff_t>(tables.size());
    const auto here = std::find(tables.begin(), tables.end(), parts.table.value_or(tables.back()));
    const std::ptrdiff_t next = (here - tables.begin() + by + count) % count;
    parts.table = tables[static_cast<std::size_t>(next)];
}

void next_run(ShellParts& parts) {
    const std::size_t count = parts.session.runs.size();
    if (count < 2)
        return parts.say("There is one run only: --policy A --policy B makes two.");
    parts.selection.run = (parts.selection.run + 1) % count;
    parts.selection.block.reset();
    parts.say("Blocks and tables are of " + parts.run()->label + ".");
}

void toggle_pause(ShellParts& parts) {
    const ViewedRun* const run = parts.run();
    if (run == nullptr || !run->live || !parts.host.pause)
        return parts.say("Only the view of a living program can be paused.");
    parts.host.pause(!run->live->paused);
}

void zoom_selected(ShellParts& parts) {
    const auto stretch = selected_stretch(parts.session, parts.camera, parts.selection);
    if (!stretch)
        return parts.say("Nothing is selected: Shift-drag measures, a click selects a block.");
    parts.camera.show(*stretch);
}

void show_nth(ShellParts& parts, const RequestedAction& requested) {
    const std::vector<std::size_t> views = views_in(Pane::main);
    if (requested.digit >= 1 && requested.digit <= views.size())
        show_view(parts, views[requested.digit - 1], requested.action == Action::view_below);
}

void perform_navigation(ShellParts& parts, Action action) {
    Camera& camera = parts.camera;
    switch (action) {
        case Action::zoom_in:
            return zoom(parts, 1 / kKeyZoom);
        case Action::zoom_out:
            return zoom(parts, kKeyZoom);
        case Action::pan_left:
            return camera.pan(-kKeyPan);
        case Action::pan_right:
            return camera.pan(kKeyPan);
        case Action::fit:
            return camera.fit();
        case Action::follow:
            camera.follow(true);
            return parts.say("Following the end.");
        case Action::zoom_selected:
            return zoom_selected(parts);
        default:
            if (!go_back(parts.session, camera, parts.selection, action == Action::redo))
                parts.say(action == Action::redo ? "Nothing to move forward to."
                                                 : "Nothing to move back to.");
    }
}

void perform_move(ShellParts& parts, const RequestedAction& requested) {
    switch (requested.action) {
        case Action::peak:
            return go_to_landmark(parts, ViewLocation::Landmark::peak);
        case Action::out_of_memory:
            return go_to_landmark(parts, ViewLocation::Landmark::out_of_memory);
        case Action::prompt:
            parts.popup = Popup::prompt;
            parts.prompt.set({});
            parts.prompt.takes_focus = true;
            parts.prompt_error.clear();
            return;
        case Action::previous_event:
            return step(parts, -1);
        case Action::next_event:
            return step(parts, 1);
        case Action::previous_event_far:
            return step(parts, -kFarStep);
        case Action::next_event_far:
            return step(parts, kFarStep);
        case Action::previous_mark:
            return go_to_stop(parts, false);
        case Action::next_mark:
            return go_to_stop(parts, true);
        case Action::mark:
            return set_mark(parts);
        case Action::next_hit:
            return step_to_hit(parts, true);
        case Action::previous_hit:
            return step_to_hit(parts, false);
        default:
            parts.find.takes_focus = true;
    }
}

void perform_show(ShellParts& parts, const RequestedAction& requested) {
    switch (requested.action) {
        case Action::view:
        case Action::view_below:
            return show_nth(parts, requested);
        case Action::split:
            return toggle_split(parts);
        case Action::next_panel:
            return next_panel(parts, 1);
        case Action::previous_panel:
            return next_panel(parts, -1);
        case Action::fold_side:
            parts.splits.has_side = !parts.splits.has_side;
            return;
        case Action::fold_table:
            if (parts.splits.has_table && parts.sees_table)
                parts.splits.has_table = false;
            else
                want_table(parts);
            return;
        case Action::next_run:
            return next_run(parts);
        case Action::axis:
            if (!toggle_axis(parts.session, parts.camera, parts.selection))
                parts.say("This run has no events to count: time is its only axis.");
            return;
        case Action::colours:
            parts.selection.colour_by =
                static_cast<ColourBy>((static_cast<unsigned>(parts.selection.colour_by) + 1) %
                                      (static_cast<unsigned>(ColourBy::age) + 1));
            return;
        case Action::theme:
            parts.dark = !parts.dark;
            return;
        default:
            clear(parts);
    }
}

void perform_window(ShellParts& parts, Action action) {
    switch (action) {
        case Action::pause:
            return toggle_pause(parts);
        case Action::copy:
            return copy(parts);
        case Action::copy_location:
            return copy_location(parts);
        case Action::save_image:
            if (parts.host.save_image)
                parts.host.save_image();
            return;
        case Action::key_sheet:
            parts.popup = parts.popup == Popup::keys ? Popup::none : Popup::keys;
            parts.sheet_scrolled = 0;
            return;
        default:
            if (parts.host.quit)
                parts.host.quit();
    }
}

}  // namespace

void step_to_hit(ShellParts& parts, bool forward) {
    parts.wanted_hit.reset();
    const ViewedRun* const run = parts.run();
    if (run == nullptr || !run->history)
        return parts.say("This run has no blocks to find.");
    if (parts.search.hits() == nullptr) {
        parts.find.takes_focus = true;
        return parts.say("Nothing is searched for yet: type a tag or function.");
    }
    if (!parts.search.hits()->complete()) {
        parts.wanted_hit = forward;
        return parts.say("Searching...");
    }
    const auto hit = go_to_hit(parts.search, parts.session, parts.camera, parts.selection, forward);
    if (!hit)
        return parts.say(run->history->stacks().size() > 1
                             ? "No block has it: tags, functions and files were looked through."
                             : "No block has it: no call stacks were recorded, only tags were "
                               "looked through.");
    const std::string text =
        fmt::format("{}: {}", parts.search.text(hit->block),
                    moment_text(*run->history, run->history->block(hit->block).born));
    if (!hit->wrapped)
        return parts.say(text);
    parts.say(text + (forward ? "; from the first one again" : "; from the last one again"));
}

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
    if (parts.session.runs.size() <= before)
        return;
    parts.selection.run = before;
    parts.selection.block.reset();
    parts.selection.cursor.reset();
    parts.selection.measure.reset();
    parts.camera.fit();
}

void submit_prompt(ShellParts& parts) {
    const Result<ViewLocation> location = parse_target(parts.prompt.view());
    if (!location) {
        parts.prompt_error = location.error().what +
                             (location.error().hint.empty() ? "" : "; " + location.error().hint);
        return;
    }
    const auto gone = go_to(*location, parts.session, parts.camera, parts.selection);
    if (!gone) {
        parts.prompt_error =
            gone.error().what + (gone.error().hint.empty() ? "" : "; " + gone.error().hint);
        return;
    }
    if (!location->view.empty())
        parts.selection.wanted_view = location->view;
    parts.popup = Popup::none;
}

void perform(ShellParts& parts, const RequestedAction& requested) {
    switch (info_of(requested.action).group) {
        case ActionGroup::navigate:
            return perform_navigation(parts, requested.action);
        case ActionGroup::go:
            return perform_move(parts, requested);
        case ActionGroup::show:
            return perform_show(parts, requested);
        case ActionGroup::window:
            return perform_window(parts, requested.action);
    }
}

}  // namespace tidemark::viz
