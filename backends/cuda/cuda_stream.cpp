// The queue of a stream's unfinished points.
#include "backends/cuda/cuda_stream.h"

#include <algorithm>

namespace tidemark {

std::uint64_t CudaPoints::append(CudaEvent* event, bool captured) {
    ++last_;
    points_.push_back({last_, event, captured});
    captured_ += captured ? 1U : 0U;
    return last_;
}

std::uint64_t CudaPoints::append_passed() {
    pass(++last_);
    return last_;
}

const CudaPoint* CudaPoints::telling(std::uint64_t number) const {
    if (points_.empty())
        return nullptr;
    const auto found = std::lower_bound(
        points_.begin(), points_.end(), number,
        [](const CudaPoint& point, std::uint64_t wanted) { return point.number < wanted; });
    return found == points_.end() ? &points_.back() : &*found;
}

void CudaPoints::pass(std::uint64_t number) {
    if (!passed(number))
        passed_.store(number, std::memory_order_release);
    while (!points_.empty() && points_.front().number <= number) {
        captured_ -= points_.front().captured ? 1U : 0U;
        events_.give_back(points_.front().event);
        points_.pop_front();
    }
    ask_at_ = kAskFirst;
}

void CudaPoints::drop_captured() {
    if (captured_ == 0)
        return;
    std::erase_if(points_, [this](const CudaPoint& point) {
        if (point.captured)
            events_.give_back(point.event);
        return point.captured;
    });
    captured_ = 0;
}

void CudaPoints::make_room(CudaCall& call, bool may_ask) {
    if (points_.size() < std::min(ask_at_, kPointsMax))
        return;
    const CudaPoint& middle = points_[points_.size() / 2];
    if (may_ask && captured_ == 0 &&
        call.ask(call.driver().cuEventQuery, middle.event->native) == cuda::CUresult::success) {
        pass(middle.number);
        return;
    }
    ask_at_ = points_.size() * 2;
    if (points_.size() >= kPointsMax)
        merge();
}

void CudaPoints::merge() {
    std::deque<CudaPoint> kept;
    for (std::size_t i = 0; i < points_.size(); ++i) {
        const bool last = i + 1 == points_.size();
        // A captured point says nothing about a real one.
        if (i % 2 == 1 || last || points_[i].captured != points_[i + 1].captured)
            kept.push_back(points_[i]);
        else
            events_.give_back(points_[i].event);
    }
    captured_ = static_cast<std::size_t>(
        std::count_if(kept.begin(), kept.end(), [](const CudaPoint& p) { return p.captured; }));
    points_.swap(kept);
}

}  // namespace tidemark
