// Which event's state a position on the axis shows. Pure; O(log events).
#pragma once

#include <algorithm>
#include <limits>
#include <optional>

#include "replay/timeline/history.h"
#include "viz/model/session/session.h"

namespace tidemark::viz {

// The last event at or before `position`; none before the first.
inline std::optional<EventIndex> event_at(const History& history, AxisUnit unit,
                                          Position position) {
    const EventIndex next = history.event_from(unit, position + 1);
    return next == 0 ? std::nullopt : std::optional(next - 1);
}

// Where a run that has ended has nothing more to show; the end of a running one is unknown.
inline Position end_of_run(const History& history, AxisUnit unit) {
    return history.complete() ? history.end(unit) : std::numeric_limits<Position>::max();
}

// The same for a run. A live program holds until now what it held last; the future is unknown.
inline Position end_of_run(const ViewedRun& run, AxisUnit unit) {
    if (!run.live || !run.live->alive)
        return end_of_run(*run.history, unit);
    const Position end = run.history->end(unit);
    return unit == AxisUnit::time ? std::max(end, run.live->now) : end;
}

// What tables show: the state at the cursor or, until a user sets one, at the peak of reserved,
// where most of it is in use: the peak that everything else refers to.
struct Instant {
    EventIndex event = 0;
    bool at_peak = false;    // there is no cursor
    bool has_ended = false;  // the run has, before the cursor: this is its last event

    friend bool operator==(const Instant&, const Instant&) = default;
};

// Of a run with a history. None where the cursor is before the first event, or where there is none.
inline std::optional<Instant> instant_of(const ViewedRun& run, AxisUnit unit,
                                         const std::optional<Position>& cursor) {
    const History& history = *run.history;
    if (history.counts().events == 0)
        return std::nullopt;
    if (!cursor)
        return Instant{run.peak.of(run.history), true, false};
    const std::optional<EventIndex> event = event_at(history, unit, *cursor);
    return event ? std::optional(Instant{*event, false, *cursor >= end_of_run(history, unit)})
                 : std::nullopt;
}

// The measured stretch as events: (first, last], what happened between the two states. None if
// nothing is measured. `first` is kNever where the stretch begins before the first event.
struct EventSpan {
    EventIndex first = kNever;
    EventIndex last = kNever;

    // Events in it: those behind `first`, up to `last`.
    EventIndex begin() const { return first == kNever ? 0 : first + 1; }

    EventIndex end() const { return last == kNever ? 0 : last + 1; }

    friend bool operator==(const EventSpan&, const EventSpan&) = default;
};

inline std::optional<EventSpan> measured_span(const History& history, AxisUnit unit,
                                              const std::optional<Window>& measure) {
    if (!measure)
        return std::nullopt;
    return EventSpan{event_at(history, unit, measure->begin).value_or(kNever),
                     event_at(history, unit, measure->end).value_or(kNever)};
}

}  // namespace tidemark::viz
