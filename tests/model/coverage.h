// Coverage: how often each rule of PyTorch's allocator decided something, so that a comparison of
// random programs can show that it was about something.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace tidemark::model {

enum class Rule : std::uint8_t {
    free_block_taken,           // by find_free
    rejected_as_oversize,       // a free block >= max_split for a small request
    rejected_as_too_loose,      // n >= max_split, and the block is too large for it
    grown_hole_preferred,       // find_free stepped over the growing end of a reservation
    expandable_skipped,         // by find_free, the mode being off
    plain_taken_in_expandable,  // a block of a cudaMalloc segment, the mode being on
    split,
    kept_whole,  // a large remainder that was not split off
    merged_prev,
    merged_next,
    limit_refused,    // new_block, without asking the driver
    driver_refused,   // a segment
    gc_looked,        // garbage collection above its threshold
    gc_released,      // ... that released something
    gc_many_rounds,   // ... in more than one round
    available_one,    // release_available released one large block
    available_many,   // ... or several
    available_short,  // ... or several, and too little
    retry,
    retry_helped,
    refused,
    refused_in_scope,  // without a retry
    events_recorded,
    event_freed,        // a block whose last event was seen to be complete
    synchronized_free,  // ... or was waited for
    deferred,           // a free put aside while a scope was open
    deferred_freed_at_once,
    deferred_recorded,
    reserved_space,
    map_many_ranges,  // one request mapped more than one run of pages
    map_refused,
    map_refused_midway,  // with runs left mapped behind
    map_joined_prev,     // new pages after a free tail
    unmapped,
    unmapped_in_part,  // with a head or tail of a page left
    unmap_nothing,     // a free piece that holds no whole page
    unreserved,
    private_pool_request,
    own_scope_request,  // for a private pool without an open scope
    pool_released,      // memory of a closed pool given back
    pool_died,
    pool_trimmed,
    served_by_other_pool,  // use_on_oom
    no_split_kept,
    settings_changed,
    count,
};

constexpr auto kRules = static_cast<std::size_t>(Rule::count);

std::string_view to_text(Rule rule);

struct Coverage {
    std::array<std::uint64_t, kRules> hits{};

    void hit(Rule rule) { ++hits[static_cast<std::size_t>(rule)]; }

    std::uint64_t of(Rule rule) const { return hits[static_cast<std::size_t>(rule)]; }

    void add(const Coverage& other) {
        for (std::size_t i = 0; i < kRules; ++i)
            hits[i] += other.hits[i];
    }
};

}  // namespace tidemark::model
