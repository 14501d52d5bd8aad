// Stream-ordered memory: finding room, and giving it back.
#include "backends/sim/async_pool.h"

#include <algorithm>
#include <limits>

#include "core/base/check.h"

namespace tidemark {

std::optional<Address> AsyncPool::take(Bytes size, StreamId stream, Nanoseconds now) {
    auto first = free_.begin();  // of the run at hand
    Bytes run = 0;
    Address run_end = Address::null;
    for (auto it = free_.begin(); it != free_.end(); ++it) {
        const FreeRange& range = it->second;
        const bool usable = range.stream == stream || range.ready <= now;
        if (!usable || run == 0 || it->first != run_end) {
            first = it;
            run = 0;
        }
        if (!usable)
            continue;
        run += range.size;
        run_end = it->first + range.size;
        if (run >= size)
            return carve(first, std::next(it), size);
    }
    return std::nullopt;
}

// Takes `size` bytes from the front of the run [first, last); what is left of its last range stays
// free on the terms that it had.
Address AsyncPool::carve(FreeRanges::iterator first, FreeRanges::iterator last, Bytes size) {
    const Address begin = first->first;
    const Address end = begin + size;
    const auto tail = std::prev(last);
    const Address tail_end = tail->first + tail->second.size;
    FreeRange rest = tail->second;
    rest.size = tail_end - end;
    free_.erase(first, last);
    if (rest.size != 0)
        free_.emplace(end, rest);
    live_.emplace(begin, size);
    return begin;
}

bool AsyncPool::grow(Bytes size) {
    // One byte more keeps segments apart, so that no run of free bytes crosses from one to another.
    const std::optional<Range> segment = space_.take(size + 1);
    if (!segment)
        return false;
    free_.emplace(segment->begin, FreeRange{.size = size,
                                            .stream = StreamId::default_stream,
                                            .ready = std::numeric_limits<Nanoseconds>::min()});
    held_ += size;
    has_grown_ = true;
    return true;
}

Bytes AsyncPool::give(Address address, StreamId stream, Nanoseconds ready) {
    const auto found = live_.find(address);
    if (found == live_.end())
        return 0;
    FreeRange range{.size = found->second, .stream = stream, .ready = ready};
    const Bytes size = range.size;
    live_.erase(found);
    // Neighbours let go on the same stream are one range: the stream may use both, and for others
    // the later moment counts.
    auto next = free_.lower_bound(address);
    if (next != free_.end() && next->first == address + range.size &&
        next->second.stream == stream) {
        range.size += next->second.size;
        range.ready = std::max(range.ready, next->second.ready);
        next = free_.erase(next);
    }
    if (next != free_.begin()) {
        const auto before = std::prev(next);
        if (before->first + before->second.size == address && before->second.stream == stream) {
            before->second.size += range.size;
            before->second.ready = std::max(range.ready, before->second.ready);
            return size;
        }
    }
    free_.emplace_hint(next, address, range);
    return size;
}

std::optional<Range> AsyncPool::last_free_segment(Nanoseconds now) const {
    const auto& segments = space_.ranges();
    for (auto it = segments.rbegin(); it != segments.rend(); ++it) {
        const Address end = it->first + (it->second - 1);
        Address at = it->first;
        for (auto range = free_.find(at); range != free_.end() && range->first == at;
             range = free_.find(at)) {
            if (range->second.ready > now)
                break;
            at = at + range->second.size;
        }
        if (at == end)
            return Range{it->first, end - it->first};
    }
    return std::nullopt;
}

void AsyncPool::drop(Range segment) {
    free_.erase(free_.lower_bound(segment.begin), free_.lower_bound(segment.begin + segment.size));
    space_.give({segment.begin, segment.size + 1});
    held_ -= segment.size;
}

Range AsyncPool::find(Address address) const {
    auto next = live_.upper_bound(address);
    if (next == live_.begin())
        return {};
    --next;
    if (address - next->first >= next->second)
        return {};
    return {next->first, next->second};
}

}  // namespace tidemark
