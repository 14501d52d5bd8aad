// Extremes of runs of changes.
#include "viz/model/timeline/level_pyramid.h"

#include <algorithm>

#include "viz/model/timeline/timeline_columns.h"

namespace tidemark::viz {

LevelPyramid::LevelPyramid(std::vector<Change> changes) : changes_(std::move(changes)) {
    std::size_t below = changes_.size();
    while (below > kFanOut) {
        const std::size_t level = levels_.size();
        std::vector<Extremes> runs((below + kFanOut - 1) / kFanOut);
        for (std::size_t i = 0; i < runs.size(); ++i) {
            runs[i] = node(level, i * kFanOut);
            for (std::size_t j = i * kFanOut; j < std::min(below, (i + 1) * kFanOut); ++j) {
                runs[i].min = std::min(runs[i].min, node(level, j).min);
                runs[i].max = std::max(runs[i].max, node(level, j).max);
            }
        }
        below = runs.size();
        levels_.push_back(std::move(runs));
    }
}

LevelPyramid::Extremes LevelPyramid::node(std::size_t level, std::size_t index) const {
    return level == 0 ? Extremes{changes_[index].value, changes_[index].value}
                      : levels_[level - 1][index];
}

std::size_t LevelPyramid::first_at(Nanoseconds time) const {
    return static_cast<std::size_t>(std::ranges::lower_bound(changes_, time, {}, &Change::time) -
                                    changes_.begin());
}

Bytes LevelPyramid::at(Nanoseconds time) const {
    const std::size_t next = first_at(time + 1);
    return next == 0 ? 0 : changes_[next - 1].value;
}

Nanoseconds LevelPyramid::peak_time() const {
    const auto peak = std::ranges::max_element(changes_, {}, &Change::value);
    return peak == changes_.end() ? 0 : peak->time;
}

// Walks [first, last) in the largest runs that fit.
LevelPyramid::Extremes LevelPyramid::within(std::size_t first, std::size_t last,
                                            Extremes so_far) const {
    const auto take = [&](const Extremes& run) {
        so_far.min = std::min(so_far.min, run.min);
        so_far.max = std::max(so_far.max, run.max);
    };
    std::size_t level = 0;
    while (first < last) {
        for (; first < last && first % kFanOut != 0; ++first)
            take(node(level, first));
        const bool deeper = level < levels_.size() && last - first >= kFanOut;
        if (!deeper) {
            for (; first < last; ++first)
                take(node(level, first));
            break;
        }
        for (; last % kFanOut != 0; --last)
            take(node(level, last - 1));
        first /= kFanOut;
        last /= kFanOut;
        ++level;
    }
    return so_far;
}

void LevelPyramid::columns(Nanoseconds begin, Nanoseconds end,
                           std::span<LevelColumn> columns) const {
    std::size_t first = first_at(begin);
    Bytes value = first == 0 ? 0 : changes_[first - 1].value;
    for (std::size_t i = 0; i < columns.size(); ++i) {
        const std::size_t next = first_at(column_edge(begin, end, i + 1, columns.size()));
        const Extremes found = within(first, next, {value, value});
        if (next > first)
            value = changes_[next - 1].value;
        columns[i] = {found.min, found.max, value};
        first = next;
    }
}

}  // namespace tidemark::viz
