// The names of event kinds, as `info`, JSONL and messages show them.
#include "traces/model/event.h"

namespace tidemark {

std::string_view to_text(EventKind kind) {
    switch (kind) {
        case EventKind::allocate:
            return "allocate";
        case EventKind::free:
            return "free";
        case EventKind::retire:
            return "retire";
        case EventKind::finish:
            return "finish";
        case EventKind::use:
            return "use";
        case EventKind::record_use:
            return "record_use";
        case EventKind::record_event:
            return "record_event";
        case EventKind::wait_event:
            return "wait_event";
        case EventKind::synchronize:
            return "synchronize";
        case EventKind::range_begin:
            return "range_begin";
        case EventKind::range_end:
            return "range_end";
        case EventKind::mark:
            return "mark";
        case EventKind::pool_begin:
            return "pool_begin";
        case EventKind::pool_end:
            return "pool_end";
        case EventKind::reserve:
            return "reserve";
        case EventKind::release:
            return "release";
        case EventKind::move:
            return "move";
        case EventKind::out_of_memory:
            return "out_of_memory";
        case EventKind::trim:
            return "trim";
        case EventKind::segment_alloc:
            return "segment_alloc";
        case EventKind::segment_free:
            return "segment_free";
        case EventKind::segment_map:
            return "segment_map";
        case EventKind::segment_unmap:
            return "segment_unmap";
        case EventKind::block:
            return "block";
        case EventKind::final_segment:
            return "final_segment";
        case EventKind::final_block:
            return "final_block";
        case EventKind::snapshot:
            return "snapshot";
    }
    return "unknown";
}

}  // namespace tidemark
