// PoolEnvelopes: for each pool other than the default one (a CUDA graph's, say), by the stream that
// its memory was reserved for: what is reserved for it over time, and the most that its blocks have
// ever used at once. A graph keeps using memory that was freed while it was captured, so the high
// water mark, not what is allocated now, shows how much of the pool it needs.
//
// Immutable.
#pragma once

#include <vector>

#include "replay/timeline/history.h"
#include "viz/model/session/job.h"
#include "viz/model/timeline/level_pyramid.h"

namespace tidemark::viz {

struct PoolEnvelope {
    PoolId pool = PoolId::default_pool;
    StreamId stream = StreamId::default_stream;
    LevelPyramid reserved;    // over the axis' positions
    LevelPyramid high_water;  // the same; never falls
};

struct PoolQuestion {
    AxisUnit unit = AxisUnit::time;

    friend bool operator==(const PoolQuestion&, const PoolQuestion&) = default;
};

// Whether there may be any. O(1).
bool has_private_pools(const History& history);

// By pool, then stream. A segment belongs to its first block's pool; an empty one to none. O(events
// + segments * log segments), about 30 ns an event; it keeps what changes the envelopes. Cancelled:
// nothing.
std::vector<PoolEnvelope> pool_envelopes(const History& history, const PoolQuestion& question,
                                         const Cancelled& cancelled);

}  // namespace tidemark::viz
