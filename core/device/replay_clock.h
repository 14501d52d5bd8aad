// ReplayClock: the two numbers that make up a virtual device's time while a recorded program is
// replayed on it. Plain fields, since every event touches them.
#pragma once

#include <limits>

#include "core/base/units.h"

namespace tidemark {

struct ReplayClock {
    Nanoseconds recorded = 0;  // of the current event; never decreasing; stored by the replay
    Nanoseconds spent = 0;     // what calls and waits have cost so far; stored by the device

    // Costs push later events back, as they would on the machine. A recording may contain any time;
    // times beyond the last possible one stay there.
    Nanoseconds now() const {
        Nanoseconds sum = 0;
        if (__builtin_add_overflow(recorded, spent, &sum)) [[unlikely]]
            return std::numeric_limits<Nanoseconds>::max();
        return sum;
    }
};

}  // namespace tidemark
