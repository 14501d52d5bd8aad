// See deferrable_events.h.
#include "core/deferrable/deferrable_events.h"

#include <algorithm>
#include <chrono>

namespace tidemark {
namespace {

// An address that only the calling thread has.
const void* this_thread() {
    static thread_local const char mark = 0;
    return &mark;
}

}  // namespace

bool DeferrableEvents::subscribe(std::vector<DeferrableEvent> first) {
    const std::lock_guard lock(mutex_);
    if (subscribed_)
        return false;
    subscribed_ = true;
    reader_ = nullptr;
    events_.assign(first.begin(), first.end());
    pushed_ += first.size();
    came_.notify_all();
    return true;
}

void DeferrableEvents::unsubscribe() {
    const std::lock_guard lock(mutex_);
    subscribed_ = false;
    events_.clear();
    handled_ = pushed_;
    came_.notify_all();
}

bool DeferrableEvents::subscribed() const {
    const std::lock_guard lock(mutex_);
    return subscribed_;
}

std::uint64_t DeferrableEvents::push(const DeferrableEvent& event) {
    const std::lock_guard lock(mutex_);
    if (!subscribed_)
        return 0;
    if (events_.size() >= kMost) {
        ++lost_;
        return 0;
    }
    events_.push_back(event);
    came_.notify_all();
    return ++pushed_;
}

std::vector<DeferrableEvent> DeferrableEvents::take(Nanoseconds patience, std::size_t most) {
    std::unique_lock lock(mutex_);
    reader_ = this_thread();
    handled_ = pushed_ - events_.size();
    came_.wait_for(lock, std::chrono::nanoseconds(patience),
                   [this] { return !events_.empty() || !subscribed_; });
    const auto end = events_.begin() + static_cast<std::ptrdiff_t>(std::min(most, events_.size()));
    std::vector<DeferrableEvent> taken(events_.begin(), end);
    events_.erase(events_.begin(), end);
    return taken;
}

bool DeferrableEvents::responsive() const {
    const std::lock_guard lock(mutex_);
    return subscribed_ && reader_ != this_thread() && handled_ >= given_up_;
}

bool DeferrableEvents::handled(std::uint64_t number) const {
    const std::lock_guard lock(mutex_);
    return handled_ >= number;
}

void DeferrableEvents::give_up(std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    given_up_ = number;
}

std::uint64_t DeferrableEvents::lost() const {
    const std::lock_guard lock(mutex_);
    return lost_;
}

}  // namespace tidemark
