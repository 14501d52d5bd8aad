// Branch and bound: columns whose bound is not better than the best so far are skipped.
#include "replay/timeline/fullest_event.h"

#include <algorithm>
#include <vector>

namespace tidemark {
namespace {

constexpr EventIndex kFewEvents = 64;  // this few events are checked one by one
constexpr EventIndex kBranches = 32;   // columns that a stretch is cut into

class Search {
  public:
    // `best` is the one before the events that are looked at.
    Search(const History& history, EventIndex best)
        : history_(history),
          best_(best),
          peak_(history.values(best_)[Series::reserved]),
          active_(history.values(best_)[Series::active]) {}

    EventIndex run(EventIndex first) {
        look(first, static_cast<EventIndex>(history_.counts().events));
        return best_;
    }

  private:
    struct Stretch {
        EventIndex begin = 0;
        EventIndex end = 0;
        Bytes bound = 0;
    };

    void look(EventIndex begin, EventIndex end) {
        if (end - begin <= kFewEvents) {
            for (EventIndex event = begin; event < end; ++event)
                compare(event);
            return;
        }
        const EventIndex width = (end - begin) / kBranches;
        const EventIndex whole = width * kBranches;
        std::vector<SeriesColumn> columns(kBranches);
        history_.series(AxisUnit::events, Position{begin} * kPositionsPerEvent,
                        Position{begin + whole} * kPositionsPerEvent, columns);
        std::vector<Stretch> stretches;
        for (EventIndex i = 0; i < kBranches; ++i)
            if (columns[i].max[Series::reserved] == peak_)
                stretches.push_back(
                    {begin + i * width, begin + (i + 1) * width, columns[i].max[Series::active]});
        std::ranges::stable_sort(
            stretches, [](const Stretch& a, const Stretch& b) { return a.bound > b.bound; });
        for (const Stretch& each : stretches)
            if (each.bound > active_ || (each.bound == active_ && each.begin < best_))
                look(each.begin, each.end);
        if (begin + whole < end)
            look(begin + whole, end);
    }

    void compare(EventIndex event) {
        const SeriesValues values = history_.values(event);
        if (values[Series::reserved] != peak_)
            return;
        const Bytes active = values[Series::active];
        if (active > active_ || (active == active_ && event < best_)) {
            active_ = active;
            best_ = event;
        }
    }

    const History& history_;
    EventIndex best_;
    Bytes peak_;
    Bytes active_;
};

}  // namespace

EventIndex fullest_event(const History& history) {
    if (history.counts().events == 0)
        return 0;
    const EventIndex first = history.peak_event(Series::reserved);
    return Search(history, first).run(first);
}

EventIndex fullest_event(const History& history, EventIndex known, EventIndex events) {
    const EventIndex peak = history.peak_event(Series::reserved);
    return peak >= events ? Search(history, peak).run(peak) : Search(history, known).run(events);
}

}  // namespace tidemark
