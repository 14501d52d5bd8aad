// Stopwatch: how long our own work takes, for figures about Tidemark itself. The only user of the
// wall clock; none of its values may reach a result that must be the same on every machine. A plain
// value. Thread-safe to read.
#pragma once

#include <chrono>

#include "core/base/units.h"

namespace tidemark {

class Stopwatch {
  public:
    // Since construction; never negative, never decreasing.
    Nanoseconds elapsed() const {
        return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin_).count();
    }

  private:
    using Clock = std::chrono::steady_clock;

    Clock::time_point begin_ = Clock::now();
};

}  // namespace tidemark
