// Decides when bands are made again.
#include "viz/model/memory/band_follower.h"

#include <algorithm>
#include <utility>

namespace tidemark::viz {
namespace {

constexpr Nanoseconds kBandRest = 4;                // times the last answer's cost
constexpr Nanoseconds kLeastBandRest = 50'000'000;  // between two answers of a run that grows

}  // namespace

void BandFollower::look(const std::shared_ptr<const OwnerSeries>& series, const BandLook& look) {
    const bool another = !series || (shown_ && &shown_->series->history() != &series->history());
    if (another) {
        job_.cancel();
        levels_ = nullptr;
        shown_ = nullptr;
        wide_ = nullptr;
        ++revision_;
    }
    series_ = series;
    look_ = look;
    take(job_.take());
    if (!series_ || job_.running() || is_up_to_date())
        return;
    start();
    take(job_.take());  // without a thread, the answer is ready now
}

void BandFollower::finish() {
    take(job_.wait());
    while (series_ && !(shown_ && shown_->series == series_ && shown_->look == look_)) {
        start();
        take(job_.wait());
    }
}

bool BandFollower::is_up_to_date() const {
    if (!shown_ || shown_->series != series_ || shown_->look != look_)
        return false;
    return shown_->events == series_->events() ||
           since_end_.elapsed() < std::max(kLeastBandRest, kBandRest * cost_);
}

void BandFollower::start() {
    since_start_ = {};
    const bool fits =
        levels_ && &levels_->history() == &series_->history() && levels_->unit() == look_.unit;
    if (!fits)
        levels_ = std::make_shared<BlockLevels>(
            std::shared_ptr<const History>(series_, &series_->history()), look_.unit);
    job_.start([series = series_, levels = levels_, look = look_](const Cancelled& cancelled) {
        levels->extend(cancelled);
        std::optional<BlockBands> bands = make_bands(series, *levels, look, cancelled);
        return bands ? std::make_shared<const BlockBands>(std::move(*bands)) : Answer();
    });
}

void BandFollower::take(std::optional<Answer> answer) {
    if (!answer || !*answer)
        return;
    cost_ = since_start_.elapsed();
    since_end_ = {};
    shown_ = std::move(*answer);
    const bool wider = !wide_ || wide_->series != shown_->series ||
                       wide_->look.unit != shown_->look.unit ||
                       wide_->look.window.length() <= shown_->look.window.length();
    if (wider)
        wide_ = shown_;
    ++revision_;
}

}  // namespace tidemark::viz
