// Measured on stretches of equally many events: how much of the run is high, in either unit.
#include "replay/facts/readable_axis.h"

#include <algorithm>
#include <vector>

namespace tidemark::facts {
namespace {

constexpr std::size_t kMostStretches = 1024;
constexpr double kNarrow = 0.02;  // of the axis
constexpr double kWider = 5;

}  // namespace

AxisUnit readable_axis(const History& history) {
    const Position events = history.end(AxisUnit::events);
    const Position length = history.end(AxisUnit::time);
    const auto count = std::min(kMostStretches, static_cast<std::size_t>(std::max<Position>(events, 0)));
    if (history.counts().events == 0 || length <= 1)
        return AxisUnit::time;
    std::vector<SeriesColumn> stretches(count);
    history.series(AxisUnit::events, 0, events, stretches);
    Bytes peak = 0;
    for (const SeriesColumn& stretch : stretches)
        peak = std::max(peak, stretch.max[Series::allocated]);
    double high_events = 0;
    double high_time = 0;
    for (std::size_t i = 0; i < count; ++i) {
        if (stretches[i].min[Series::allocated] < peak / 2)
            continue;
        const auto edge = [&](std::size_t at) {
            const Position event = static_cast<Position>(at) * events / static_cast<Position>(count);
            return event >= events ? length
                                   : history.position(AxisUnit::time, static_cast<EventIndex>(event));
        };
        high_events += 1 / static_cast<double>(count);
        high_time += static_cast<double>(edge(i + 1) - edge(i)) / static_cast<double>(length);
    }
    return high_events > 0 && high_time < kNarrow && high_events >= kWider * high_time
               ? AxisUnit::events
               : AxisUnit::time;
}

}  // namespace tidemark::facts
