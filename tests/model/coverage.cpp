// The names of the rules.
#include "tests/model/coverage.h"

namespace tidemark::model {
namespace {

constexpr std::array<std::string_view, kRules> kNames{
    "free_block_taken",
    "rejected_as_oversize",
    "rejected_as_too_loose",
    "grown_hole_preferred",
    "expandable_skipped",
    "plain_taken_in_expandable",
    "split",
    "kept_whole",
    "merged_prev",
    "merged_next",
    "limit_refused",
    "driver_refused",
    "gc_looked",
    "gc_released",
    "gc_many_rounds",
    "available_one",
    "available_many",
    "available_short",
    "retry",
    "retry_helped",
    "refused",
    "refused_in_scope",
    "events_recorded",
    "event_freed",
    "synchronized_free",
    "deferred",
    "deferred_freed_at_once",
    "deferred_recorded",
    "reserved_space",
    "map_many_ranges",
    "map_refused",
    "map_refused_midway",
    "map_joined_prev",
    "unmapped",
    "unmapped_in_part",
    "unmap_nothing",
    "unreserved",
    "private_pool_request",
    "own_scope_request",
    "pool_released",
    "pool_died",
    "pool_trimmed",
    "served_by_other_pool",
    "no_split_kept",
    "settings_changed",
};
static_assert(!kNames.back().empty());

}  // namespace

std::string_view to_text(Rule rule) {
    return kNames[static_cast<std::size_t>(rule)];
}

}  // namespace tidemark::model
