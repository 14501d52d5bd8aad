// MemoryParts: what reserved memory consists of at a moment.
#pragma once

#include <atomic>

#include "replay/timeline/history.h"

namespace tidemark::facts {

// All but `reserved` add up to `reserved`.
struct MemoryParts {
    Bytes reserved = 0;
    Bytes in_use = 0;         // what the program requested and holds
    Bytes rounding = 0;       // what its blocks have beyond that
    Bytes waiting = 0;        // freed, but the device isn't done: whole blocks
    Bytes fragmentation = 0;  // free, in segments (or pages) of which a part is taken
    Bytes cached = 0;         // free, in whole segments (or pages), or mapped nowhere

    Bytes free() const { return fragmentation + cached; }

    friend bool operator==(const MemoryParts&, const MemoryParts&) = default;
};

// After `event`, over all devices. Pure; O((segments + live blocks) log live blocks). Cancelled:
// wrong.
MemoryParts memory_parts(const History& history, EventIndex event,
                         const std::atomic<bool>& cancelled);

}  // namespace tidemark::facts
