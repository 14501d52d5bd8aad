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
    const std::size_t events = history.counts().events;
    const Position length = history.end(AxisUnit::time);
    const std::size_t count = std::min(kMostStretches, events);
    if (count == 0 || length <= 1)
        return AxisUnit::time;
    std::vector<SeriesColumn> stretches(count);
    history.series(AxisUnit::events, 0, history.end(AxisUnit::events), stretches);
    Bytes peak = 0;
    for (const SeriesColumn& stretch : stretches)
        peak = std::max(peak, stretch.max[Series::allocated]);
    const auto begin_of = [&](std::size_t stretch) {
        return stretch == count ? length
                                : history.time(static_cast<EventIndex>(stretch * events / count));
    };
    double high_events = 0;
    double high_time = 0;
    for (std::size_t i = 0; i < count; ++i) {
        if (stretches[i].min[Series::allocated] < peak / 2)
            continue;
        high_events += 1 / static_cast<double>(count);
        high_time +=
            static_cast<double>(begin_of(i + 1) - begin_of(i)) / static_cast<double>(length);
    }
    return high_time < kNarrow && high_events > kWider * high_time ? AxisUnit::events
                                                                   : AxisUnit::time;
}

}  // namespace tidemark::facts
