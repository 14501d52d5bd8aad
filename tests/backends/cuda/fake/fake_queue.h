// The fake's streams: what is queued, and when it is done.
#pragma once

#include "tests/backends/cuda/fake/fake_state.h"

namespace tidemark::fake {

// The stream that a handle names in the current context (0 and 1 are its default stream, 2 is too),
// or null. `id` gets its number.
Stream* find_stream(cuda::CUstream handle, std::uint64_t& id);

// Queues work on a stream: it is done at once, or later (Config::by_hand). Work that is captured
// becomes a node instead.
Code enqueue(std::uint64_t stream, Operation operation);

// Where the stream stands now.
Point tip(std::uint64_t stream);

bool reached(Point point);

// Does what is queued up to the point, and what that waits for.
void finish(Point point);

// The same for all of a context's streams, or of all contexts (0).
void finish_all(std::uint64_t context);

// Up to `count` pieces of work whose turn it is; how many were done.
std::uint64_t progress(std::uint64_t count);

// Is there a capture that forbids this thread calls which may wait?
bool capture_forbids();

// A forbidden call was made: captures that it disturbs give no graph.
void invalidate_captures();

// The same for all captures; were there any?
bool spoil_all_captures();

// The first two at once: why such a call is refused, or success.
Code refuse_in_capture();

}  // namespace tidemark::fake
