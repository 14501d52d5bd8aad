// ReplayClock: the two numbers that make a virtual device's time while a recorded program is
// replayed on it. Plain fields, since they are touched at every event.
#pragma once

#include "core/base/units.h"

namespace tidemark {

struct ReplayClock {
    Nanoseconds recorded = 0;  // of the event at hand; never decreasing; stored by the replay
    Nanoseconds spent = 0;     // what calls and waits have cost so far; stored by the device

    // Costs push later events back, as they would on the machine.
    Nanoseconds now() const { return recorded + spent; }
};

}  // namespace tidemark
