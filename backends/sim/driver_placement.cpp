// Chunks, the holes in them and the gaps between them.
#include "backends/sim/driver_placement.h"

#include <algorithm>
#include <bit>
#include <iterator>

#include "core/base/check.h"

namespace tidemark {
namespace {

constexpr Bytes kSystemPage = 4096;
constexpr Bytes kFirstHoles[] = {24_MiB, 2_MiB};  // that the context leaves, oldest chunk first

std::size_t power_of(Bytes size) {
    return static_cast<std::size_t>(std::bit_width(size)) - 1;
}

}  // namespace

DriverPlacement::DriverPlacement(Range span, Bytes largest_page, LateHole late)
    : span_(span), largest_page_(largest_page), late_(late) {
    TM_CHECK(late.size % kUnit == 0);
    TM_CHECK(is_power_of_two(largest_page) && largest_page >= kChunk &&
             largest_page <= kLargestPage);
    TM_CHECK(to_integer(span.begin) % kLargestPage == 0 && span.size % kLargestPage == 0);
    rooms_.reset(1);
    add_gap(span);
    for (const Bytes hole : kFirstHoles) {
        const Bytes held = align_up(late_.size, kChunk) + kChunk - hole;
        const std::optional<Chunks::iterator> chunk = open_chunk(held);
        TM_CHECK(chunk.has_value());
        late_at_ = carve(*chunk, held);
    }
}

void DriverPlacement::open_late_hole() {
    if (late_open_ || late_.size == 0)
        return;
    late_open_ = true;
    const auto chunk = chunks_.find(late_at_);
    TM_CHECK(chunk != chunks_.end());
    chunk->second.taken -= late_.size;
    add_hole(chunk, {late_at_, late_.size});
    update_room(chunk);
}

std::optional<Address> DriverPlacement::take(Bytes size) {
    if (!late_open_ && taken_++ == late_.after)
        open_late_hole();
    const Bytes footprint = align_up(size, kUnit);
    std::optional<Chunks::iterator> chunk;
    if (const std::optional<std::size_t> age = rooms_.youngest_with(footprint))
        chunk = chunks_.find(ages_[*age]);
    else
        chunk = open_chunk(footprint);
    if (!chunk)
        return std::nullopt;
    const Address begin = carve(*chunk, footprint);
    live_.emplace(begin, size);
    return begin;
}

Bytes DriverPlacement::give(Address address) {
    const auto found = live_.find(address);
    if (found == live_.end())
        return 0;
    const Bytes size = found->second;
    const Bytes footprint = align_up(size, kUnit);
    live_.erase(found);
    const auto chunk = std::prev(chunks_.upper_bound(address));
    chunk->second.taken -= footprint;
    add_hole(chunk, {address, footprint});
    if (chunk->second.taken == 0)
        close_chunk(chunk);
    else
        update_room(chunk);
    return size;
}

Range DriverPlacement::find(Address address) const {
    auto next = live_.upper_bound(address);
    if (next == live_.begin())
        return {};
    --next;
    if (address - next->first >= next->second)
        return {};
    return {next->first, next->second};
}

// Chunks.

std::optional<DriverPlacement::Chunks::iterator> DriverPlacement::open_chunk(Bytes size) {
    const Bytes rounded = align_up(size, kChunk);
    const std::optional<Address> begin =
        find_gap(rounded, size % largest_page_ == 0 ? largest_page_ : kChunk);
    if (!begin)
        return std::nullopt;
    const auto gap = std::prev(gaps_.upper_bound(*begin));
    const Range around{gap->first, gap->second};
    const Address end = *begin + rounded;
    remove_gap(gap);
    if (*begin != around.begin)
        add_gap({around.begin, *begin - around.begin});
    if (end != around.begin + around.size)
        add_gap({end, around.size - (end - around.begin)});
    const auto chunk = chunks_.emplace(*begin, Chunk{.size = rounded}).first;
    add_age(chunk);
    add_hole(chunk, {*begin, rounded});
    return chunk;
}

void DriverPlacement::close_chunk(Chunks::iterator chunk) {
    const auto [begin, closed] = *chunk;
    holes_.erase(begin);  // it is one hole
    ages_[closed.age] = Address::null;
    rooms_.set(closed.age, 0);
    chunks_.erase(chunk);
    add_gap({begin, closed.size});
}

Address DriverPlacement::carve(Chunks::iterator chunk, Bytes size) {
    const Address end = chunk->first + chunk->second.size;
    auto best = holes_.end();
    for (auto hole = holes_.lower_bound(chunk->first); hole != holes_.end() && hole->first < end;
         ++hole) {
        if (hole->second >= size && (best == holes_.end() || hole->second < best->second))
            best = hole;
    }
    TM_CHECK(best != holes_.end());
    const auto [begin, room] = *best;
    holes_.erase(best);
    if (room > size)
        holes_.emplace(begin + size, room - size);
    chunk->second.taken += size;
    update_room(chunk);
    return begin;
}

// Merges it with adjacent holes in the same chunk.
void DriverPlacement::add_hole(Chunks::iterator chunk, Range hole) {
    const Address end = hole.begin + hole.size;
    const auto next = holes_.find(end);
    if (next != holes_.end() && end != chunk->first + chunk->second.size) {
        hole.size += next->second;
        holes_.erase(next);
    }
    const auto after = holes_.lower_bound(hole.begin);
    if (after != holes_.begin() && hole.begin != chunk->first) {
        const auto before = std::prev(after);
        if (before->first + before->second == hole.begin) {
            before->second += hole.size;
            return;
        }
    }
    holes_.emplace_hint(after, hole.begin, hole.size);
}

void DriverPlacement::update_room(Chunks::iterator chunk) {
    const Address end = chunk->first + chunk->second.size;
    Bytes largest = 0;
    for (auto hole = holes_.lower_bound(chunk->first); hole != holes_.end() && hole->first < end;
         ++hole)
        largest = std::max(largest, hole->second);
    rooms_.set(chunk->second.age, largest);
}

// Gives a new chunk the next age. When ages are used up, the ages of chunks that are gone are
// removed; if those are less than half, the number of ages is doubled.
void DriverPlacement::add_age(Chunks::iterator chunk) {
    if (ages_.size() == rooms_.capacity()) {
        std::erase(ages_, Address::null);
        const std::size_t capacity = rooms_.capacity();
        rooms_.reset(ages_.size() > capacity / 2 ? 2 * capacity : capacity);
        for (std::size_t age = 0; age < ages_.size(); ++age) {
            const auto aged = chunks_.find(ages_[age]);
            aged->second.age = age;
            update_room(aged);
        }
    }
    chunk->second.age = ages_.size();
    ages_.push_back(chunk->first);
}

void DriverPlacement::Rooms::set(std::size_t age, Bytes largest) {
    std::size_t at = capacity() + age;
    for (tree_[at] = largest; at > 1; at /= 2)
        tree_[at / 2] = std::max(tree_[at], tree_[at ^ 1]);
}

std::optional<std::size_t> DriverPlacement::Rooms::youngest_with(Bytes size) const {
    if (tree_[1] < size)
        return std::nullopt;
    std::size_t at = 1;
    while (at < capacity())
        at = tree_[2 * at + 1] >= size ? 2 * at + 1 : 2 * at;
    return at - capacity();
}

// Gaps.

std::optional<Address> DriverPlacement::find_gap(Bytes size, Bytes alignment) const {
    if (size > span_.size)
        return std::nullopt;
    const Bytes needed = size + alignment - kSystemPage;
    std::optional<Address> highest;
    const auto consider = [&highest](Address gap) {
        highest = std::max(highest, std::optional(gap));
    };
    const std::set<Address>& close = gaps_by_power_[power_of(needed)];
    const auto fits = [&](Address gap) { return gaps_.find(gap)->second >= needed; };
    if (const auto found = std::find_if(close.rbegin(), close.rend(), fits); found != close.rend())
        consider(*found);
    for (std::size_t power = power_of(needed) + 1; power < gaps_by_power_.size(); ++power) {
        if (!gaps_by_power_[power].empty())
            consider(*gaps_by_power_[power].rbegin());
    }
    if (!highest)
        return std::nullopt;
    const Address end = *highest + gaps_.find(*highest)->second;
    return Address{align_up(to_integer(end) - needed, alignment)};
}

void DriverPlacement::add_gap(Range gap) {
    const Address end = gap.begin + gap.size;
    if (const auto after = gaps_.find(end); after != gaps_.end()) {
        gap.size += after->second;
        remove_gap(after);
    }
    if (const auto next = gaps_.lower_bound(gap.begin); next != gaps_.begin()) {
        const auto before = std::prev(next);
        if (before->first + before->second == gap.begin) {
            gap = {before->first, before->second + gap.size};
            remove_gap(before);
        }
    }
    gaps_.emplace(gap.begin, gap.size);
    gaps_by_power_[power_of(gap.size)].insert(gap.begin);
}

void DriverPlacement::remove_gap(Holes::iterator gap) {
    gaps_by_power_[power_of(gap->second)].erase(gap->first);
    gaps_.erase(gap);
}

}  // namespace tidemark
