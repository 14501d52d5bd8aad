// PeakSpread: the range of the peak of reserved memory when a program with several streams is run
// repeatedly.
#pragma once

#include "core/base/units.h"

namespace tidemark {

// 90 % of the runs, and the replay with completions as recorded, are from p5 to p95.
struct PeakSpread {
    Bytes p5 = 0;
    Bytes p50 = 0;
    Bytes p95 = 0;
    unsigned runs = 0;  // replays that it was taken from

    friend bool operator==(const PeakSpread&, const PeakSpread&) = default;
};

}  // namespace tidemark
