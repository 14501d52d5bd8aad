// Sweeps, and sweeps again where a longer history shows that the curve was wrong.
#include "viz/model/timeline/fragmentation_follower.h"

#include <algorithm>
#include <utility>

#include "replay/scenario/kept_fragmentation.h"

namespace tidemark::viz {

std::shared_ptr<const FragmentationCurve> FragmentationFollower::look(
    const std::shared_ptr<const History>& history, bool wait) {
    if (history != history_) {
        job_.cancel();
        swept_ = nullptr;
        shown_ = nullptr;
        failed_ = false;
        is_settled_ = false;
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
    return !shown_ || shown_ != swept_ || shown_->events() < history_->counts().events ||
           (!is_settled_ && !history_->kept_in().empty());
}

FragmentationFollower::Sweep FragmentationFollower::sweep(
    std::shared_ptr<FragmentationCurve> curve, const std::shared_ptr<const History>& history,
    const Cancelled& cancelled) {
    using End = Sweep::End;
    const bool can_be_kept = !history->kept_in().empty();  // then it is complete
    if (can_be_kept && curve->events() == 0)
        if (auto kept = open_fragmentation(history, cancelled))
            return {End::right, std::move(kept), true};
    const std::size_t before = curve->events();
    const Result<bool> right = curve->extend(cancelled);
    if (!right || !*right)
        return {right ? End::wrong : End::failed, nullptr, false};
    // It is shown before the next job keeps it.
    if (!can_be_kept || curve->events() < history->counts().events || curve->events() > before)
        return {End::right, std::move(curve), false};
    // Without room for it, or the right to write there, it is swept again the next time.
    if (keep_fragmentation(*curve, *history, cancelled))
        if (auto kept = open_fragmentation(history, cancelled))
            curve = std::move(kept);  // the files without a name go
    return {End::right, std::move(curve), true};
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
    job_.start([curve = swept_, history = history_](const Cancelled& cancelled) {
        return sweep(curve, history, cancelled);
    });
}

void FragmentationFollower::take(std::optional<Sweep> sweep) {
    if (!sweep)
        return;
    if (sweep->end == Sweep::End::right)
        shown_ = swept_ = std::move(sweep->curve);
    else if (sweep->end == Sweep::End::wrong)
        swept_ = nullptr;
    else
        failed_ = true;
    is_settled_ = is_settled_ || sweep->is_settled;
}

}  // namespace tidemark::viz
