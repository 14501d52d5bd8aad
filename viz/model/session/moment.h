// Which event's state a position on the axis shows. Pure; O(log events).
#pragma once

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

// What tables show: the state at the cursor, or, as long as nobody put one, at the peak of what is
// allocated, which is what most people came for.
struct Instant {
    EventIndex event = 0;
    bool at_peak = false;  // there is no cursor

    friend bool operator==(const Instant&, const Instant&) = default;
};

// None where the cursor is before the first event, or where there is no event.
inline std::optional<Instant> instant_of(const History& history, AxisUnit unit,
                                         const std::optional<Position>& cursor) {
    if (history.counts().events == 0)
        return std::nullopt;
    if (!cursor)
        return Instant{history.peak_event(Series::allocated), true};
    const std::optional<EventIndex> event = event_at(history, unit, *cursor);
    return event ? std::optional(Instant{*event, false}) : std::nullopt;
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
