// The axis on which a run is easiest to read at first: time, as the program ran, or events, if time
// makes all peaks so narrow that they can't be told apart. A training run that loads its model for
// a minute and then runs ten short steps is an example.
#pragma once

#include "replay/timeline/history.h"

namespace tidemark::facts {

// Events, if less than a fiftieth of the time has half of the peak of allocated memory or more, and
// this is at least five times as wide by events; else time. For histories that are complete.
// O(1024 * log events), thread-safe.
AxisUnit readable_axis(const History& history);

}  // namespace tidemark::facts
