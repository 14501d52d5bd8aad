// Decides when to look again.
#include "viz/shell/live_growth.h"

#include <algorithm>

namespace tidemark::viz {
namespace {

constexpr double kGrowthEvery = 1;  // seconds

// The moment that is looked at: while the program is followed, time goes on without events.
Nanoseconds now_of(const ViewedRun& run) {
    const Nanoseconds last = run.history->end(AxisUnit::time);
    return run.live->alive && !run.live->paused ? std::max(last, run.live->now) : last;
}

}  // namespace

void LiveGrowth::update(const ViewedRun& run, const StepIndex& steps, double elapsed, bool exact) {
    const History& history = *run.history;
    const std::size_t events = history.counts().events;
    values_ = events == 0 ? SeriesValues{} : history.values(static_cast<EventIndex>(events - 1));
    const Bytes limit = history.limit();
    capacity_ = limit > 0 ? std::min(limit, history.capacity()) : history.capacity();
    const Nanoseconds now = now_of(run);
    const bool is_due = elapsed - worked_out_at_ >= kGrowthEvery || elapsed < worked_out_at_;
    if (!exact && history_ == run.history && (now == now_ || !is_due))
        return;
    history_ = run.history;
    now_ = now;
    worked_out_at_ = elapsed;
    growth_ = growth_of(history, steps, now);
}

std::optional<Bytes> LiveGrowth::free() const {
    if (capacity_ == 0)
        return std::nullopt;
    return capacity_ - std::min(capacity_, values_[Series::reserved]);
}

// Reserved memory decides; while it absorbs growth without growing itself, because it has free
// blocks, allocated memory shows for how long it can.
std::optional<TimeLeft> LiveGrowth::full_in() const {
    if (!growth_ || capacity_ == 0)
        return std::nullopt;
    for (const Series series : {Series::reserved, Series::allocated}) {
        const Growth& growth = growth_->of(series);
        if (growth.certain)
            return time_left(growth, capacity_ - std::min(capacity_, values_[series]));
    }
    return std::nullopt;
}

}  // namespace tidemark::viz
