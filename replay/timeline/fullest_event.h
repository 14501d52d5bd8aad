// Where the peak of reserved memory is at its fullest.
#pragma once

#include "replay/timeline/history.h"

namespace tidemark {

// Of the events with reserved memory at its peak, the first at which most of it is active: the peak
// that advise, report and the metrics (peak_fullest_event) speak of too. 0 if there are no events.
// Some hundred columns of the history: O(log events) in practice, O(events / 64) at worst.
EventIndex fullest_event(const History& history);

// The same where it was `known` when the history had its first `events`, at least one: only what
// came since is looked at.
EventIndex fullest_event(const History& history, EventIndex known, EventIndex events);

}  // namespace tidemark
