// Navigation: see the header.
#include "viz/model/navigation/navigation.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/text.h"
#include "replay/report/forms/axis_ticks.h"
#include "viz/model/blocks/site_names.h"
#include "viz/model/navigation/view_location.h"
#include "viz/model/session/moment.h"
#include "viz/model/timeline/merged_ranges.h"

namespace tidemark::viz {
namespace {

constexpr double kMargin = 0.1;  // of a selected stretch, at either side

const History* shown_history(const Session& session, const Selection& selection) {
    const ViewedRun* const run = session.shown(selection.run);
    return run == nullptr ? nullptr : run->history.get();
}

Position start_of(const Camera& camera, const Selection& selection) {
    const Window& window = camera.window();
    return selection.cursor.value_or(window.begin + window.length() / 2);
}

std::string_view name_of(MarkKind kind) {
    switch (kind) {
        case MarkKind::out_of_memory:
            return "out of memory";
        case MarkKind::recorded_out_of_memory:
            return "out of memory when it was recorded";
        case MarkKind::retry:
            return "retry: cached memory released";
        case MarkKind::trim:
            return "empty_cache by the program";
        case MarkKind::point:
            return "mark";
        case MarkKind::lost:
            return "events lost";
    }
    return "mark";
}

Stop stop_at(const History& history, AxisUnit unit, const Mark& mark) {
    std::string what(name_of(mark.kind));
    if (mark.kind == MarkKind::point && mark.name != 0)
        what = one_line(history.strings()[mark.name], 80);
    else if (mark.size > 0 && mark.kind != MarkKind::lost)
        what += fmt::format(": {}", format_bytes(mark.size));
    return {history.position(unit, mark.event), std::move(what), kNoBlock};
}

// The history's mark beyond `from`.
std::optional<Stop> history_stop(const History& history, AxisUnit unit, Position from,
                                 bool forward) {
    const std::size_t marks = history.counts().marks;
    const auto position = [&](std::size_t index) {
        return history.position(unit, history.mark(index).event);
    };
    const std::size_t ahead = first_where(0, marks, [&](std::size_t index) {
        return forward ? position(index) > from : position(index) >= from;
    });
    if (ahead == (forward ? marks : 0))
        return std::nullopt;
    return stop_at(history, unit, history.mark(forward ? ahead : ahead - 1));
}

// Keeps the nearer one of `best` and `candidate`, if that lies beyond `from` at all.
void consider(std::optional<Stop>& best, Stop candidate, Position from, bool forward) {
    const bool is_beyond = forward ? candidate.position > from : candidate.position < from;
    if (!is_beyond)
        return;
    const bool is_nearer = !best || (forward ? candidate.position < best->position
                                             : candidate.position > best->position);
    if (is_nearer)
        best = std::move(candidate);
}

Window life_of(const History& history, AxisUnit unit, BlockIndex index, Position extent) {
    const Block block = history.block(index);
    const Position begin = history.position(unit, block.born);
    const Position end = block.freed == kNever ? extent : history.position(unit, block.freed);
    return {begin, std::max(end, begin + 1)};
}

// Hits from here on are ahead, those before it behind.
BlockIndex first_ahead(const History& history, const BlockSearch& search, const Camera& camera,
                       const Selection& selection, bool forward) {
    const AxisUnit unit = camera.unit();
    const auto& block = selection.block;
    if (block && search.hits() != nullptr && search.hits()->contains(*block) &&
        selection.cursor == history.position(unit, history.block(*block).born))
        return forward ? *block + 1 : *block;
    if (selection.cursor)
        return history.born_before(history.event_from(unit, *selection.cursor + 1));
    const Window& window = camera.window();
    return history.born_before(history.event_from(unit, forward ? window.begin : window.end));
}

}  // namespace

Position end_of(const ViewedRun& run, AxisUnit unit) {
    if (run.history)
        return run.history->end(unit);
    if (run.tiers && unit == AxisUnit::time)
        return std::max<Position>(run.tiers->makespan, 1);
    return 0;
}

Position extent_of(const Session& session, AxisUnit unit) {
    Position extent = 1;
    for (const ViewedRun& run : session.runs)
        extent = std::max(extent, end_of(run, unit));
    return extent;
}

void put_cursor(Camera& camera, Selection& selection, Position position) {
    selection.cursor = std::clamp<Position>(position, 0, camera.extent() - 1);
    const Window window = camera.window();
    if (*selection.cursor >= window.begin && *selection.cursor < window.end)
        return;
    const Position begin = *selection.cursor - window.length() / 2;
    camera.show({begin, begin + window.length()});
}

bool step_events(const Session& session, Camera& camera, Selection& selection, std::int64_t by) {
    const History* const history = shown_history(session, selection);
    if (history == nullptr || history->counts().events == 0)
        return false;
    const AxisUnit unit = camera.unit();
    const auto last = static_cast<std::int64_t>(history->counts().events) - 1;
    const auto here = event_at(*history, unit, start_of(camera, selection));
    const std::int64_t from = here ? static_cast<std::int64_t>(*here) : -1;
    const auto event = static_cast<EventIndex>(std::clamp<std::int64_t>(from + by, 0, last));
    // Events at the same time share a position: a step forward must leave it.
    Position position = history->position(unit, event);
    if (here && by > 0 && position == history->position(unit, *here)) {
        const EventIndex next = history->event_from(unit, position + 1);
        position = history->position(unit, std::min(next, static_cast<EventIndex>(last)));
    }
    if (here && by < 0 && position == history->position(unit, *here)) {
        const EventIndex first = history->event_from(unit, position);
        position = history->position(unit, first == 0 ? 0 : first - 1);
    }
    put_cursor(camera, selection, position);
    return true;
}

std::optional<Stop> next_stop(const Session& session, const Camera& camera,
                              const Selection& selection, bool forward) {
    const History* const history = shown_history(session, selection);
    const AxisUnit unit = camera.unit();
    const Position from = selection.cursor.value_or(forward ? Position{-1} : camera.extent());
    std::optional<Stop> best;
    if (history == nullptr)
        return best;
    if (auto stop = history_stop(*history, unit, from, forward))
        consider(best, std::move(*stop), from, forward);
    for (const Finding& finding : session.runs[selection.run].findings) {
        if (finding.event >= history->counts().events)
            continue;
        consider(best, {history->position(unit, finding.event), finding.title, finding.block}, from,
                 forward);
    }
    return best;
}

std::optional<Stop> next_step(const StepIndex& steps, const Session& session, const Camera& camera,
                              const Selection& selection, bool forward) {
    const History* const history = shown_history(session, selection);
    const AxisUnit unit = camera.unit();
    const Position from = selection.cursor.value_or(forward ? Position{-1} : camera.extent());
    const std::size_t ahead =
        history == nullptr ? 0 : steps.first_from(unit, from + (forward ? 1 : 0));
    if (history == nullptr || ahead == (forward ? steps.size() : 0))
        return std::nullopt;
    const std::size_t step = forward ? ahead : ahead - 1;
    const Position begin = steps.position(step, unit);
    const EventIndex end = steps.at(step).end;
    std::string what = fmt::format("step {}", format_count(steps.number(step)));
    if (end < history->counts().events)
        what += ": " + length_text(unit, history->position(unit, end) - begin);
    return Stop{begin, std::move(what), kNoBlock};
}

std::optional<Hit> go_to_hit(const BlockSearch& search, const Session& session, Camera& camera,
                             Selection& selection, bool forward) {
    const History* const history = shown_history(session, selection);
    if (history == nullptr)
        return std::nullopt;
    const BlockIndex from = first_ahead(*history, search, camera, selection, forward);
    const std::optional<Hit> hit = search.next(from, forward);
    if (!hit)
        return std::nullopt;
    camera.settle(selection.user_state());
    selection.block = hit->block;
    selection.reveal = hit->block;
    put_cursor(camera, selection,
               history->position(camera.unit(), history->block(hit->block).born));
    camera.settle(selection.user_state());
    return hit;
}

bool toggle_axis(const Session& session, Camera& camera, Selection& selection) {
    const History* const history = shown_history(session, selection);
    if (history == nullptr || history->counts().events == 0)
        return false;
    const AxisUnit from = camera.unit();
    const AxisUnit to = from == AxisUnit::time ? AxisUnit::events : AxisUnit::time;
    const bool shows_all = camera.window() == Window{0, camera.extent()};
    const Position extent = extent_of(session, to);
    const Window window =
        shows_all ? Window{0, extent} : converted(*history, from, to, camera.window());
    camera.set_unit(to, extent, window);
    convert(*history, from, to, selection);
    return true;
}

bool go_back(const Session& session, Camera& camera, Selection& selection, bool forward) {
    const AxisUnit from = camera.unit();
    if (!(forward ? camera.redo() : camera.undo()))
        return false;
    const History* const history = shown_history(session, selection);
    if (camera.unit() != from && history != nullptr)
        convert(*history, from, camera.unit(), selection);
    if (const UserState* const user = camera.user_state()) {
        selection.cursor = user->cursor;
        if (user->run == selection.run)
            selection.block = user->block;
    }
    return true;
}

std::optional<Window> selected_stretch(const Session& session, const Camera& camera,
                                       const Selection& selection) {
    std::optional<Window> stretch = selection.measure;
    const History* const history = shown_history(session, selection);
    if (!stretch && selection.block && history != nullptr &&
        *selection.block < history->counts().blocks)
        stretch = life_of(*history, camera.unit(), *selection.block, camera.extent());
    if (!stretch)
        return std::nullopt;
    const auto margin = static_cast<Position>(kMargin * static_cast<double>(stretch->length())) + 1;
    return Window{std::max<Position>(stretch->begin - margin, 0),
                  std::min(stretch->end + margin, camera.extent())};
}

std::string window_text(const Session& session, const Camera& camera, const Selection& selection) {
    const Window window = camera.window();
    const AxisUnit unit = camera.unit();
    const Position resolution = std::max<Position>(window.length() / 1000, 1);
    if (unit == AxisUnit::events)
        return fmt::format(
            "{} to {} ({})", position_text(unit, window.begin),
            format_count(static_cast<std::uint64_t>(window.end / kPositionsPerEvent)),
            length_text(unit, window.length()));
    std::string text = fmt::format("{} to {} ({}", position_text(unit, window.begin, resolution),
                                   position_text(unit, window.end, resolution),
                                   length_text(unit, window.length()));
    if (const History* const history = shown_history(session, selection)) {
        const EventIndex events =
            history->event_from(unit, window.end) - history->event_from(unit, window.begin);
        text += ", " + format_counted(events, "event");
    }
    return text + ")";
}

std::string state_text(const Session& session, const Camera& camera, const Selection& selection) {
    const History* const history = shown_history(session, selection);
    const std::optional<Position> at = selection.looked_at();
    if (history == nullptr || !at)
        return {};
    const auto event = event_at(*history, camera.unit(), *at);
    const bool has_ended = *at >= end_of_run(*history, camera.unit());
    std::string text = fmt::format("{} at {}{}\n", session.runs[selection.run].label,
                                   position_text(camera.unit(), *at),
                                   has_ended ? ", after its end; values at its end" : "");
    const SeriesValues values = event ? history->values(*event) : SeriesValues{};
    for (std::size_t i = 0; i < kSeriesCount; ++i) {
        const auto series = static_cast<Series>(i);
        text += fmt::format("{:<10} {:>10}  {} bytes\n", to_text(series),
                            format_bytes(values[series]), values[series]);
    }
    return text;
}

}  // namespace tidemark::viz
