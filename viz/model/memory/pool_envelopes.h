// PoolEnvelopes: of each pool other than the default one (a CUDA graph's, say), by the stream that
// its memory was taken for: what is reserved for it over time, and the most that its blocks have
// ever taken at once. A graph goes on using what was let go while it was captured, so that the high
// water, not what is allocated now, says how much of the pool it needs.
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
    LevelPyramid high_water;  // likewise; never falls
};

struct PoolQuestion {
    AxisUnit unit = AxisUnit::time;

    friend bool operator==(const PoolQuestion&, const PoolQuestion&) = default;
};

// Whether there may be any. O(1).
bool has_private_pools(const History& history);

// By pool, then stream. A segment is its first block's; one that holds none is nobody's. O(events +
// segments * log segments), some 30 ns an event; it keeps what changes the envelopes. Cancelled:
// nothing.
std::vector<PoolEnvelope> pool_envelopes(const History& history, const PoolQuestion& question,
                                         const Cancelled& cancelled);

}  // namespace tidemark::viz
