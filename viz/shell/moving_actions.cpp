// Actions that move the view: zoom, or go to an event, a finding, a hit.
#include <utility>

#include <fmt/format.h>

#include "replay/report/forms/axis_ticks.h"
#include "viz/model/blocks/site_index.h"
#include "viz/model/navigation/navigation.h"
#include "viz/model/session/moment.h"
#include "viz/shell/shell_parts.h"

namespace tidemark::viz {
namespace {

// The status line shows `none` if there is no stop.
void go_to_stop(ShellParts& parts, const std::optional<Stop>& stop, std::string_view none) {
    if (!stop)
        return parts.say(std::string(none));
    parts.camera.settle(parts.selection.user_state());
    put_cursor(parts.camera, parts.selection, stop->position);
    if (stop->block != kNoBlock)
        parts.selection.block = stop->block;
    parts.camera.settle(parts.selection.user_state());
    parts.say(stop->what);
}

}  // namespace

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
    const auto* const what =
        landmark == ViewLocation::Landmark::peak ? "The peak is" : "Out of memory";
    parts.say(gone ? fmt::format("{} at {}", what,
                                 position_text(parts.camera.unit(), *parts.selection.cursor))
                   : to_text(gone.error()));
}

void go_to_mark(ShellParts& parts, bool forward) {
    go_to_stop(parts, next_stop(parts.session, parts.camera, parts.selection, forward),
               forward ? "No finding after this." : "No finding before this.");
}

void go_to_step(ShellParts& parts, bool forward) {
    const auto step = next_step(parts.steps, parts.session, parts.camera, parts.selection, forward);
    if (parts.steps.size() == 0)
        return parts.say("This run has no steps: ranges or marks named \"step 1\" count as steps.");
    go_to_stop(parts, step, forward ? "No step after this." : "No step before this.");
}

void zoom_selected(ShellParts& parts) {
    const auto stretch = selected_stretch(parts.session, parts.camera, parts.selection);
    if (!stretch)
        return parts.say("Nothing is selected: Shift-drag measures, a click selects a block.");
    parts.camera.show(*stretch);
}

void follow_end(ShellParts& parts) {
    parts.camera.follow(true);
    parts.say("Following the end.");
}

void go_through_history(ShellParts& parts, bool forward) {
    if (!go_back(parts.session, parts.camera, parts.selection, forward))
        parts.say(forward ? "Nothing to move forward to." : "Nothing to move back to.");
}

void step_to_hit(ShellParts& parts, bool forward) {
    parts.wanted_hit.reset();
    const ViewedRun* const run = parts.run();
    if (run == nullptr || !run->history)
        return parts.say("This run has no blocks to find.");
    if (parts.search.hits() == nullptr) {
        parts.find.takes_focus = true;
        return parts.say("No search yet: type a tag or function.");
    }
    if (!parts.search.hits()->complete()) {
        parts.wanted_hit = forward;
        return parts.say("Searching...");
    }
    const auto hit = go_to_hit(parts.search, parts.session, parts.camera, parts.selection, forward);
    if (!hit)
        return parts.say(run->history->stacks().size() > 1
                             ? "No match: tags, functions and files were searched."
                             : "No match: no call stacks were recorded, only tags were "
                               "searched.");
    const std::string text =
        fmt::format("{}: {}", parts.search.text(hit->block),
                    moment_text(*run->history, run->history->block(hit->block).born));
    if (!hit->wrapped)
        return parts.say(text);
    parts.say(text +
              (forward ? "; continued from the first one" : "; continued from the last one"));
}

}  // namespace tidemark::viz
