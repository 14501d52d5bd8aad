// Where a curve first passes a height.
#pragma once

#include "replay/timeline/history.h"

namespace tidemark {

// The first event after which `series` is above `bytes`; kNever if there is none.
// O(log events), and 64 values at its end.
EventIndex first_above(const History& history, Series series, Bytes bytes);

}  // namespace tidemark
