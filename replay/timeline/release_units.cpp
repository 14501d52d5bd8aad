// release_units: finding the piece that a block lies in, and keeping the sum of what is free in
// pieces that are taken in part.
#include "replay/timeline/release_units.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace tidemark {
namespace {

constexpr Bytes kLargestPower = 2_MiB;
constexpr Bytes kLargestPage = 20_MiB;
// A zone has no more, so that numbers that are wrong cost no memory.
constexpr std::uint64_t kMostPages = std::uint64_t{1} << 26U;

// Of a range that isn't empty.
std::uint64_t last_byte_of(Address address, Bytes size) {
    const std::uint64_t begin = to_integer(address);
    return begin + std::min(size - 1, std::numeric_limits<std::uint64_t>::max() - begin);
}

// What is free in a piece that can't go back.
Bytes stuck(Bytes taken, Bytes size) {
    return taken == 0 ? 0 : size - std::min(taken, size);
}

}  // namespace

ReleaseUnits::Space& ReleaseUnits::space(std::uint16_t device) {
    if (device >= spaces_.size())
        spaces_.resize(std::size_t{device} + 1);
    return spaces_[device];
}

// The one that holds `address`; null if none does.
ReleaseUnits::Wholes::value_type* ReleaseUnits::whole_at(Space& space, std::uint64_t address) {
    const auto holds = [address](const Wholes::value_type& whole) {
        return address - whole.first < whole.second.size;
    };
    if (space.wholes.empty())
        return nullptr;
    Found& found = space.found[address / kLargestPower % kFound];
    if (found.changes == space.changes && holds(*found.whole)) [[likely]]
        return found.whole;
    const auto beyond = space.wholes.upper_bound(address);
    if (beyond == space.wholes.begin() || !holds(*std::prev(beyond)))
        return nullptr;
    found = {&*std::prev(beyond), space.changes};
    return found.whole;
}

ReleaseUnits::Zone* ReleaseUnits::zone_at(Space& space, std::uint64_t address) {
    const auto beyond =
        std::partition_point(space.zones.begin(), space.zones.end(),
                             [address](const Zone& zone) { return zone.begin <= address; });
    if (beyond == space.zones.begin() || (beyond - 1)->last < address)
        return nullptr;
    return &*(beyond - 1);
}

Bytes ReleaseUnits::page_of(const Zone& zone) {
    Bytes page = zone.large ? kLargestPage : std::min(kLargestPower, zone.bits & (~zone.bits + 1));
    while ((zone.last - zone.begin) / page >= kMostPages)
        page *= 2;
    return page;
}

bool ReleaseUnits::learn(const Segment& segment) {
    if (segment.kind == SegmentKind::segment || segment.kind == SegmentKind::view ||
        segment.size == 0)
        return true;
    Space& there = space(segment.device);
    const std::uint64_t begin = to_integer(segment.begin);
    if (segment.kind == SegmentKind::reservation)
        return add_zone(there, {.begin = begin, .last = last_byte_of(segment.begin, segment.size)});
    Zone* const zone = zone_at(there, begin);
    if (zone == nullptr)
        return true;
    const std::uint64_t offset = begin - zone->begin;
    zone->bits |= offset | segment.size;
    zone->large = zone->large && offset % kLargestPage == 0 && segment.size % kLargestPage == 0;
    const Bytes page = page_of(*zone);
    if (page == zone->page)
        return !zone->counted_elsewhere;
    zone->page = page;
    return zone->taken.empty() && !zone->counted_elsewhere;
}

// Joins it with those that it overlaps.
bool ReleaseUnits::add_zone(Space& space, Zone zone) {
    const auto first =
        std::partition_point(space.zones.begin(), space.zones.end(),
                             [&zone](const Zone& other) { return other.last < zone.begin; });
    auto beyond = first;
    while (beyond != space.zones.end() && beyond->begin <= zone.last)
        ++beyond;
    if (beyond - first == 1 && first->begin <= zone.begin && first->last >= zone.last)
        return true;
    bool fresh = true;
    for (auto other = first; other != beyond; ++other) {
        zone.begin = std::min(zone.begin, other->begin);
        zone.last = std::max(zone.last, other->last);
        fresh = fresh && other->taken.empty() && !other->counted_elsewhere;
    }
    for (auto other = first; other != beyond; ++other) {
        if (other->bits == 0)
            continue;
        const std::uint64_t offset = other->begin - zone.begin;
        zone.bits |= other->bits | offset;
        zone.large = zone.large && other->large && offset % kLargestPage == 0;
    }
    zone.page = page_of(zone);
    space.zones.insert(space.zones.erase(first, beyond), std::move(zone));
    return fresh;
}

void ReleaseUnits::begin(const Segment& segment) {
    if (segment.kind == SegmentKind::reservation || segment.size == 0)
        return;
    if (segment.kind == SegmentKind::view)
        return views_.begin(segment);
    Space& there = space(segment.device);
    const std::uint64_t begin = to_integer(segment.begin);
    if (segment.kind == SegmentKind::mapping && zone_at(there, begin) != nullptr)
        return;
    Whole& whole = there.wholes[begin];
    ++there.changes;
    fragmented_ -= stuck(whole.taken, whole.size);
    whole = {segment.size, 0, segment.born};
}

void ReleaseUnits::end(const Segment& segment) {
    if (segment.kind == SegmentKind::view)
        return views_.end(segment);
    Space& there = space(segment.device);
    const auto found = there.wholes.find(to_integer(segment.begin));
    if (found == there.wholes.end() || found->second.born != segment.born)
        return;
    fragmented_ -= stuck(found->second.taken, found->second.size);
    there.wholes.erase(found);
    ++there.changes;
}

void ReleaseUnits::take(std::uint16_t device, const BlockLife& block) {
    count(device, block, true);
}

void ReleaseUnits::release(std::uint16_t device, const BlockLife& block) {
    count(device, block, false);
}

void ReleaseUnits::count(std::uint16_t device, const BlockLife& block, bool takes) {
    if (block.size == 0)
        return;
    Space& there = space(device);
    const Range range{block.address, block.size};
    if (views_.empty())
        return count(there, range, block.born, takes);
    Zone* const zone = zone_at(there, to_integer(block.address));
    if (zone != nullptr && zone->bits != 0)
        return count(there, range, block.born, takes);
    views_.for_each_home(device, range, [&](Range part) { count(there, part, block.born, takes); });
    if (zone != nullptr)
        zone->counted_elsewhere = true;
}

void ReleaseUnits::count(Space& there, Range range, EventIndex born, bool takes) {
    const std::uint64_t first = to_integer(range.begin);
    const std::uint64_t last = last_byte_of(range.begin, range.size);
    if (auto* const found = whole_at(there, first); found != nullptr) {
        auto& [begin, whole] = *found;
        if (whole.born <= born) {
            const Bytes bytes = std::min(last - begin, whole.size - 1) - (first - begin) + 1;
            change(whole.taken, whole.size, bytes, takes);
            return;
        }
    }
    if (Zone* const zone = zone_at(there, first); zone != nullptr)
        count_pages(*zone, first - zone->begin, std::min(last, zone->last) - zone->begin, takes);
}

// Its first and last page; those between are taken whole.
void ReleaseUnits::count_pages(Zone& zone, std::uint64_t first, std::uint64_t last, bool takes) {
    const std::uint64_t first_page = first / zone.page;
    const std::uint64_t last_page = last / zone.page;
    if (first_page == last_page) {
        count_page(zone, first_page, last - first + 1, takes);
        return;
    }
    count_page(zone, first_page, (first_page + 1) * zone.page - first, takes);
    count_page(zone, last_page, last - last_page * zone.page + 1, takes);
}

void ReleaseUnits::count_page(Zone& zone, std::uint64_t page, Bytes bytes, bool takes) {
    if (bytes == zone.page)
        return;
    const std::size_t chunk = page / kChunk;
    if (chunk >= zone.taken.size())
        zone.taken.resize(chunk + 1);
    if (zone.taken[chunk].empty())
        zone.taken[chunk].resize(kChunk);
    change(zone.taken[chunk][page % kChunk], zone.page, bytes, takes);
}

// Takes no more away than there is, whatever a history says.
void ReleaseUnits::change(Bytes& taken, Bytes size, Bytes bytes, bool takes) {
    fragmented_ -= stuck(taken, size);
    taken = takes ? taken + bytes : taken - std::min(taken, bytes);
    fragmented_ += stuck(taken, size);
}

Bytes fragmentation_at(const History& history, EventIndex event,
                       const std::atomic<bool>& cancelled) {
    ReleaseUnits units;
    std::vector<Segment> alive;
    const std::size_t segments = history.counts().segments;
    for (const bool reservations : {true, false})
        for (std::size_t i = 0; i < segments && !cancelled; ++i) {
            const Segment segment = history.segment(static_cast<SegmentIndex>(i));
            if ((segment.kind == SegmentKind::reservation) != reservations)
                continue;
            units.learn(segment);
            if (segment.born <= event && event < segment.died)
                alive.push_back(segment);
        }
    for (const Segment& segment : alive)
        units.begin(segment);
    history.for_each_live(event, [&](BlockIndex index) {
        const Block block = history.block(index);
        units.take(history.site(block.site).device, block);
    });
    return cancelled ? 0 : units.fragmented();
}

}  // namespace tidemark
