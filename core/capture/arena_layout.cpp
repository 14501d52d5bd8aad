// ArenaLayout: following a plan, and checking it.
#include "core/capture/arena_layout.h"

#include <algorithm>
#include <iterator>

#include "core/base/check.h"

namespace tidemark {
namespace {

// How far ahead the next expected request may be: the program left out those before it.
constexpr std::uint32_t kLookAhead = 32;

BumpArena upwards_from(Address begin) {
    TM_CHECK(to_integer(begin) < 2 * kLargestRequest);
    return {begin, 4 * kLargestRequest - to_integer(begin)};
}

}  // namespace

ArenaLayout::ArenaLayout(Address floor)
    : floor_(floor), above_(upwards_from(floor)), high_water_(floor) {}

ArenaLayout::ArenaLayout(Address floor, const Plan& plan,
                         std::span<const PlannedAllocation> expected)
    : floor_(floor),
      expected_(expected.begin(), expected.end()),
      offsets_(plan.offsets),
      above_(upwards_from(floor + plan.height)),
      high_water_(floor) {
    TM_CHECK(plan.offsets.size() == expected.size() && to_integer(floor) % kUnit == 0);
}

void ArenaLayout::skip_to(Address address) {
    if (address > above_.base() + above_.high_water())
        above_.skip_to(address - above_.base());
}

// The next expected request that matches this one, or kUnplanned.
std::uint32_t ArenaLayout::find_expected(const Request& request) const {
    const auto count = static_cast<std::uint32_t>(expected_.size());
    const std::uint32_t end = next_ + std::min(count - next_, kLookAhead);
    for (std::uint32_t i = next_; i < end; ++i) {
        const PlannedAllocation& one = expected_[i];
        if (one.size == request.size && one.stream == request.stream &&
            to_integer(floor_ + offsets_[i]) % request.alignment == 0)
            return i;
    }
    return kUnplanned;
}

// Are the bytes between `begin` and `end` free of anything that may be in use when `stream`
// continues?
bool ArenaLayout::is_clear(Address begin, Address end, StreamId stream) const {
    auto it = occupants_.upper_bound(begin);
    if (it != occupants_.begin() && std::prev(it)->second.end > begin)
        --it;
    for (; it != occupants_.end() && it->first < end; ++it) {
        const Occupant& one = it->second;
        if (one.live)
            return false;
        for (const StreamId user : one.users) {
            if (!clocks_.ordered(user, one.freed_at, stream, position_ + 1))
                return false;
        }
    }
    return true;
}

ArenaLayout::Placement ArenaLayout::choose(const Request& request) const {
    TM_CHECK(request.size < kLargestRequest);
    const Bytes size = align_up(std::max<Bytes>(request.size, 1), kUnit);
    const std::uint32_t planned = find_expected(request);
    if (planned != kUnplanned) {
        const Address begin = floor_ + offsets_[planned];
        if (is_clear(begin, begin + size, request.stream))
            return {begin, size, planned};
    }
    return choose_above(request);
}

ArenaLayout::Placement ArenaLayout::choose_above(const Request& request) const {
    TM_CHECK(request.size < kLargestRequest);
    const Bytes size = align_up(std::max<Bytes>(request.size, 1), kUnit);
    const Bytes end = above_.needed_for(request.size, request.alignment);
    return {above_.base() + (end - size), size, kUnplanned};
}

// The first occupant that begins at `address` or later; one that reaches across it is cut in two.
ArenaLayout::Occupants::iterator ArenaLayout::split_at(Address address) {
    const auto next = occupants_.lower_bound(address);
    if (next == occupants_.begin())
        return next;
    const auto before = std::prev(next);
    if (before->second.end <= address)
        return next;
    Occupant rest = before->second;
    before->second.end = address;
    return occupants_.emplace_hint(next, address, std::move(rest));
}

void ArenaLayout::vacate(Address begin, Address end) {
    split_at(end);
    const auto first = split_at(begin);
    occupants_.erase(first, occupants_.lower_bound(end));
}

void ArenaLayout::take(const Request& request, const Placement& placement) {
    ++position_;
    const std::uint32_t expected = find_expected(request);
    if (expected != kUnplanned) {
        deviations_ += expected - next_;
        next_ = expected + 1;
    }
    if (placement.planned == kUnplanned) {
        if (planned())
            ++deviations_;
        const auto above = above_.allocate(request.size, request.alignment);
        TM_CHECK(above && *above == placement.address);
    } else {
        vacate(placement.address, placement.address + placement.size);
        occupants_.emplace(placement.address,
                           Occupant{placement.address + placement.size, true, 0, {}});
    }
    high_water_ = std::max(high_water_, placement.address + placement.size);
}

BumpArena::Freed ArenaLayout::give(Address address, std::span<const StreamId> users) {
    ++position_;
    if (address >= above_.base())
        return above_.deallocate(address);
    const auto found = occupants_.find(address);
    if (found == occupants_.end())
        return BumpArena::Freed::unknown;
    if (!found->second.live)
        return BumpArena::Freed::double_free;
    found->second.live = false;
    found->second.freed_at = position_;
    found->second.users.assign(users.begin(), users.end());
    return BumpArena::Freed::freed;
}

}  // namespace tidemark
