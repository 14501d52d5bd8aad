// Growth: compares two traces of one program: what holds more memory in the second than in the
// first, by the site that allocated it.
//
// Compares the memory that is live at the end of each trace (for a snapshot: when it was taken) and
// at its peak of requested memory. Deterministic. Memory O(live) + O(sites).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "traces/model/trace.h"

namespace tidemark {

// What is live at a moment under one name.
struct Held {
    Bytes bytes = 0;  // as requested
    std::uint64_t blocks = 0;
};

enum class Change : std::uint8_t { added, removed, changed };  // of any kind

std::string_view to_text(Change change);

struct GrowthEntry {
    std::string name;  // Sites::site, or a size class; "" = no stack recorded
    Change change = Change::changed;
    Held end_before;
    Held end_after;
    Held peak_before;
    Held peak_after;
};

// One of the two traces as a whole.
struct GrowthSide {
    Held end;
    Held peak;
    Bytes peak_reserved = 0;  // under the recorded settings, else PyTorch's defaults
    std::string policy;
};

struct Growth {
    bool by_site = false;  // false: by size class, since a trace has no stacks
    GrowthSide before;
    GrowthSide after;
    std::vector<GrowthEntry> entries;  // the largest difference at end or peak first
    std::size_t more = 0;              // differing entries that are not among `entries`
    std::vector<std::string> warnings;
};

// At most `top` entries, of those that differ. Errors: those of damaged traces. O(events).
Result<Growth> find_growth(const Trace& before, const Trace& after, std::size_t top);

}  // namespace tidemark
