// The invariants of DESIGN's property suite that can be seen from outside.
#include "tests/support/invariants.h"

#include <algorithm>

#include <fmt/format.h>

namespace tidemark::support {
namespace {

std::vector<Region> regions_in(const Allocator& allocator) {
    std::vector<Region> regions;
    allocator.for_each_region([&regions](const Region& region) { regions.push_back(region); });
    return regions;
}

std::string show(Range range) {
    return fmt::format("[{:#x}, +{}]", to_integer(range.begin), range.size);
}

// Each run of regions of one segment covers it from end to end, and segments don't overlap.
std::string tiling_violation(std::span<const Region> regions) {
    std::vector<Range> segments;
    for (std::size_t i = 0; i < regions.size();) {
        const Range segment = regions[i].segment;
        Address next = segment.begin;
        for (; i < regions.size() && regions[i].segment == segment; ++i) {
            if (regions[i].range.size == 0 || regions[i].range.begin != next)
                return fmt::format("region {} does not begin at {:#x} in segment {}",
                                   show(regions[i].range), to_integer(next), show(segment));
            next = next + regions[i].range.size;
        }
        if (next != segment.begin + segment.size)
            return fmt::format("the regions of segment {} end at {:#x}", show(segment),
                               to_integer(next));
        segments.push_back(segment);
    }
    std::sort(segments.begin(), segments.end(),
              [](const Range& a, const Range& b) { return a.begin < b.begin; });
    for (std::size_t i = 1; i < segments.size(); ++i) {
        if (segments[i].begin < segments[i - 1].begin + segments[i - 1].size)
            return fmt::format("segments {} and {} overlap", show(segments[i - 1]),
                               show(segments[i]));
    }
    return {};
}

// One allocated region for each live allocation, which holds what was asked for.
std::string match_violation(std::vector<Region> allocated, std::span<const Live> live) {
    if (allocated.size() != live.size())
        return fmt::format("{} allocations are live but {} regions are allocated", live.size(),
                           allocated.size());
    std::sort(allocated.begin(), allocated.end(),
              [](const Region& a, const Region& b) { return a.range.begin < b.range.begin; });
    for (const Live& one : live) {
        const Range wanted{one.allocation.address, one.requested};
        auto after = std::upper_bound(
            allocated.begin(), allocated.end(), wanted.begin,
            [](Address address, const Region& region) { return address < region.range.begin; });
        if (after == allocated.begin())
            return fmt::format("no allocated region holds allocation {}", show(wanted));
        const Range region = std::prev(after)->range;
        if (region.size != one.allocation.size || wanted.size > region.size ||
            wanted.begin - region.begin > region.size - wanted.size)
            return fmt::format("allocation {} of size {} is not what region {} holds", show(wanted),
                               one.allocation.size, show(region));
    }
    std::vector<Address> begins;
    for (const Live& one : live)
        begins.push_back(one.allocation.address);
    std::sort(begins.begin(), begins.end());
    if (std::adjacent_find(begins.begin(), begins.end()) != begins.end())
        return "two live allocations have one address";
    return {};
}

std::string usage_violation(const Usage& usage, const Usage& expected) {
    if (usage.reserved != expected.reserved)
        return fmt::format("reserved is {}, the regions add up to {}", usage.reserved,
                           expected.reserved);
    if (usage.allocated != expected.allocated)
        return fmt::format("allocated is {}, live allocations add up to {}", usage.allocated,
                           expected.allocated);
    if (usage.active != expected.active)
        return fmt::format("active is {}, allocated and waiting regions add up to {}", usage.active,
                           expected.active);
    if (usage.mapped > usage.reserved)
        return fmt::format("mapped, {}, is above reserved, {}", usage.mapped, usage.reserved);
    return {};
}

// Free neighbours of a segment as one: in whose list they are may change with a refused request.
std::vector<Region> with_free_joined(std::span<const Region> regions) {
    std::vector<Region> joined;
    for (const Region& region : regions) {
        const bool joins = !joined.empty() && joined.back().segment == region.segment &&
                           joined.back().state == Region::State::free &&
                           region.state == Region::State::free;
        if (joins)
            joined.back().range.size += region.range.size;
        else
            joined.push_back(region);
    }
    return joined;
}

}  // namespace

std::string violation(const Allocator& allocator, std::span<const Live> live) {
    const std::vector<Region> regions = regions_in(allocator);
    if (std::string bad = tiling_violation(regions); !bad.empty())
        return bad;
    Usage expected;
    Bytes largest_free = 0;
    std::vector<Region> allocated;
    for (const Region& region : regions) {
        expected.reserved += region.range.size;
        if (region.state == Region::State::allocated)
            allocated.push_back(region);
        if (region.state == Region::State::allocated || region.state == Region::State::waiting)
            expected.active += region.range.size;
        if (region.state == Region::State::free)
            largest_free = std::max(largest_free, region.range.size);
    }
    if (std::string bad = match_violation(std::move(allocated), live); !bad.empty())
        return bad;
    for (const Live& one : live) {
        if (!one.allocation.retired)
            expected.allocated += one.allocation.size;
    }
    if (allocator.largest_free() > largest_free)
        return fmt::format("largest_free is {}, the largest free region has {}",
                           allocator.largest_free(), largest_free);
    return usage_violation(allocator.usage(), expected);
}

std::string violation_after_trim(const Allocator& allocator, bool after_failure) {
    const std::vector<Region> regions = regions_in(allocator);
    for (const Region& region : regions) {
        const auto holds = [&](const Region& other) {
            return other.segment == region.segment &&
                   (other.shared || other.state == Region::State::allocated ||
                    (after_failure && other.state == Region::State::waiting) ||
                    other.pool != PoolId::default_pool);
        };
        if (std::none_of(regions.begin(), regions.end(), holds))
            return fmt::format("segment {} is still held after a trim", show(region.segment));
    }
    return {};
}

bool same_regions(std::span<const Region> a, std::span<const Region> b) {
    const std::vector<Region> x = with_free_joined(a);
    const std::vector<Region> y = with_free_joined(b);
    return std::ranges::equal(x, y, [](const Region& one, const Region& other) {
        return one.range == other.range && one.segment == other.segment && one.state == other.state;
    });
}

}  // namespace tidemark::support
