// The address map of a run for the page: occupancy of addresses over time, in bytes that compress
// well, with the addresses behind its rows.
#pragma once

#include <cstdint>

#include "replay/report/forms/json_values.h"
#include "replay/timeline/history.h"
#include "traces/model/trace.h"

namespace tidemark::report {

struct MapSize {
    std::uint32_t columns = 1024;
    std::uint32_t rows = 384;
};

// {"bytes", "pieces", "classes", "time", "events"}: the axis' length, which addresses lie where on
// it, what the colours mean, and a bitmap for each unit of the horizontal axis, packed: a plane
// of shares taken, one of shares with memory, one of classes. null for a run without addresses.
// O(blocks + cells). `cancelled` may be empty; after it said so, the map shows a part.
Json map_json(const History& history, MapSize size, const Cancelling& cancelled);

}  // namespace tidemark::report
