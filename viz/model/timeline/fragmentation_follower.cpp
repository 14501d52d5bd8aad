// Sweeping, and sweeping anew where a longer history shows that it was wrong.
#include "viz/model/timeline/fragmentation_follower.h"

#include <algorithm>
#include <utility>

namespace tidemark::viz {

std::shared_ptr<const FragmentationCurve> FragmentationFollower::look(
    const std::shared_ptr<const History>& history, bool wait) {
    if (history != history_) {
        job_.cancel();
        swept_ = nullptr;
        shown_ = nullptr;
        failed_ = false;
        history_ = history;
    }
    if (!history_)
        return nullptr;
    take(job_.take());
    while (lags() && !failed_) {
        if (!job_.running())
            start();
        if (!wait)
            break;
        take(job_.wait());
    }
    return shown_;
}

std::span<const HeldColumn> FragmentationFollower::columns(std::span<const SeriesColumn> of,
                                                           std::size_t request) {
    const std::size_t known = shown_ ? shown_->events() : 0;
    if (columns_of_ == shown_ && known_ == known && request_ == request)
        return columns_;
    columns_of_ = shown_;
    known_ = known;
    request_ = request;
    columns_.resize(shown_ ? of.size() : 0);
    if (shown_)
        shown_->columns(of, columns_);
    return columns_;
}

double FragmentationFollower::share() const {
    const std::size_t events = history_ ? history_->counts().events : 0;
    if (events == 0)
        return 1;
    const std::size_t known = swept_ ? swept_->events() : 0;
    return static_cast<double>(std::min(known, events)) / static_cast<double>(events);
}

bool FragmentationFollower::lags() const {
    return !shown_ || shown_ != swept_ || shown_->events() < history_->counts().events;
}

void FragmentationFollower::start() {
    if (!swept_) {
        auto curve = FragmentationCurve::create(history_);
        if (!curve) {
            failed_ = true;
            return;
        }
        swept_ = std::move(*curve);
    }
    job_.start([curve = swept_](const Cancelled& cancelled) {
        const Result<bool> right = curve->extend(cancelled);
        return !right ? Sweep::failed : *right ? Sweep::right : Sweep::wrong;
    });
}

void FragmentationFollower::take(std::optional<Sweep> sweep) {
    if (!sweep)
        return;
    if (*sweep == Sweep::right)
        shown_ = swept_;
    else if (*sweep == Sweep::wrong)
        swept_ = nullptr;
    else
        failed_ = true;
}

}  // namespace tidemark::viz
