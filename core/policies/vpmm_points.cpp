// Points: which work has finished.
#include "core/policies/vpmm_points.h"

#include <algorithm>

#include "core/base/check.h"

namespace tidemark::policies {

// Null if it has passed.
VpmmPoints::Point* VpmmPoints::find(std::uint64_t id) {
    const auto first = points_.begin() + static_cast<std::ptrdiff_t>(passed_);
    const auto found = std::lower_bound(
        first, points_.end(), id,
        [](const Point& point, std::uint64_t wanted) { return point.id < wanted; });
    return found != points_.end() && found->id == id ? &*found : nullptr;
}

void VpmmPoints::join(std::uint64_t id) {
    if (Point* const point = find(id))
        ++point->users;
}

void VpmmPoints::leave(std::uint64_t id) {
    Point* const point = find(id);
    TM_CHECK_DEBUG(point != nullptr && point->users > 0);
    --point->users;
    forget_passed();
}

void VpmmPoints::forget_passed() {
    while (passed_ < points_.size() && points_[passed_].users == 0)
        ++passed_;
    if (2 * passed_ > points_.size()) {
        points_.erase(points_.begin(), points_.begin() + static_cast<std::ptrdiff_t>(passed_));
        passed_ = 0;
    }
}

void VpmmPoints::forget_unused() {
    points_.erase(points_.begin(), points_.begin() + static_cast<std::ptrdiff_t>(passed_));
    passed_ = 0;
    std::erase_if(points_, [](const Point& point) { return point.users == 0; });
}

DeviceResult<EventId> VpmmPoints::record_last(StreamId stream, Device& device) {
    Point& last = points_.back();
    if (last.recorded)
        return last.event;
    const DeviceResult<EventId> event = device.record(stream);
    if (event) {
        last.event = *event;
        last.recorded = true;
    }
    return event;
}

DeviceResult<EventId> VpmmPoints::event_of(std::uint64_t id, StreamId stream, Device& device) {
    const Point* point = find(id);
    TM_CHECK(point != nullptr);
    for (; point != points_.data() + points_.size(); ++point) {
        if (point->recorded)
            return point->event;
    }
    return record_last(stream, device);
}

std::size_t VpmmPoints::count_passed(Device& device) const {
    const auto has_passed = [&device](const Point& point) {
        const DeviceResult<bool> done = device.complete(point.event);
        return done && *done;
    };
    const auto next_recorded = [this](std::size_t i) {
        while (i < points_.size() && !points_[i].recorded)
            ++i;
        return i;
    };
    std::size_t passed = passed_;
    const std::size_t first = next_recorded(passed);
    if (first == points_.size() || !has_passed(points_[first]))
        return passed;
    passed = first + 1;
    std::size_t open = points_.size();  // known not to have passed, from here on
    while (open > passed && !points_[open - 1].recorded)
        --open;
    if (open > passed) {
        if (has_passed(points_[open - 1]))
            return open;
        --open;
    }
    while (passed < open) {
        const std::size_t middle = next_recorded(passed + (open - passed) / 2);
        if (middle < open && has_passed(points_[middle]))
            passed = middle + 1;
        else
            open = passed + (open - passed) / 2;
    }
    return passed;
}

}  // namespace tidemark::policies
