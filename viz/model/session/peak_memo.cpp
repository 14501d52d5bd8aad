// Keeps a run's peak.
#include "replay/timeline/fullest_event.h"
#include "viz/model/session/session.h"

namespace tidemark::viz {

EventIndex PeakMemo::of(const std::shared_ptr<const History>& history) {
    const auto events = static_cast<EventIndex>(history->counts().events);
    if (history_ == history && events == events_)
        return peak_;
    const bool has_grown = history_ == history && events > events_ && events_ > 0;
    peak_ = has_grown ? fullest_event(*history, peak_, events_) : fullest_event(*history);
    history_ = history;
    events_ = events;
    return peak_;
}

}  // namespace tidemark::viz
