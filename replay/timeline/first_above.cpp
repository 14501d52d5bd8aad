// first_above: columns, each time of the one that passes it first.
#include "replay/timeline/first_above.h"

#include <algorithm>
#include <array>

namespace tidemark {

EventIndex first_above(const History& history, Series series, Bytes bytes) {
    constexpr std::size_t kColumns = 64;
    const std::size_t count = history.counts().events;
    EventIndex begin = 0;
    EventIndex end = static_cast<EventIndex>(count);
    while (end - begin > kColumns) {
        std::array<SeriesColumn, kColumns> columns;
        history.series(AxisUnit::events, begin * kPositionsPerEvent, end * kPositionsPerEvent,
                       columns);
        const auto* const found = std::ranges::find_if(columns, [&](const SeriesColumn& column) {
            return column.events > 0 && column.max[series] > bytes;
        });
        if (found == columns.end())
            return kNever;
        begin = found->first_event;
        end = begin + found->events;
    }
    for (EventIndex event = begin; event < end; ++event)
        if (history.values(event)[series] > bytes)
            return event;
    return kNever;
}

}  // namespace tidemark
