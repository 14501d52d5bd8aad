// PeakSpread: where the peak of reserved memory lies when a program with several streams is run
// again and again.
#pragma once

#include "core/base/units.h"

namespace tidemark {

// Nine of ten runs lie from p5 to p95, and the replay with completions as recorded.
struct PeakSpread {
    Bytes p5 = 0;
    Bytes p50 = 0;
    Bytes p95 = 0;
    unsigned runs = 0;  // replays that it was taken from

    friend bool operator==(const PeakSpread&, const PeakSpread&) = default;
};

}  // namespace tidemark
