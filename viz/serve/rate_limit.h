// RateLimit: limits how often something may happen: a burst of this many at once, and then this
// many a second.
#pragma once

#include <algorithm>

namespace tidemark::viz {

class RateLimit {
  public:
    RateLimit(double per_second, double at_once)
        : per_second_(per_second), at_once_(at_once), left_(at_once) {}

    // At `now`, in seconds of any clock that doesn't go back; false if it is too often.
    bool take(double now) {
        left_ = std::min(at_once_, left_ + (now - last_) * per_second_);
        last_ = now;
        if (left_ < 1)
            return false;
        left_ -= 1;
        return true;
    }

  private:
    double per_second_;
    double at_once_;
    double left_;
    double last_ = 0;
};

}  // namespace tidemark::viz
