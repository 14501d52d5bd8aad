// How long a measurement may take, and what ends it: for links and for disks.
#pragma once

#include <functional>

#include "core/base/result.h"
#include "core/base/units.h"

namespace tidemark {

struct MeasuringLimits {
    unsigned runs = 9;                          // at most
    Nanoseconds budget = 10'000'000'000;        // no run starts later; there is always one
    std::function<bool()> stop = {};            // called between copies; may be empty
    std::function<void(double)> progress = {};  // the share of runs that are done; may be empty

    // Errors: cancelled: `stop` returned true.
    Result<void> go_on() const {
        if (stop && stop())
            return fail(ErrorCode::cancelled, "interrupted");
        return {};
    }

    void show(unsigned done) const {
        if (progress)
            progress(static_cast<double>(done) / runs);
    }
};

}  // namespace tidemark
