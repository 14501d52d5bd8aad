// What is placed is kept by address, so that the lowest room is the first one met.
#include "replay/analysis/bound/ordered_fit.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/capture/holes.h"

namespace tidemark {
namespace {

struct Placed {
    Bytes offset;
    Bytes end;
    MomentRange range;
};

bool lower(const Placed& a, const Placed& b) {
    return a.offset < b.offset;
}

// What has been placed, by spans of moments: a span knows every interval that is live in it, by
// offset, so that most intervals look into one or two.
class Shelves {
  public:
    Shelves(const Moments& moments, std::size_t intervals) {
        std::uint64_t live = 0;
        for (const std::uint32_t count : moments.live)
            live += count;
        const std::uint64_t count = moments.live.size();
        // A span in which as many begin as are live at once: there are then about two entries for
        // each interval, and a search is as short as possible.
        width_ = static_cast<std::uint32_t>(live / std::max<std::size_t>(intervals, 1)) + 1;
        spans_.resize(count / width_ + 1);
    }

    Bytes put(MomentRange range, Bytes size) {
        const std::uint32_t first = range.first / width_;
        const std::uint32_t last = (range.last - 1) / width_;
        Bytes offset = 0;
        if (first == last) {
            offset = lowest(spans_[first], range, size);
        } else {
            met_.clear();
            for (std::uint32_t span = first; span <= last; ++span)
                for (const Placed& placed : spans_[span])
                    if (placed.range.first < range.last && range.first < placed.range.last &&
                        (span == first || placed.range.first / width_ == span))
                        met_.push_back(placed);
            std::sort(met_.begin(), met_.end(), lower);
            offset = lowest(met_, range, size);
        }
        const Placed placed{offset, offset + size, range};
        for (std::uint32_t span = first; span <= last; ++span)
            spans_[span].insert(
                std::upper_bound(spans_[span].begin(), spans_[span].end(), placed, lower), placed);
        return offset;
    }

  private:
    static Bytes lowest(const std::vector<Placed>& by_offset, MomentRange range, Bytes size) {
        Bytes offset = 0;
        for (const Placed& placed : by_offset) {
            if (placed.range.first >= range.last || range.first >= placed.range.last)
                continue;
            if (placed.offset >= offset + size)
                break;
            offset = std::max(offset, placed.end);
        }
        return offset;
    }

    std::uint32_t width_ = 1;
    std::vector<std::vector<Placed>> spans_;
    std::vector<Placed> met_;
};

std::vector<std::uint32_t> numbers_by(std::span<const Interval> intervals,
                                      std::int64_t Interval::*at) {
    std::vector<std::uint32_t> order(intervals.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
        return intervals[a].*at < intervals[b].*at;
    });
    return order;
}

}  // namespace

Packing pack_in_order(std::span<const Interval> intervals, const Moments& moments,
                      std::span<const std::uint32_t> order, const std::function<bool()>& stop) {
    Packing packing{.offsets = std::vector<Bytes>(intervals.size())};
    Shelves shelves(moments, intervals.size());
    std::uint32_t done = 0;
    for (const std::uint32_t i : order) {
        if (intervals[i].size > 0)
            packing.offsets[i] = shelves.put(moments.ranges[i], intervals[i].size);
        if (++done % 1024 == 0 && stop && stop())
            return {};
    }
    packing.height = height_of(intervals, packing.offsets);
    return packing;
}

Packing pack_in_time(std::span<const Interval> intervals) {
    const std::vector<std::uint32_t> begins = numbers_by(intervals, &Interval::begin);
    const std::vector<std::uint32_t> ends = numbers_by(intervals, &Interval::end);
    Packing packed{.offsets = std::vector<Bytes>(intervals.size())};
    packing::Holes holes;
    std::size_t ended = 0;
    for (const std::uint32_t next : begins) {
        for (; intervals[ends[ended]].end <= intervals[next].begin; ++ended)
            if (intervals[ends[ended]].size > 0)
                holes.give(packed.offsets[ends[ended]], intervals[ends[ended]].size);
        if (intervals[next].size > 0)
            packed.offsets[next] = holes.take(intervals[next].size);
    }
    packed.height = height_of(intervals, packed.offsets);
    return packed;
}

}  // namespace tidemark
