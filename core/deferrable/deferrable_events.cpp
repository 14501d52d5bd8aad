// See deferrable_events.h.
#include "core/deferrable/deferrable_events.h"

#include <algorithm>
#include <chrono>

namespace tidemark {

bool DeferrableEvents::subscribe(std::vector<DeferrableEvent> first) {
    const std::lock_guard lock(mutex_);
    if (subscribed_)
        return false;
    subscribed_ = true;
    events_.assign(first.begin(), first.end());
    came_.notify_all();
    return true;
}

void DeferrableEvents::unsubscribe() {
    const std::lock_guard lock(mutex_);
    subscribed_ = false;
    events_.clear();
    came_.notify_all();
}

bool DeferrableEvents::subscribed() const {
    const std::lock_guard lock(mutex_);
    return subscribed_;
}

void DeferrableEvents::push(const DeferrableEvent& event) {
    const std::lock_guard lock(mutex_);
    if (!subscribed_)
        return;
    if (events_.size() >= kMost) {
        ++lost_;
        return;
    }
    events_.push_back(event);
    came_.notify_all();
}

std::vector<DeferrableEvent> DeferrableEvents::take(Nanoseconds patience, std::size_t most) {
    std::unique_lock lock(mutex_);
    came_.wait_for(lock, std::chrono::nanoseconds(patience),
                   [this] { return !events_.empty() || !subscribed_; });
    const auto end = events_.begin() + static_cast<std::ptrdiff_t>(std::min(most, events_.size()));
    std::vector<DeferrableEvent> taken(events_.begin(), end);
    events_.erase(events_.begin(), end);
    return taken;
}

std::uint64_t DeferrableEvents::lost() const {
    const std::lock_guard lock(mutex_);
    return lost_;
}

}  // namespace tidemark
