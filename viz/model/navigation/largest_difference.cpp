// Best first: the stretch that may contain the largest difference is cut next.
#include "viz/model/navigation/largest_difference.h"

#include <algorithm>
#include <array>
#include <queue>

#include "viz/model/timeline/timeline_columns.h"

namespace tidemark::viz {
namespace {

constexpr std::size_t kDifferenceCuts = 64;

struct BoundedStretch {
    Window window;
    Bytes bound = 0;  // no difference within is larger

    // The largest bound on top of a queue, the first of equals.
    bool operator<(const BoundedStretch& other) const {
        return bound != other.bound ? bound < other.bound : window.begin > other.window.begin;
    }
};

Bytes above(Bytes one, Bytes other) {
    return one > other ? one - other : 0;
}

class LargestSearch {
  public:
    LargestSearch(const History& one, const History& other, Series series, AxisUnit unit)
        : one_(one), other_(other), series_(series), unit_(unit) {}

    std::optional<LargestDifference> run(const Cancelled& cancelled) {
        const Position end = std::min(one_.end(unit_), other_.end(unit_));
        stretches_.push({{std::min(begin_of(one_), begin_of(other_)), end}, ~Bytes{0}});
        while (!stretches_.empty()) {
            if (cancelled.load(std::memory_order_relaxed))
                return {};
            const BoundedStretch stretch = stretches_.top();
            stretches_.pop();
            const bool is_later = stretch.window.begin >= best_.position;
            if (stretch.bound < most_ || (stretch.bound == most_ && is_later))
                break;
            cut(stretch.window);
        }
        return most_ > 0 ? std::optional(best_) : std::nullopt;
    }

  private:
    // Times may be negative.
    Position begin_of(const History& history) const {
        return history.counts().events == 0 ? 0 : std::min<Position>(history.position(unit_, 0), 0);
    }

    void cut(const Window& window) {
        const auto count =
            std::min<std::size_t>(kDifferenceCuts, static_cast<std::size_t>(window.length()));
        const auto of_one = std::span(of_one_).first(count);
        const auto of_other = std::span(of_other_).first(count);
        one_.series(unit_, window.begin, window.end, of_one);
        other_.series(unit_, window.begin, window.end, of_other);
        for (std::size_t i = 0; i < count; ++i) {
            const Window part{column_edge(window.begin, window.end, i, count),
                              column_edge(window.begin, window.end, i + 1, count)};
            take(part, of_one[i], of_other[i]);
        }
    }

    // The values on leaving the column are exact; in a longer one there may be more.
    void take(const Window& part, const SeriesColumn& one, const SeriesColumn& other) {
        if (one.events == 0 && other.events == 0)
            return consider(part.begin, one.last[series_], other.last[series_]);
        if (part.length() <= 1)
            return consider(part.begin, one.last[series_], other.last[series_]);
        const Bytes bound = std::max(above(one.max[series_], other.min[series_]),
                                     above(other.max[series_], one.min[series_]));
        if (bound >= most_ && bound > 0)
            stretches_.push({part, bound});
    }

    void consider(Position position, Bytes one, Bytes other) {
        const Bytes bytes = std::max(above(one, other), above(other, one));
        if (bytes < most_ || bytes == 0 || (bytes == most_ && position >= best_.position))
            return;
        most_ = bytes;
        best_ = {position, one > other ? static_cast<std::int64_t>(bytes)
                                       : -static_cast<std::int64_t>(bytes)};
    }

    const History& one_;
    const History& other_;
    Series series_;
    AxisUnit unit_;
    std::priority_queue<BoundedStretch> stretches_;
    Bytes most_ = 0;
    LargestDifference best_;
    std::array<SeriesColumn, kDifferenceCuts> of_one_;
    std::array<SeriesColumn, kDifferenceCuts> of_other_;
};

}  // namespace

std::optional<LargestDifference> largest_difference(const History& one, const History& other,
                                                    Series series, AxisUnit unit,
                                                    const Cancelled& cancelled) {
    return LargestSearch(one, other, series, unit).run(cancelled);
}

}  // namespace tidemark::viz
