// How records of a running program become events of a trace, where no memory of earlier records is
// needed. Used only by live_recording.cpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include <fmt/format.h>

#include "traces/live/wire.h"
#include "traces/model/event.h"

namespace tidemark::formats {

// PyTorch's two numbers of a private pool, of which one is 0; a graph's own pool has the bit.
inline std::string torch_pool(std::uint32_t pool) {
    constexpr std::uint32_t kGraph = 0x80000000U;
    return (pool & kGraph) != 0 ? fmt::format("({}, 0)", pool & ~kGraph)
                                : fmt::format("(0, {})", pool);
}

// Memory that is reserved from the device, released to it, mapped or unmapped.
inline void set_segment_kind(live::RecordKind kind, TraceEvent& event) {
    switch (kind) {
        case live::RecordKind::segment_free:
            event.kind = EventKind::segment_free;
            break;
        case live::RecordKind::map:
        case live::RecordKind::live_mapping:
            event.kind = EventKind::segment_map;
            event.flags = kExpandable;
            break;
        case live::RecordKind::unmap:
            event.kind = EventKind::segment_unmap;
            event.flags = kExpandable;
            break;
        default:
            event.kind = EventKind::segment_alloc;
            break;
    }
}

// `first_time`: of the trace's first event. A recording with impossible times is believed as far as
// a time can go.
inline void set_execution(const live::Record& record, std::uint64_t first_time, TraceEvent& event) {
    constexpr std::uint64_t kMost = std::uint64_t{1} << 61U;
    const std::uint64_t begin = std::min(record.address, kMost);
    event.kind = EventKind::execution;
    event.address = begin - std::min(begin, first_time);
    event.size = std::min(record.size, kMost);
    event.aux = static_cast<std::uint32_t>(record.extra);
}

}  // namespace tidemark::formats
