// IntervalMap: values on disjoint half-open intervals of addresses.
//
// Intervals are cut where an operation begins or ends inside one; a value must be cheap to copy.
// Not thread-safe. O(log n + intervals touched) unless stated otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <utility>

#include "core/base/units.h"

namespace tidemark {

template <class Value>
class IntervalMap {
  public:
    // Everything in `range` has `value` from now on.
    void assign(Range range, const Value& value) {
        erase(range);
        if (range.size != 0)
            intervals_.emplace(range.begin, Interval{range.begin + range.size, value});
    }

    void erase(Range range) {
        erase_if(range, [](Range, const Value&) { return true; });
    }

    // Removes the parts in `range` for which `gone(part, value)`.
    template <class Gone>
    void erase_if(Range range, Gone gone) {
        if (range.size == 0)
            return;
        const Address end = range.begin + range.size;
        cut(range.begin);
        cut(end);
        for (auto it = intervals_.lower_bound(range.begin);
             it != intervals_.end() && it->first < end;) {
            const Range part{it->first, it->second.end - it->first};
            it = gone(part, it->second.value) ? intervals_.erase(it) : std::next(it);
        }
    }

    // `visit(part, value)` sees each part in `range`, in order, clipped to it.
    template <class Visit>
    void for_each(Range range, Visit visit) const {
        if (range.size == 0)
            return;
        const Address end = range.begin + range.size;
        auto it = intervals_.upper_bound(range.begin);
        if (it != intervals_.begin() && std::prev(it)->second.end > range.begin)
            --it;
        for (; it != intervals_.end() && it->first < end; ++it) {
            const Address from = it->first < range.begin ? range.begin : it->first;
            const Address to = it->second.end < end ? it->second.end : end;
            visit(Range{from, to - from}, it->second.value);
        }
    }

    // Removes intervals for which `gone(value)`, and joins neighbours for which `same(a, b)` (the
    // later value stays). O(n).
    template <class Gone, class Same>
    void sweep(Gone gone, Same same) {
        for (auto it = intervals_.begin(); it != intervals_.end();) {
            if (gone(it->second.value)) {
                it = intervals_.erase(it);
                continue;
            }
            if (it != intervals_.begin()) {
                const auto before = std::prev(it);
                if (before->second.end == it->first &&
                    same(before->second.value, it->second.value)) {
                    before->second = std::move(it->second);
                    it = intervals_.erase(it);
                    continue;
                }
            }
            ++it;
        }
    }

    void clear() { intervals_.clear(); }

    std::size_t count() const { return intervals_.size(); }

  private:
    struct Interval {
        Address end = Address::null;
        Value value;
    };

    // Makes `at` a border between intervals, if it is inside one.
    void cut(Address at) {
        auto next = intervals_.upper_bound(at);
        if (next == intervals_.begin())
            return;
        const auto one = std::prev(next);
        if (one->first == at || one->second.end <= at)
            return;
        intervals_.emplace_hint(next, at, one->second);
        one->second.end = at;
    }

    std::map<Address, Interval> intervals_;
};

}  // namespace tidemark
