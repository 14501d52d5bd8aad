// Frees that a recording marks by their tag: what ended with its context, for instance.
#pragma once

#include <cstdint>
#include <string_view>

#include "traces/model/trace.h"

namespace tidemark {

struct TaggedFrees {
    std::uint64_t count = 0;
    Bytes bytes = 0;  // requested
};

// Those with that tag. O(events), memory O(slots). Errors: those of reading the trace.
Result<TaggedFrees> tagged_frees(const Trace& trace, std::string_view tag);

}  // namespace tidemark
