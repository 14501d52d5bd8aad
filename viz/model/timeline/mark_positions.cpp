// Rows of marks by kind.
#include "viz/model/timeline/mark_positions.h"

#include <algorithm>

namespace tidemark::viz {
bool MarkPositions::follow(const std::shared_ptr<const History>& history, std::size_t most) {
    if (history_ != history) {
        *this = {};
        history_ = history;
    }
    const std::size_t there = history->counts().marks;
    const std::size_t until = std::min(there, taken_ + most);
    for (; taken_ < until; ++taken_) {
        const auto kind = static_cast<std::size_t>(history->mark(taken_).kind);
        if (kind < kMarkKinds)
            rows_[kind].push_back(static_cast<std::uint32_t>(taken_));
    }
    return taken_ < there;
}

std::vector<MergedRange> MarkPositions::ranges(MarkKind kind, AxisUnit unit, const Window& window,
                                               Position cell) const {
    const Row& row = of(kind);
    const std::size_t events = history_->counts().events;
    // A mark after the last event is shown at the end.
    const auto position = [&](std::size_t i) {
        const EventIndex event = history_->mark(row[i]).event;
        return event < events ? history_->position(unit, event) : history_->end(unit);
    };
    return merge_ranges(row.size(), position, position, window, cell);
}

}  // namespace tidemark::viz
