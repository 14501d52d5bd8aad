// The names of event kinds, as `info`, JSONL and messages show them.
#include "traces/model/event.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace tidemark {
namespace {

constexpr std::pair<EventKind, std::string_view> kEventNames[] = {
    {EventKind::allocate, "allocate"},
    {EventKind::free, "free"},
    {EventKind::retire, "retire"},
    {EventKind::finish, "finish"},
    {EventKind::use, "use"},
    {EventKind::record_use, "record_use"},
    {EventKind::record_event, "record_event"},
    {EventKind::wait_event, "wait_event"},
    {EventKind::synchronize, "synchronize"},
    {EventKind::range_begin, "range_begin"},
    {EventKind::range_end, "range_end"},
    {EventKind::mark, "mark"},
    {EventKind::pool_begin, "pool_begin"},
    {EventKind::pool_end, "pool_end"},
    {EventKind::reserve, "reserve"},
    {EventKind::release, "release"},
    {EventKind::move, "move"},
    {EventKind::out_of_memory, "out_of_memory"},
    {EventKind::trim, "trim"},
    {EventKind::segment_alloc, "segment_alloc"},
    {EventKind::segment_free, "segment_free"},
    {EventKind::segment_map, "segment_map"},
    {EventKind::segment_unmap, "segment_unmap"},
    {EventKind::block, "block"},
    {EventKind::final_segment, "final_segment"},
    {EventKind::final_block, "final_block"},
    {EventKind::snapshot, "snapshot"},
    {EventKind::execution, "execution"},
    {EventKind::pool_held, "pool_held"},
    {EventKind::operation, "operation"},
};

}  // namespace

std::string_view to_text(EventKind kind) {
    const auto* const found =
        std::ranges::find(kEventNames, kind, &std::pair<EventKind, std::string_view>::first);
    return found == std::end(kEventNames) ? "unknown" : found->second;
}

}  // namespace tidemark
