// Vector clocks.
#include "backends/wrap/stream_order.h"

#include <algorithm>

namespace tidemark {

std::size_t StreamOrder::index_of(StreamId stream) {
    const auto [found, is_new] = indices_.try_emplace(to_integer(stream), epochs_.size());
    if (is_new) {
        epochs_.push_back(1);
        clocks_.emplace_back();
    }
    return found->second;
}

void StreamOrder::join(Clock& clock, const Clock& other) {
    if (clock.size() < other.size())
        clock.resize(other.size(), 0);
    for (std::size_t i = 0; i < other.size(); ++i)
        clock[i] = std::max(clock[i], other[i]);
}

std::uint64_t StreamOrder::at(const Clock& clock, std::size_t index) {
    return index < clock.size() ? clock[index] : 0;
}

StreamOrder::Work StreamOrder::work_of(StreamId stream) {
    return {stream, epochs_[index_of(stream)]};
}

bool StreamOrder::before(const Work& work, StreamId later) {
    if (work.stream == later || seen_by_host(work))
        return true;
    const std::size_t index = index_of(work.stream);
    return at(clocks_[index_of(later)], index) >= work.epoch;
}

bool StreamOrder::seen_by_host(const Work& work) {
    return at(host_, index_of(work.stream)) >= work.epoch;
}

void StreamOrder::recorded(StreamId stream, EventId event) {
    const std::size_t index = index_of(stream);
    Clock clock = clocks_[index];
    if (clock.size() <= index)
        clock.resize(index + 1, 0);
    clock[index] = epochs_[index]++;
    if (events_.insert_or_assign(to_integer(event), std::move(clock)).second)
        event_order_.push_back(to_integer(event));
    forget_old_events();
}

void StreamOrder::forget_old_events() {
    while (!event_order_.empty()) {
        const auto found = events_.find(event_order_.front());
        const Clock& clock = found->second;
        bool seen = true;
        for (std::size_t i = 0; i < clock.size() && seen; ++i)
            seen = clock[i] <= at(host_, i);
        if (!seen && events_.size() <= most_events_)
            return;
        if (!seen)
            join(forgotten_, clock);
        events_.erase(found);
        event_order_.pop_front();
    }
}

void StreamOrder::waited(StreamId stream, EventId event) {
    const std::size_t index = index_of(stream);
    const auto found = events_.find(to_integer(event));
    join(clocks_[index], found == events_.end() ? forgotten_ : found->second);
}

void StreamOrder::seen_complete(EventId event) {
    if (const auto found = events_.find(to_integer(event)); found != events_.end())
        join(host_, found->second);
}

void StreamOrder::synchronized(StreamId stream) {
    const std::size_t index = index_of(stream);
    Clock clock = clocks_[index];
    if (clock.size() <= index)
        clock.resize(index + 1, 0);
    clock[index] = epochs_[index]++;
    join(host_, clock);
}

void StreamOrder::synchronized_all() {
    if (host_.size() < epochs_.size())
        host_.resize(epochs_.size(), 0);
    for (std::size_t i = 0; i < epochs_.size(); ++i)
        host_[i] = epochs_[i]++;
}

}  // namespace tidemark
