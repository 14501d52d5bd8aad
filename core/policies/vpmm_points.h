// VpmmPoints: the points in one stream's work after which the stream no longer uses what it freed.
//
// Each point belongs to a free region, and is named by the region's number (Block::stamp); numbers
// grow. A point is an event, or none yet: then it has passed when the next recorded one has. It has
// users: the free region, and zombies that were cut off it. Points that have passed or have no
// users are removed in time.
//
// A value that names its device only in calls. Not thread-safe. O(log points) a call unless stated
// otherwise.
#pragma once

#include <cstdint>
#include <vector>

#include "core/device/device.h"

namespace tidemark::policies {

class VpmmPoints {
  public:
    // Points that are kept, passed ones too.
    std::size_t count() const { return points_.size(); }

    bool all_passed() const { return passed_ == points_.size(); }

    // The youngest, with one user.
    void add(std::uint64_t id) { points_.push_back({.id = id, .users = 1}); }

    // The event of the youngest, recorded on `stream` if it has none yet.
    DeviceResult<EventId> record_last(StreamId stream, Device& device);

    // An event; once it has passed, so has the point, which must not have passed yet. O(points).
    DeviceResult<EventId> event_of(std::uint64_t id, StreamId stream, Device& device);

    // A zombie waits for the point too, unless it has passed.
    void join(std::uint64_t id);

    // A user no longer waits for the point, which must not have passed yet.
    void leave(std::uint64_t id);

    // Drops points that have passed or that nobody waits for: from the front, or anywhere
    // (O(points)).
    void forget_passed();
    void forget_unused();

    // How many of the points have passed, in at most 2 + log2(points) queries. A device that can't
    // tell is asked again another time.
    std::size_t count_passed(Device& device) const;

    // The first `passed` points have passed, at least one more than before: calls visit(id) for
    // each of the new ones that somebody waits for. Returns the number of the last.
    template <class Visit>
    std::uint64_t advance(std::size_t passed, Visit visit) {
        const std::uint64_t last = points_[passed - 1].id;
        for (; passed_ < passed; ++passed_) {
            if (points_[passed_].users != 0)
                visit(points_[passed_].id);
        }
        forget_passed();
        return last;
    }

    std::size_t passed() const { return passed_; }

  private:
    struct Point {
        std::uint64_t id = 0;
        EventId event{};
        bool recorded = false;
        std::uint32_t users = 0;
    };

    Point* find(std::uint64_t id);

    std::vector<Point> points_;  // by id
    std::size_t passed_ = 0;     // of them
};

}  // namespace tidemark::policies
