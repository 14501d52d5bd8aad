// How long a measurement may take, and who ends it: of links as of disks.
#pragma once

#include <functional>

#include "core/base/result.h"
#include "core/base/units.h"

namespace tidemark {

struct MeasuringLimits {
    unsigned runs = 9;                          // at most
    Nanoseconds budget = 10'000'000'000;        // no run begins later; there is one always
    std::function<bool()> stop = {};            // asked between copies; may be empty
    std::function<void(double)> progress = {};  // the share of runs that are done; may be empty

    // Errors: cancelled: `stop` says so.
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
