// Whether what a history's columns say of each other is so: every number that is used as an index
// is one, and lists that are searched are in their order. Of columns that come from a file: a query
// of columns that fit reads nothing that isn't there, whatever the values are.
#pragma once

#include "replay/timeline/history_columns.h"

namespace tidemark {

// Of complete columns with these counts, which needn't be those of `columns`. O(events + blocks),
// on all cores.
bool columns_fit(const HistoryCounts& counts, const History::Columns& columns);

}  // namespace tidemark
