// Streams and events of the virtual clock.
#include "backends/sim/clock.h"

#include <algorithm>
#include <limits>

namespace tidemark {
namespace {

constexpr Nanoseconds kLongAgo = std::numeric_limits<Nanoseconds>::min();

}  // namespace

Nanoseconds& VirtualClock::stream(StreamId id) {
    const std::uint32_t number = to_integer(id);
    if (number >= kDirect)
        return far_streams_[number];
    if (number >= streams_.size())
        streams_.resize(number + 1, 0);
    return streams_[number];
}

Nanoseconds VirtualClock::busy_until(StreamId id) const {
    const std::uint32_t number = to_integer(id);
    if (number < kDirect)
        return number < streams_.size() ? streams_[number] : 0;
    const auto found = far_streams_.find(number);
    return found == far_streams_.end() ? 0 : found->second;
}

void VirtualClock::enqueue(StreamId id, Nanoseconds duration) {
    Nanoseconds& busy = stream(id);
    busy = std::max(busy, now()) + duration;
    latest_ = std::max(latest_, busy);
}

EventId VirtualClock::record(StreamId id) {
    // Events that have passed need no memory: time does not run backwards.
    while (!events_.empty() && events_.front() <= now()) {
        events_.pop_front();
        ++first_event_;
    }
    events_.push_back(busy_until(id));
    return EventId{next_event_++};
}

Nanoseconds VirtualClock::time_of(EventId event) const {
    const std::uint64_t number = to_integer(event);
    return number < first_event_ ? kLongAgo : events_[number - first_event_];
}

void VirtualClock::hold(StreamId id, Nanoseconds moment) {
    if (moment <= now())
        return;
    Nanoseconds& busy = stream(id);
    busy = std::max(busy, moment);
    latest_ = std::max(latest_, busy);
}

}  // namespace tidemark
