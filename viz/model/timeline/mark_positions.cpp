// Rows of marks by kind.
#include "viz/model/timeline/mark_positions.h"

#include <algorithm>

namespace tidemark::viz {
namespace {

struct MarkRanges {
    const History& history;
    const std::vector<std::uint32_t>& row;
    AxisUnit unit;
    std::size_t events;

    std::size_t size() const { return row.size(); }

    // A mark behind the last event stands at the end.
    Position begin(std::size_t i) const {
        const EventIndex event = history.mark(row[i]).event;
        return event < events ? history.position(unit, event) : history.end(unit);
    }

    Position end(std::size_t i) const { return begin(i); }
};

}  // namespace

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
    std::vector<MergedRange> merged;
    merge_ranges(MarkRanges{*history_, of(kind), unit, history_->counts().events}, window, cell,
                 merged);
    return merged;
}

}  // namespace tidemark::viz
