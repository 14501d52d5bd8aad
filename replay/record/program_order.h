// ProgramOrder: does a program free memory on a stream that nothing orders after the stream that
// used it last? The next owner of that memory may then write to it while it is still in use. That
// is a fault of the program under every allocator, not of the policy.
//
// A block's allocation and its uses are work of their streams; record_stream makes the allocator
// wait. Order is made by events that streams record and wait for, and by synchronizing. A recording
// without any of these can't say whether another stream was done.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/result.h"
#include "traces/model/trace.h"

namespace tidemark {

struct UnorderedFrees {
    std::uint64_t count = 0;
    // The first: the free, the use that isn't known to be over, and their streams.
    std::uint64_t free_event = 0;
    std::uint64_t use_event = 0;
    std::uint64_t free_stream = 0;  // the program's handles
    std::uint64_t use_stream = 0;
    bool has_order = false;  // the trace has events between streams, or waits of the program
};

// O(events * streams that use one block). Errors: those of the cursor.
Result<UnorderedFrees> find_unordered_frees(const Trace& trace);

// A sentence; "" where all is in order.
std::string to_text(const UnorderedFrees& frees);

}  // namespace tidemark
