// FragmentationFollower: the fragmentation of the run that is shown: kept with its history, else
// swept in a job, extended while the history grows, and kept when all of it is known.
//
// The screen's thread only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "replay/timeline/fragmentation_curve.h"
#include "viz/model/session/job.h"

namespace tidemark::viz {

class FragmentationFollower {
  public:
    // The curve of `history`: null until everything so far has been swept for the first time. For a
    // growing history the last events may be missing. With `wait` none is. O(1) without.
    std::shared_ptr<const FragmentationCurve> look(const std::shared_ptr<const History>& history,
                                                   bool wait);

    // The last answer of look(), in the columns that History::series gave; none as long as there is
    // no curve. `request` has another number whenever they have changed: the answer is kept while
    // it is the same and no more is known. Valid until the next call.
    std::span<const HeldColumn> columns(std::span<const SeriesColumn> of, std::size_t request);

    // How far the sweep is: 0 to 1.
    double share() const;

    bool busy() const { return job_.running(); }

    // The disk is full: what isn't known stays unknown.
    bool failed() const { return failed_; }

  private:
    // The result of a job. The curve is that of `swept_`, or one that needed no sweep.
    struct Sweep {
        enum class End : std::uint8_t { right, wrong, failed };

        End end = End::right;
        std::shared_ptr<FragmentationCurve> curve;
        bool is_settled = false;  // it is kept, or can't be
    };

    static Sweep sweep(std::shared_ptr<FragmentationCurve> curve,
                       const std::shared_ptr<const History>& history, const Cancelled& cancelled);
    void start();
    void take(std::optional<Sweep> sweep);
    bool lags() const;

    std::shared_ptr<const History> history_;
    std::shared_ptr<FragmentationCurve> swept_;
    std::shared_ptr<const FragmentationCurve> shown_;
    std::vector<HeldColumn> columns_;
    std::shared_ptr<const FragmentationCurve> columns_of_;
    std::size_t known_ = 0;  // events, when columns_ were made
    std::size_t request_ = 0;
    bool failed_ = false;
    bool is_settled_ = false;  // nothing is to be kept any longer
    Job<Sweep> job_;           // the last member: it ends before what it works on
};

}  // namespace tidemark::viz
