// Curves: a run's series in so few numbers that they fit on a page, and yet exact where it matters.
//
// The events of a trace are cut into buckets, the same for all of its runs: at equal numbers of
// events, and around every long pause, so that neither a burst nor a silence is smeared. Of each
// bucket the page gets the least, the most and the last value of each series. A trace of few
// events has one bucket an event: then the page has everything. Pure but for reading the history.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "replay/report/forms/json_values.h"
#include "replay/timeline/history.h"

namespace tidemark::report {

// The first event of each bucket, ascending, from 0; empty if there are no events. At most `most`
// buckets. `most` >= 4. O(events).
std::vector<EventIndex> bucket_begins(const History& history, std::size_t most);

// {"buckets", "events", "times"}: where the buckets begin, as event and time, packed.
Json buckets_json(const History& history, const std::vector<EventIndex>& begins);

// {"unit", "series"}: the values within the buckets in units of so many bytes, packed. O(buckets *
// log events).
Json curves_json(const History& history, const std::vector<EventIndex>& begins);

}  // namespace tidemark::report
