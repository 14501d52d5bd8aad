// The rounds of a WaitQueue, and how threads come, sleep and leave.
#include "core/tiers/wait_queue.h"

#include <algorithm>

namespace tidemark {
namespace {

// The longest that a thread sleeps at a stretch: sums of times must not overflow.
constexpr std::chrono::nanoseconds kLongestSleep = std::chrono::hours(1);

}  // namespace

std::string_view to_text(WaitEnd end) {
    switch (end) {
        case WaitEnd::granted:
            return "granted";
        case WaitEnd::timed_out:
            return "timed out";
        case WaitEnd::cancelled:
            return "cancelled";
        case WaitEnd::shut_down:
            return "shut down";
        case WaitEnd::deadlock:
            return "deadlock";
    }
    return "";
}

// One request in the queue, on the stack of the thread that waits. All of it belongs to the lock.
struct WaitQueue::Place {
    const WaitRequest& request;
    WaitAttempt& attempt;
    std::uint64_t arrival = 0;  // 0: not in the order yet
    bool waited = false;
    bool cancelled = false;  // before it came into the order
    std::optional<WaitEnd> end = {};
    std::string report = {};
    std::condition_variable wake = {};
};

// A thread within wait(), which the destructor waits for.
class WaitQueue::Inside {
  public:
    explicit Inside(WaitQueue& queue) : queue_(queue) {
        const Lock lock(queue_.mutex_);
        ++queue_.inside_;
    }

    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

    ~Inside() {
        const Lock lock(queue_.mutex_);
        if (--queue_.inside_ == 0)
            queue_.drained_.notify_all();  // under the lock: with it gone the queue may be, too
    }

  private:
    WaitQueue& queue_;
};

WaitQueue::WaitQueue(WaitOptions options) : options_(options), order_(options.bypass_limit) {}

WaitQueue::~WaitQueue() {
    shut_down();
    Lock lock(mutex_);
    drained_.wait(lock, [this] { return inside_ == 0; });
}

WaitResult WaitQueue::wait(const WaitRequest& request, WaitAttempt& attempt) {
    TM_CHECK(request.spaces != 0);
    if (waiting_.load() == 0 && !down_.load() && !request.cancel.stop_requested() &&
        attempt.take(request.spaces) != 0)
        return {};
    return wait_slowly(request, attempt);
}

WaitResult WaitQueue::wait_slowly(const WaitRequest& request, WaitAttempt& attempt) {
    Place place{request, attempt};
    const Inside inside(*this);
    // Comes and goes without the lock: the call takes it, and its end waits for the call's.
    const std::stop_callback on_cancel(request.cancel, [&] { cancel(place); });
    Lock lock(mutex_);
    enter(place);
    sleep(lock, place);
    return {*place.end, std::move(place.report)};
}

// The first attempt and the place in the order, within one hold of the lock.
void WaitQueue::enter(Place& place) {
    if (down_.load() || place.cancelled) {
        place.end = place.cancelled ? WaitEnd::cancelled : WaitEnd::shut_down;
        return;
    }
    place.arrival = ++arrivals_;
    ++waiting_;  // before the attempt: see the header
    order_.push(&place, place.request.priority, place.request.spaces);
    if (try_alone(place)) {
        finish(place, WaitEnd::granted);
        return;
    }
    ++counters_.waits;
    place.waited = true;
    if (place.request.timeout && *place.request.timeout <= std::chrono::nanoseconds::zero())
        leave(place, WaitEnd::timed_out);
    else
        detect();
}

void WaitQueue::sleep(Lock& lock, Place& place) {
    const Stopwatch waited;
    const auto ended = [&place] { return place.end.has_value(); };
    while (!ended()) {
        std::chrono::nanoseconds stretch = kLongestSleep;
        if (options_.detector != nullptr)
            stretch = std::min(stretch, options_.detect_every);
        if (const auto timeout = place.request.timeout)
            stretch = std::min(stretch, *timeout - std::chrono::nanoseconds(waited.elapsed()));
        if (place.wake.wait_for(lock, stretch, ended))
            return;
        if (place.request.timeout && waited.elapsed() >= place.request.timeout->count())
            leave(place, WaitEnd::timed_out);
        else if (since_detection_.elapsed() >= options_.detect_every.count())
            detect();
    }
}

bool WaitQueue::try_now(const WaitRequest& request, WaitAttempt& attempt) {
    TM_CHECK(request.spaces != 0);
    if (down_.load())
        return false;
    if (waiting_.load() == 0)
        return attempt.take(request.spaces) != 0;
    Place place{request, attempt};
    const Lock lock(mutex_);
    order_.push(&place, request.priority, request.spaces);
    const bool served = try_alone(place);
    if (!served)
        order_.erase(&place);
    return served;
}

bool WaitQueue::try_alone(Place& place) {
    SpaceMask notified = 0;
    const bool served = order_.try_one(
        &place, [&](Place* it, SpaceMask open) { return make(*it, open, notified); });
    round(notified);
    return served;
}

void WaitQueue::notify(SpaceMask freed) {
    if (waiting_.load() == 0)
        return;
    // Only this thread itself could have put its name there.
    if (attempting_.load(std::memory_order_relaxed) == std::this_thread::get_id()) {
        notified_within_ |= freed;
        return;
    }
    const Lock lock(mutex_);
    round(freed);
}

// Serves whoever can run. Each further pass follows a grant, so there is an end.
void WaitQueue::round(SpaceMask freed) {
    while (freed != 0) {
        SpaceMask notified = 0;
        const auto attempt = [&](Place* place, SpaceMask open) {
            const SpaceMask taken = make(*place, open, notified);
            if (taken != 0)
                finish(*place, WaitEnd::granted);
            return taken;
        };
        order_.try_each(attempt, freed);
        freed = notified;
    }
}

// One attempt. What it freed on its way to success goes to `notified`.
SpaceMask WaitQueue::make(Place& place, SpaceMask open, SpaceMask& notified) {
    notified_within_ = 0;
    attempting_.store(std::this_thread::get_id(), std::memory_order_relaxed);
    const SpaceMask taken = place.attempt.take(open);
    attempting_.store(std::thread::id(), std::memory_order_relaxed);
    if (taken != 0)
        notified |= notified_within_;
    return taken;
}

// Out of the order without being served.
void WaitQueue::leave(Place& place, WaitEnd end) {
    const SpaceMask closed = order_.erase(&place);
    finish(place, end);
    round(closed);
}

// For one who is out of the order, or about to be.
void WaitQueue::finish(Place& place, WaitEnd end) {
    place.end = end;
    --waiting_;
    if (place.waited) {
        ++counter(end);
        place.wake.notify_one();
    }
}

void WaitQueue::cancel(Place& place) {
    const Lock lock(mutex_);
    if (place.arrival == 0)
        place.cancelled = true;
    else if (!place.end)
        leave(place, WaitEnd::cancelled);
}

void WaitQueue::shut_down() {
    const Lock lock(mutex_);
    down_.store(true);
    order_.for_each([this](Place* place, WaitStanding) { finish(*place, WaitEnd::shut_down); });
    order_.clear();
}

void WaitQueue::detect() {
    if (options_.detector == nullptr)
        return;
    while (resolve()) {
    }
    since_detection_ = Stopwatch();
}

// One look, and what follows from it. Gives whether it changed who waits, so that another may find
// more.
bool WaitQueue::resolve() {
    std::vector<Place*> places;
    std::vector<Waiter> waiters;
    order_.for_each([&](Place* place, WaitStanding standing) {
        const WaitRequest& request = place->request;
        places.push_back(place);
        waiters.push_back(
            {request.owner, request.label, request.size, request.spaces, place->arrival, standing});
    });
    const WaitFindings findings = options_.detector->find(waiters);
    SpaceMask opened = 0;
    for (const std::size_t passer : findings.let_pass) {
        order_.let_pass(places[passer]);
        opened |= waiters[passer].spaces;
    }
    if (!findings.stuck.empty() && places[findings.victim]->report.empty())
        ++counters_.deadlocks;
    if (options_.on_deadlock == OnDeadlock::report) {
        for (const std::size_t member : findings.stuck)
            places[member]->report = findings.report;
    } else if (!findings.stuck.empty()) {
        places[findings.victim]->report = findings.report;
        leave(*places[findings.victim], WaitEnd::deadlock);
    }
    round(opened);
    return opened != 0 ||
           (!findings.stuck.empty() && options_.on_deadlock == OnDeadlock::fail_victim);
}

WaitCounters WaitQueue::counters() const {
    const Lock lock(mutex_);
    return counters_;
}

std::uint64_t& WaitQueue::counter(WaitEnd end) {
    switch (end) {
        case WaitEnd::granted:
            return counters_.granted;
        case WaitEnd::timed_out:
            return counters_.timed_out;
        case WaitEnd::cancelled:
            return counters_.cancelled;
        case WaitEnd::shut_down:
            return counters_.shut_down;
        case WaitEnd::deadlock:
            break;
    }
    return counters_.deadlocked;
}

}  // namespace tidemark
