// LiveGrowth: what a live program holds now and how it grows, computed once a second and kept in
// between. The screen's thread only.
#pragma once

#include <memory>
#include <optional>

#include "viz/model/session/session.h"
#include "viz/model/timeline/growth.h"

namespace tidemark::viz {

class LiveGrowth {
  public:
    // Of a run with a history and a live program. `elapsed` seconds since the start; `exact`:
    // works it out in any case.
    void update(const ViewedRun& run, const StepIndex& steps, double elapsed, bool exact);

    // What it holds now, or did at its end, or when it was paused.
    const SeriesValues& values() const { return values_; }

    // None if there is too little to compare.
    const std::optional<RunGrowth>& growth() const { return growth_; }

    // The memory of its devices beyond what it reserves; none if their size isn't known.
    std::optional<Bytes> free() const;

    // Of all devices together, or the limit of its allocators if that is less; 0: not known.
    Bytes capacity() const { return capacity_; }

    // Until all of that is reserved.
    std::optional<TimeLeft> full_in() const;

  private:
    std::shared_ptr<const History> history_;
    double worked_out_at_ = 0;
    Nanoseconds now_ = -1;
    SeriesValues values_;
    Bytes capacity_ = 0;
    std::optional<RunGrowth> growth_;
};

}  // namespace tidemark::viz
