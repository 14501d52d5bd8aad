// Goes to a location: camera, cursor, run and block.
#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "core/base/text.h"
#include "replay/report/forms/axis_ticks.h"
#include "replay/timeline/fullest_event.h"
#include "viz/model/navigation/navigation.h"
#include "viz/model/navigation/view_location.h"
#include "viz/model/timeline/step_index.h"
#include "viz/model/timeline/tier_tracks.h"

namespace tidemark::viz {
namespace {

// The position on the camera's axis.
Result<Position> on_axis(const AxisPosition& wanted, const History* history, const Camera& camera) {
    if (wanted.unit == camera.unit())
        return wanted.position;
    if (history == nullptr)
        return fail(ErrorCode::not_found, "this run has no events to count", "go to",
                    "give a time");
    return converted(*history, wanted.unit, camera.unit(), wanted.position);
}

Result<EventIndex> first_out_of_memory(const History& history) {
    const std::size_t marks = history.counts().marks;
    for (std::size_t i = 0; i < marks; ++i) {
        const Mark mark = history.mark(i);
        if (mark.kind == MarkKind::out_of_memory || mark.kind == MarkKind::recorded_out_of_memory)
            return mark.event;
    }
    return fail(ErrorCode::not_found, "this run never ran out of memory", "go to oom",
                "peak is where it came closest");
}

Result<Position> landmark_position(ViewLocation::Landmark landmark, const ViewedRun& run,
                                   const Camera& camera) {
    const History* const history = run.history.get();
    if (landmark == ViewLocation::Landmark::start)
        return 0;
    if (landmark == ViewLocation::Landmark::end)
        return camera.extent() - 1;
    if (run.tiers && history == nullptr && landmark == ViewLocation::Landmark::peak)
        return peak_time(*run.tiers, Tier::gpu);
    if (run.tiers && history == nullptr)
        return fail(ErrorCode::not_found, "a replay over tiers keeps no list of refusals", "go to",
                    "the overview shows their number; peak is where GPUs are fullest");
    if (history == nullptr || history->counts().events == 0)
        return fail(ErrorCode::not_found, "this run has no events with a peak", "go to");
    EventIndex event = fullest_event(*history);
    if (landmark == ViewLocation::Landmark::out_of_memory) {
        TM_ASSIGN(event, first_out_of_memory(*history));
    }
    return history->position(camera.unit(), event);
}

Result<Position> step_position(std::uint64_t number, const ViewedRun& run, const Camera& camera) {
    StepIndex steps;
    if (run.history)
        steps.follow(run.history, std::numeric_limits<std::uint32_t>::max());
    if (const auto found = steps.find(number))
        return steps.position(*found, camera.unit());
    if (steps.size() == 0)
        return fail(ErrorCode::not_found, "this run has no steps", "go to step",
                    "name ranges or marks \"step 1\" or similar");
    return fail(ErrorCode::not_found, fmt::format("there is no step {}", number), "go to step",
                fmt::format("the first one is {}, the last one {}", steps.number(0),
                            steps.number(steps.size() - 1)));
}

// An error if `position` is beyond the run.
Result<void> check_extent(const Camera& camera, Position position) {
    if (position >= 0 && position < camera.extent())
        return {};
    return fail(ErrorCode::not_found,
                fmt::format("the run ends at {}", position_text(camera.unit(), camera.extent())),
                "go to", "end goes there");
}

Result<void> show_window(const ViewLocation& location, const History* history, Camera& camera,
                         Selection& selection) {
    const Window window = *location.window;
    if (location.unit == camera.unit()) {
        TM_TRY(check_extent(camera, std::max<Position>(window.begin, 0)));
        camera.show(window);
        return {};
    }
    if (history == nullptr)
        return fail(ErrorCode::not_found, "this run has no events to count", "go to",
                    "give a range of time");
    const AxisUnit before = camera.unit();
    camera.set_unit(location.unit, history->end(location.unit), window);
    convert(*history, before, location.unit, selection);
    return {};
}

Result<void> select_block(const ViewLocation& location, const History* history,
                          const Camera& camera, Selection& selection) {
    if (history == nullptr)
        return fail(ErrorCode::not_found, "this run has no addresses", "go to block");
    if (location.block) {
        if (*location.block >= history->counts().blocks)
            return fail(
                ErrorCode::not_found,
                fmt::format("the run has {}", format_counted(history->counts().blocks, "block")),
                "go to block");
        selection.block = *location.block;
        return {};
    }
    const Position at = selection.cursor.value_or(camera.window().end - 1);
    const EventIndex next = history->event_from(camera.unit(), at + 1);
    for (std::size_t device = 0;
         next > 0 && device < std::max<std::size_t>(history->devices().size(), 1); ++device) {
        const BlockIndex found =
            history->find(static_cast<std::uint16_t>(device), *location.address, next - 1);
        if (found != kNoBlock) {
            selection.block = found;
            return {};
        }
    }
    return fail(
        ErrorCode::not_found,
        fmt::format("no block is at {:#x} at {}", static_cast<std::uint64_t>(*location.address),
                    position_text(camera.unit(), at)),
        "go to address", "move the cursor to a time when one is");
}

}  // namespace

ViewLocation location_of(const Camera& camera, const Selection& selection, std::string_view view) {
    ViewLocation location;
    location.unit = camera.unit();
    location.window = camera.window();
    if (selection.cursor)
        location.cursor = AxisPosition{camera.unit(), *selection.cursor};
    if (selection.measure)
        location.measure = {AxisPosition{camera.unit(), selection.measure->begin},
                            AxisPosition{camera.unit(), selection.measure->end}};
    location.owners = selection.owners;
    location.view = view;
    location.run = selection.run;
    location.block = selection.block;
    return location;
}

Result<void> go_to(const ViewLocation& location, const Session& session, Camera& camera,
                   Selection& selection) {
    const std::size_t run = location.run.value_or(selection.run);
    const ViewedRun* const shown = session.shown(run);
    if (shown == nullptr)
        return fail(ErrorCode::not_found, fmt::format("there is no run {}", run), "go to",
                    fmt::format("there are {}, counted from 0", session.runs.size()));
    const History* const history = shown->history.get();
    camera.settle(selection.user_state());
    if (run != selection.run)
        selection.block.reset();
    selection.run = run;
    if (location.window)
        TM_TRY(show_window(location, history, camera, selection));
    std::optional<Position> at;
    if (location.landmark != ViewLocation::Landmark::none) {
        TM_ASSIGN(at, landmark_position(location.landmark, *shown, camera));
    }
    if (location.step) {
        TM_ASSIGN(at, step_position(*location.step, *shown, camera));
    }
    if (const auto& moment = location.moment ? location.moment : location.cursor) {
        TM_ASSIGN(at, on_axis(*moment, history, camera));
    }
    if (at) {
        TM_TRY(check_extent(camera, *at));
        put_cursor(camera, selection, *at);
    }
    if (location.measure) {
        TM_ASSIGN(const Position begin, on_axis((*location.measure)[0], history, camera));
        TM_ASSIGN(const Position end, on_axis((*location.measure)[1], history, camera));
        selection.measure = Window{begin, std::max(end, begin + 1)};
    }
    if (location.owners)
        selection.owners = location.owners;
    if (location.block || location.address)
        TM_TRY(select_block(location, history, camera, selection));
    camera.settle(selection.user_state());
    return {};
}

Position converted(const History& history, AxisUnit from, AxisUnit to, Position position) {
    if (from == to)
        return position;
    const std::size_t events = history.counts().events;
    if (events == 0)
        return 0;
    const EventIndex event = history.event_from(from, position);
    if (event >= events)
        return history.end(to);
    const Position there = history.position(to, event);
    if (event == 0)
        return there;
    // Between two events it stays between them, by the same share.
    const Position left = history.position(from, event - 1);
    const Position right = history.position(from, event);
    if (right <= left || position >= right)
        return there;
    const Position before = history.position(to, event - 1);
    const long double share =
        static_cast<long double>(position - left) / static_cast<long double>(right - left);
    return before + static_cast<Position>(share * static_cast<long double>(there - before));
}

Window converted(const History& history, AxisUnit from, AxisUnit to, const Window& window) {
    const Position begin = converted(history, from, to, window.begin);
    const Position end = converted(history, from, to, window.end);
    return {begin, std::max(end, begin + 1)};
}

void convert(const History& history, AxisUnit from, AxisUnit to, Selection& selection) {
    if (selection.cursor)
        selection.cursor = converted(history, from, to, *selection.cursor);
    if (selection.measure)
        selection.measure = converted(history, from, to, *selection.measure);
    selection.hover.reset();
}

}  // namespace tidemark::viz
