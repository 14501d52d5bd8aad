// The fake's stream-ordered memory, and what of graphs' own allocations is like it.
//
// Model: a pool holds pieces of 64 KiB and more, each handed out whole. A piece that is freed may
// be handed out at once to the stream that freed it, and to others when the free's point has
// passed. What a pool holds beyond its threshold goes back when somebody waits.
#pragma once

#include "tests/backends/cuda/fake/fake_state.h"

namespace tidemark::fake {

// Memory of a pool for a stream; 0 when there is none.
std::uint64_t take_from_pool(std::uint64_t pool, std::uint64_t size, std::uint64_t stream);

// The piece is free for the stream now, for others when it has done its work so far.
Code free_on_stream(std::uint64_t address, std::uint64_t stream);

// Is none of the range memory that a pool holds and nobody has? Memory that was freed on a stream
// is nobody's for what is queued from then on.
bool granted(std::uint64_t address, std::uint64_t size);

// Frees what cuMemFree is given, if it is stream-ordered memory.
bool free_now(std::uint64_t address);

// Gives unused memory back until no more than `keep` bytes are held.
void trim_pool(std::uint64_t pool, std::uint64_t keep);

// Ends a pool: at once, or when the last of its memory is freed, or its device's context dies.
void end_pool(std::uint64_t pool);
void end_doomed_pools(int device);

// What a wait ends with: pools give back, and a fault that happened meanwhile is told.
Code after_waiting(const Context& context);

// An address for a graph's node that allocates; 0 when there is no room. Bytes come with a launch.
std::uint64_t take_graph_block(int device, std::uint64_t size);

}  // namespace tidemark::fake
