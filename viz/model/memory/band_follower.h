// BandFollower: the bands of the window that is looked at, made in a job. While the camera moves
// the last answer stays, to be drawn stretched, and the running job is left to finish: the next one
// is for the camera's position then. The answer for the widest window stays as well, for the parts
// outside of the last one.
//
// The screen's thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/base/stopwatch.h"
#include "viz/model/memory/block_bands.h"
#include "viz/model/session/job.h"

namespace tidemark::viz {

class BandFollower {
  public:
    // Each frame, with what is in view; null: nothing. O(1).
    void look(const std::shared_ptr<const OwnerSeries>& series, const BandLook& look);

    // Waits until the answer is of the last look: for stills.
    void finish();

    bool busy() const { return job_.running(); }

    // The last answer, and one that is wider or the same; null: not yet.
    const std::shared_ptr<const BlockBands>& shown() const { return shown_; }

    const std::shared_ptr<const BlockBands>& wide() const { return wide_; }

    // Another number whenever one of them has changed.
    std::uint64_t revision() const { return revision_; }

  private:
    using Answer = std::shared_ptr<const BlockBands>;

    void take(std::optional<Answer> answer);
    void start();
    bool is_up_to_date() const;

    std::shared_ptr<const OwnerSeries> series_;
    BandLook look_;
    std::shared_ptr<BlockLevels> levels_;  // the job's, while it runs
    Answer shown_;
    Answer wide_;
    std::uint64_t revision_ = 0;
    Stopwatch since_start_;
    Stopwatch since_end_;
    Nanoseconds cost_ = 0;
    Job<Answer> job_;  // the last member: it ends before what it works on
};

}  // namespace tidemark::viz
