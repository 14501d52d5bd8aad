// Points: which work is over.
#include <algorithm>

#include "core/base/check.h"
#include "core/policies/vpmm_regions.h"

namespace tidemark::policies {

// The point that a free region or zombie waits for; null if it has passed.
VpmmRegions::Point* VpmmRegions::find_point(const Block& block) {
    Stream& stream = owners_[block.list];
    const auto first = stream.points.begin() + static_cast<std::ptrdiff_t>(stream.passed);
    const auto found =
        std::lower_bound(first, stream.points.end(), block.stamp,
                         [](const Point& point, std::uint64_t id) { return point.id < id; });
    return found != stream.points.end() && found->id == block.stamp ? &*found : nullptr;
}

void VpmmRegions::leave_point(const Block& block) {
    if (is_done(block))
        return;
    Point* const point = find_point(block);
    TM_CHECK_DEBUG(point != nullptr && point->users > 0);
    --point->users;
    forget_passed(owners_[block.list]);
}

// Drops what has passed and what nobody waits for from the front.
void VpmmRegions::forget_passed(Stream& stream) {
    std::vector<Point>& points = stream.points;
    while (stream.passed < points.size() && points[stream.passed].users == 0)
        ++stream.passed;
    if (2 * stream.passed > points.size()) {
        points.erase(points.begin(), points.begin() + static_cast<std::ptrdiff_t>(stream.passed));
        stream.passed = 0;
    }
}

// Drops what has passed and what nobody waits for, wherever it is.
void VpmmRegions::forget_unused(Stream& stream) {
    std::vector<Point>& points = stream.points;
    points.erase(points.begin(), points.begin() + static_cast<std::ptrdiff_t>(stream.passed));
    stream.passed = 0;
    std::erase_if(points, [](const Point& point) { return point.users == 0; });
}

void VpmmRegions::record_last(Stream& stream, Device& device) {
    Point& last = stream.points.back();
    if (last.recorded)
        return;
    if (const DeviceResult<EventId> event = device.record(stream.stream)) {
        last.event = *event;
        last.recorded = true;
    }
}

// How many of the stream's points have passed, in at most 2 + log2(points) questions. A point that
// was not recorded has passed with the next one that was. A device that doesn't know is asked
// again another time.
std::size_t VpmmRegions::count_passed(const Stream& stream, Device& device) const {
    const std::vector<Point>& points = stream.points;
    const auto has_passed = [&device](const Point& point) {
        const DeviceResult<bool> done = device.complete(point.event);
        return done && *done;
    };
    const auto next_recorded = [&points](std::size_t i) {
        while (i < points.size() && !points[i].recorded)
            ++i;
        return i;
    };
    std::size_t passed = stream.passed;
    std::size_t first = next_recorded(passed);
    if (first == points.size() || !has_passed(points[first]))
        return passed;
    passed = first + 1;
    std::size_t open = points.size();  // known not to have passed, from here on
    while (open > passed && !points[open - 1].recorded)
        --open;
    if (open > passed) {
        if (has_passed(points[open - 1]))
            return open;
        --open;
    }
    while (passed < open) {
        const std::size_t middle = next_recorded(passed + (open - passed) / 2);
        if (middle < open && has_passed(points[middle]))
            passed = middle + 1;
        else
            open = passed + (open - passed) / 2;
    }
    return passed;
}

// The first `passed` points have passed.
void VpmmRegions::advance(Owner owner, std::size_t passed) {
    Stream& stream = owners_[owner];
    if (passed == stream.passed)
        return;
    const std::uint64_t last = stream.points[passed - 1].id;
    for (std::size_t i = stream.passed; i < passed; ++i) {
        Entry* const entry =
            stream.points[i].users == 0 ? nullptr : find_entry(stream.points[i].id);
        if (entry == nullptr || !is_current(*entry))
            continue;
        Block& block = blocks_[entry->block];
        stream.waiting.erase(entry->block, blocks_);
        block.waits = 0;
        stream.done.insert(entry->block, blocks_);
    }
    stream.passed = passed;
    forget_passed(stream);
    std::erase_if(stream.zombies, [&](BlockId id) {
        const bool over = blocks_[id].stamp <= last;
        if (over)
            ripe_.push_back(id);
        return over;
    });
}

void VpmmRegions::poll(Owner owner, Device& device) {
    Stream& stream = owners_[owner];
    forget_passed(stream);
    if (stream.passed == stream.points.size())
        return;
    record_last(stream, device);
    advance(owner, count_passed(stream, device));
}

void VpmmRegions::all_passed(Owner owner) {
    advance(owner, owners_[owner].points.size());
}

void VpmmRegions::poll_zombies(Device& device) {
    for (Owner owner = 0; owner < owners_.size(); ++owner) {
        if (!owners_[owner].zombies.empty())
            poll(owner, device);
    }
}

void VpmmRegions::poll_others(Owner but, Device& device) {
    for (Owner owner = 0; owner < owners_.size(); ++owner) {
        if (owner != but && !owners_[owner].waiting.empty())
            poll(owner, device);
    }
}

std::vector<VpmmRegions::Owner> VpmmRegions::awaited() const {
    std::vector<Owner> awaited;
    for (Owner owner = 0; owner < owners_.size(); ++owner) {
        if (owners_[owner].passed < owners_[owner].points.size())
            awaited.push_back(owner);
    }
    return awaited;
}

DeviceResult<EventId> VpmmRegions::event_of(BlockId id, Device& device) {
    Stream& stream = owners_[blocks_[id].list];
    const Point* point = find_point(blocks_[id]);
    TM_CHECK(point != nullptr);
    for (; point != stream.points.data() + stream.points.size(); ++point) {
        if (point->recorded)
            return point->event;
    }
    const DeviceResult<EventId> event = device.record(stream.stream);
    if (event) {
        stream.points.back().event = *event;
        stream.points.back().recorded = true;
    }
    return event;
}

}  // namespace tidemark::policies
