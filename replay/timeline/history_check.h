// Whether a history's columns agree with each other: every number that is used as an index is a
// valid one, and lists that are searched are sorted. For columns that come from a file: if they
// pass, no query reads out of bounds, whatever the values are.
#pragma once

#include "replay/timeline/history_columns.h"

namespace tidemark {

// Of complete columns with these counts, which needn't be those of `columns`. O(events + blocks),
// on all cores.
bool columns_fit(const HistoryCounts& counts, const History::Columns& columns);

}  // namespace tidemark
