// Sums of stretches.
#include "viz/model/timeline/busy_time.h"

#include <algorithm>

#include "viz/model/timeline/timeline_columns.h"

namespace tidemark::viz {

void BusyTime::add(Nanoseconds begin, Nanoseconds end) {
    if (!ends_.empty())
        begin = std::max(begin, ends_.back());
    if (begin >= end)
        return;
    before_.push_back(total());
    begins_.push_back(begin);
    ends_.push_back(end);
}

Nanoseconds BusyTime::total() const {
    return before_.empty() ? 0 : before_.back() + (ends_.back() - begins_.back());
}

std::size_t BusyTime::begun_before(Nanoseconds time) const {
    return static_cast<std::size_t>(std::lower_bound(begins_.begin(), begins_.end(), time) -
                                    begins_.begin());
}

Nanoseconds BusyTime::before(Nanoseconds time) const {
    const std::size_t begun = begun_before(time);
    if (begun == 0)
        return 0;
    return before_[begun - 1] + std::min(time, ends_[begun - 1]) - begins_[begun - 1];
}

void BusyTime::add_columns(Nanoseconds begin, Nanoseconds end,
                           std::span<Nanoseconds> columns) const {
    Nanoseconds so_far = before(begin);
    for (std::size_t i = 0; i < columns.size(); ++i) {
        const Nanoseconds next = before(column_edge(begin, end, i + 1, columns.size()));
        columns[i] += next - so_far;
        so_far = next;
    }
}

}  // namespace tidemark::viz
