// Leaks: what a stretch of a run allocated and did not free, by call site. Some of it is meant to
// stay; what appears again in each of several steps is not.
//
// Pure; for jobs: O(live at the end + sites).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "replay/timeline/history.h"
#include "viz/model/session/job.h"
#include "viz/model/session/moment.h"
#include "viz/model/session/session.h"

namespace tidemark::viz {

// The blocks of one stack and tag.
struct LeakGroup {
    std::uint32_t stack = 0;
    std::uint32_t tag = 0;
    std::string name;  // of the site
    std::uint64_t blocks = 0;
    Bytes bytes = 0;
    BlockIndex oldest = kNoBlock;
    BlockIndex youngest = kNoBlock;
};

struct Leaks {
    EventSpan span;
    std::vector<LeakGroup> groups;  // the most bytes first
    std::uint64_t blocks = 0;
    Bytes bytes = 0;
    std::uint64_t lost = 0;  // events that are missing in the stretch: some blocks may have been
                             // freed, and others are not listed
};

// Blocks that were allocated in `span` and that the program holds at its end. Cancelled: empty.
Leaks find_leaks(const History& history, const EventSpan& span, const Filter& filter,
                 const Cancelled& cancelled);

// The same as a table of text, for the clipboard.
std::string leaks_text(const History& history, const Leaks& leaks);

}  // namespace tidemark::viz
