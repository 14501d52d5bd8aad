// OwnerFollower: who holds the memory of the run that is shown, computed in a job and extended
// while its history grows.
//
// The screen's thread only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "replay/timeline/owner_series.h"
#include "viz/model/session/job.h"
#include "viz/model/session/session.h"

namespace tidemark::viz {

class OwnerFollower {
  public:
    // The owners of `history`'s memory by `trait`; blocks that the filter hides are one owner. Null
    // until everything so far has been swept for the first time; while other owners are requested,
    // the earlier ones. With `wait` it is the requested ones. O(1) without.
    std::shared_ptr<const OwnerSeries> look(const std::shared_ptr<const History>& history,
                                            BlockTrait trait, const Filter& filter, bool wait);

    // The last answer of look(), in the columns that History::series gave: moments, and owners()
    // bytes for each. `request` has another number whenever they have changed. Valid until the next
    // call.
    void columns(std::span<const SeriesColumn> of, std::size_t request);

    std::span<const EventIndex> moments() const { return moments_; }

    std::span<const Bytes> bytes() const { return bytes_; }

    bool busy() const { return job_.running(); }

    // The disk is full: what isn't known stays unknown.
    bool failed() const { return failed_; }

  private:
    // What a series was made of.
    struct Question {
        BlockTrait trait = BlockTrait::tag;
        Filter filter;
        std::size_t sites = 0;    // whose classes it knows
        std::size_t strings = 0;  // the same

        friend bool operator==(const Question&, const Question&) = default;
    };

    struct Answer {
        std::shared_ptr<OwnerSeries> series;  // null: failed, or cancelled
        bool right = false;
    };

    void take(std::optional<Answer> answer);
    void start();
    bool is_up_to_date() const;

    static Answer make(const std::shared_ptr<const History>& history, const Question& question,
                       const Cancelled& cancelled);

    std::shared_ptr<const History> history_;
    Question question_;
    std::optional<Question> swept_for_;
    std::shared_ptr<OwnerSeries> swept_;  // of swept_for_; null: to be made
    std::shared_ptr<const OwnerSeries> shown_;
    std::size_t wrong_at_ = 0;  // events of the history when a series was last found to be wrong
    bool failed_ = false;
    std::vector<EventIndex> moments_;
    std::vector<Bytes> bytes_;
    std::shared_ptr<const OwnerSeries> columns_of_;
    std::size_t known_ = 0;  // events, when the columns were made
    std::size_t request_ = 0;
    Job<Answer> job_;  // the last member: it ends before what it works on
};

}  // namespace tidemark::viz
