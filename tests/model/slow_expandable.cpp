// Expandable segments: chapter 8.
#include <algorithm>

#include "core/base/check.h"
#include "tests/model/slow_torch.h"

namespace tidemark::model {
namespace {

// The first and the last page boundary of a reservation at or inside the ends of a range.
Address page_up(Address address, Address base, Bytes page) {
    return base + (address - base + page - 1) / page * page;
}

Address page_down(Address address, Address base, Bytes page) {
    return base + (address - base) / page * page;
}

}  // namespace

// Chapter 8.2.

SlowTorch::Block* SlowTorch::find_expandable(const Need& need) {
    Pool& pool = *need.pool;
    for (const auto& [key, unmapped] : pool.unmapped) {
        if (unmapped->segment->stream != need.stream)
            continue;
        Block* first = unmapped;
        if (Block* const prev = prev_of(*unmapped); prev != nullptr && prev->allocatable())
            first = prev;
        Bytes sum = 0;
        for (const Block* block = first;
             block != nullptr && block->allocatable() && sum < need.size; block = next_of(*block))
            sum += block->size;
        if (sum >= need.size)
            return first;
    }
    coverage_.hit(Rule::reserved_space);
    const Bytes page = pool.small ? kSmallSegment : settings_.large_segment;
    const Range range = driver_.reserve(reservation_size(driver_.capacity(), page));
    Segment& segment = segments_[range.begin];
    segment = {
        .range = range, .expandable = true, .page = page, .pool = &pool, .stream = need.stream};
    Block* const block = add_block(&segment, range, false);
    put(block);
    return block;
}

// Chapter 8.3.

SlowTorch::Block* SlowTorch::expandable_alloc(const Need& need) {
    Block* block = find_expandable(need);
    unsigned runs = 0;
    if (!block->mapped) {
        block = map_block(block, std::min(block->size, need.size));
        if (block == nullptr)
            return nullptr;
        ++runs;
    }
    while (block->size < need.size) {
        Block* const rest = next_of(*block);
        TM_CHECK(rest != nullptr && !rest->mapped);
        block = map_block(rest, std::min(need.size - block->size, rest->size));
        if (block == nullptr) {
            if (runs != 0)
                coverage_.hit(Rule::map_refused_midway);
            return nullptr;
        }
        ++runs;
    }
    if (runs > 1)
        coverage_.hit(Rule::map_many_ranges);
    take(block);
    return block;
}

// The free block that `size` bytes from the begin of `block`, which is unmapped, become part of.
SlowTorch::Block* SlowTorch::map_block(Block* block, Bytes size) {
    Segment* const segment = block->segment;
    const Address end = page_up(block->begin + size, segment->range.begin, segment->page);
    const Range range{block->begin, end - block->begin};
    TM_CHECK(range.size <= block->size);
    if (!driver_.map(range, segment->page)) {
        coverage_.hit(Rule::map_refused);
        return nullptr;
    }
    take(block);
    const Bytes rest = block->size - range.size;
    block->size = range.size;
    block->mapped = true;
    if (rest != 0)
        put(add_block(segment, {end, rest}, false));
    Block* const merged = merge(block);
    if (merged != block)
        coverage_.hit(Rule::map_joined_prev);
    put(merged);
    usage_.reserved += range.size;
    ++stats_.maps;
    return merged;
}

// Chapter 8.4.

void SlowTorch::unmap_block(Block* block) {
    Segment* const segment = block->segment;
    const Range whole = block->range();
    const Address low = page_up(whole.begin, segment->range.begin, segment->page);
    const Address high = page_down(block->end(), segment->range.begin, segment->page);
    if (low >= high) {
        coverage_.hit(Rule::unmap_nothing);
        return;
    }
    driver_.synchronize(segment->stream);
    driver_.unmap({low, high - low});
    take(block);
    segment->blocks.erase(whole.begin);
    const Bytes head = low - whole.begin;
    const Bytes tail = whole.begin + whole.size - high;
    if (head != 0)
        put(add_block(segment, {whole.begin, head}, true));
    if (tail != 0)
        put(add_block(segment, {high, tail}, true));
    put(merge(add_block(segment, {low, high - low}, false)));
    coverage_.hit(head != 0 || tail != 0 ? Rule::unmapped_in_part : Rule::unmapped);
    usage_.reserved -= high - low;
    ++stats_.unmaps;
}

void SlowTorch::unreserve_if_empty(Segment* segment) {
    Block& first = segment->blocks.begin()->second;
    if (is_split(first) || first.mapped)
        return;
    coverage_.hit(Rule::unreserved);
    take(&first);
    TM_CHECK(driver_.unreserve(segment->range));
    segments_.erase(segment->range.begin);
}

}  // namespace tidemark::model
