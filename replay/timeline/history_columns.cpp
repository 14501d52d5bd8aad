// history_columns: reading what is not stored from what is.
#include "replay/timeline/history_columns.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace tidemark {
namespace {

void count_block(SeriesValues& values, Bytes granted, Bytes requested, bool awaited) {
    if (!awaited)
        values[Series::allocated] -= granted;
    values[Series::active] -= granted;
    values[Series::requested] -= requested;
}

}  // namespace

void SharedCounts::set(const HistoryCounts& counts) {
    const std::uint64_t version = version_.load(std::memory_order_relaxed);
    version_.store(version + 1, std::memory_order_relaxed);
    const std::array<std::size_t, kFields> values{
        counts.events, counts.blocks, counts.segments, counts.annotations,
        counts.marks,  counts.sites,  counts.launches, counts.executions};
    for (std::size_t i = 0; i < kFields; ++i)
        fields_[i].store(values[i], std::memory_order_release);
    version_.store(version + 2, std::memory_order_release);
}

HistoryCounts SharedCounts::get() const {
    for (;;) {
        const std::uint64_t before = version_.load(std::memory_order_acquire);
        std::array<std::size_t, kFields> values{};
        for (std::size_t i = 0; i < kFields; ++i)
            values[i] = fields_[i].load(std::memory_order_acquire);
        if (before % 2 == 0 && version_.load(std::memory_order_relaxed) == before)
            return {values[0], values[1], values[2], values[3],
                    values[4], values[5], values[6], values[7]};
    }
}

void History::Columns::set_names(HistoryNames next) {
    all_names.push_back(std::make_unique<const HistoryNames>(std::move(next)));
    names.store(all_names.back().get(), std::memory_order_release);
}

Bytes History::Columns::granted(BlockIndex block) const {
    const BlockRecord& record = blocks[block];
    if (record.slack != kWideSlack) [[likely]]
        return record.requested + record.slack;
    const auto wide = wide_slacks.all();
    const auto found = std::partition_point(
        wide.begin(), wide.end(), [block](const WideSlack& slack) { return slack.block < block; });
    return record.requested + found->slack;
}

void History::Columns::apply(EventKind kind, BlockIndex block, EventIndex event,
                             SeriesValues& values) const {
    if (block == kNoBlock)
        return;
    const Bytes requested = blocks[block].requested;
    if (kind == EventKind::allocate) {
        const Bytes size = granted(block);
        values[Series::allocated] += size;
        values[Series::active] += size;
        values[Series::requested] += requested;
    } else if (kind == EventKind::free) {
        count_block(values, granted(block), requested, false);
    } else if (kind == EventKind::retire) {
        values[Series::allocated] -= granted(block);
    } else if (kind == EventKind::finish) {
        count_block(values, granted(block), requested, get_shared(blocks[block].freed) != event);
    }
}

// The nearer known values: those before the event's leaf, or those after it.
History::Columns::Stretch History::Columns::to_known(std::size_t event, std::size_t events) const {
    const std::size_t begin = event / kLeaf * kLeaf;
    if (event - begin < kLeaf / 2 || begin + kLeaf > events)
        return {begin, event + 1, false};
    return {event + 1, begin + kLeaf, true};
}

SeriesValues History::Columns::values_after(std::size_t event, std::size_t events) const {
    const Stretch stretch = to_known(event, events);
    SeriesValues change;
    for (std::size_t i = stretch.begin; i < stretch.end; ++i)
        apply(kinds[i], blocks_of_events[i], static_cast<EventIndex>(i), change);
    for (std::size_t s = 0; s < kSeriesCount; ++s)
        change.value[s] += corrected(s, stretch.begin, stretch.end);
    const std::size_t bucket = event / kLeaf;
    SeriesValues values;
    if (stretch.backwards)
        values = last_values[bucket];
    else if (bucket > 0)
        values = last_values[bucket - 1];
    for (std::size_t s = 0; s < kSeriesCount; ++s)
        values.value[s] += stretch.backwards ? Bytes{0} - change.value[s] : change.value[s];
    return values;
}

void History::Columns::prefetch_times(std::size_t leaf) const {
    constexpr std::size_t kPerLine = 64 / sizeof(std::uint32_t);
    for (std::size_t i = 0; i < kLeaf; i += kPerLine)
        __builtin_prefetch(&times[leaf * kLeaf] + i);
}

void History::Columns::prefetch_events(std::size_t event, std::size_t events) const {
    constexpr std::size_t kPerLine = 64 / sizeof(BlockIndex);
    const Stretch stretch = to_known(event, events);
    __builtin_prefetch(&kinds[stretch.begin]);
    for (std::size_t i = stretch.begin; i < stretch.end + kPerLine; i += kPerLine)
        __builtin_prefetch(&blocks_of_events[0] + i);
    const std::size_t bucket = event / kLeaf;
    __builtin_prefetch(&last_values[stretch.backwards || bucket == 0 ? bucket : bucket - 1]);
}

void History::Columns::prefetch_blocks(std::size_t event, std::size_t events) const {
    const Stretch stretch = to_known(event, events);
    for (std::size_t i = stretch.begin; i < stretch.end; ++i) {
        if (blocks_of_events[i] != kNoBlock)
            __builtin_prefetch(&blocks[blocks_of_events[i]]);
    }
}

Bytes History::Columns::corrected(std::size_t which, std::size_t begin, std::size_t end) const {
    const std::span<const Correction> list = corrections[which].all();
    const auto before = [](std::size_t event) {
        return [event](const Correction& entry) { return entry.event < event; };
    };
    const auto first = std::partition_point(list.begin(), list.end(), before(begin));
    if (first == list.end() || first->event >= end)
        return 0;
    const auto last = std::partition_point(first, list.end(), before(end));
    return std::prev(last)->value - (first == list.begin() ? 0 : std::prev(first)->value);
}

std::size_t History::Columns::decode(std::size_t bucket, std::size_t events,
                                     std::array<SeriesValues, kLeaf>& values) const {
    const std::size_t begin = bucket * kLeaf;
    const std::size_t count = std::min(events - begin, kLeaf);
    const EventKind* const kind = &kinds[begin];
    const BlockIndex* const block = &blocks_of_events[begin];
    // The blocks may be anywhere: all are prefetched before the first is needed.
    for (std::size_t i = 0; i < count; ++i) {
        if (block[i] != kNoBlock)
            __builtin_prefetch(&blocks[block[i]]);
    }
    SeriesValues now = bucket > 0 ? last_values[bucket - 1] : SeriesValues{};
    for (std::size_t i = 0; i < count; ++i) {
        if (kind[i] <= EventKind::free && block[i] != kNoBlock) [[likely]] {
            // Without a branch, because it would be unpredictable.
            const Bytes sign = Bytes{0} - static_cast<Bytes>(kind[i]);
            const Bytes size = granted(block[i]);
            now[Series::allocated] += (size ^ sign) - sign;
            now[Series::active] += (size ^ sign) - sign;
            now[Series::requested] += (blocks[block[i]].requested ^ sign) - sign;
        } else {
            apply(kind[i], block[i], static_cast<EventIndex>(begin + i), now);
        }
        values[i] = now;
    }
    correct(begin, {values.data(), count});
    return count;
}

void History::Columns::correct(std::size_t begin, std::span<SeriesValues> values) const {
    for (std::size_t s = 0; s < kSeriesCount; ++s) {
        const std::span<const Correction> list = corrections[s].all();
        auto next =
            std::partition_point(list.begin(), list.end(),
                                 [begin](const Correction& entry) { return entry.event < begin; });
        const Bytes before = next == list.begin() ? 0 : std::prev(next)->value;
        Bytes extra = 0;
        for (std::size_t i = 0; i < values.size(); ++i) {
            if (next != list.end() && next->event == begin + i)
                extra = next++->value - before;
            else if (extra == 0 && (next == list.end() || next->event >= begin + values.size()))
                break;
            values[i].value[s] += extra;
        }
    }
}

Nanoseconds History::Columns::time(EventIndex event) const {
    if (times[event] != kWideTime) [[likely]]
        return time_bases[event / kLeaf] + times[event];
    const auto wide = wide_times.all();
    return std::partition_point(wide.begin(), wide.end(),
                                [event](const WideTime& entry) { return entry.event < event; })
        ->time;
}

Wait* History::Columns::wait_of(BlockIndex block) {
    const BlockRecord& record = blocks.at(block);
    if ((record.site & kWaited) == 0)
        return nullptr;
    std::size_t begin = 0;
    for (std::size_t end = waits.pushed(); begin < end;) {
        const std::size_t middle = begin + (end - begin) / 2;
        if (waits.at(middle).freed < record.freed)
            begin = middle + 1;
        else
            end = middle;
    }
    return &waits.at(begin);
}

EventIndex History::Columns::reused_so_far(BlockIndex block) {
    const Wait* const wait = wait_of(block);
    return wait == nullptr ? blocks.at(block).freed : wait->reused;
}

EventIndex History::Columns::reused(BlockIndex block, EventIndex freed, std::size_t events) const {
    if (freed == kNever || (get_shared(blocks[block].site) & kWaited) == 0) [[likely]]
        return freed;
    const auto all = waits.all();
    const auto found = std::partition_point(
        all.begin(), all.end(), [freed](const Wait& wait) { return wait.freed < freed; });
    if (found == all.end() || found->freed != freed)
        return kNever;
    const EventIndex reused = get_shared(found->reused);
    return reused < events ? reused : kNever;
}

}  // namespace tidemark
