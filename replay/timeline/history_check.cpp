// history_check: lengths first, then short lists, then the columns with an entry for each event or
// block, many entries at a time.
#include "replay/timeline/history_check.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <optional>

#include "core/base/threads.h"

namespace tidemark {
namespace {

constexpr std::size_t kStretch = std::size_t{1} << 18U;  // events or blocks at once

bool lengths_fit(const HistoryCounts& counts, const History::Columns& columns) {
    const std::size_t leaves = (counts.events + kLeaf - 1) / kLeaf;
    return counts.events == columns.kinds.size() &&
           counts.events == columns.blocks_of_events.size() &&
           counts.events == columns.times.size() && leaves == columns.time_bases.size() &&
           counts.events / kLeaf == columns.last_values.size() &&
           TreeOrder::count(counts.events / kLeaf) == columns.series.size() &&
           counts.blocks == columns.blocks.size() &&
           TreeOrder::count(counts.blocks / kLeaf) == columns.block_nodes.size() &&
           counts.segments == columns.segments.size() &&
           counts.annotations == columns.annotations.size() &&
           counts.marks == columns.marks.size() && counts.sites == columns.sites.size() &&
           counts.launches == columns.launches.size() &&
           counts.executions == columns.executions.size();
}

// Rising by `field`, without duplicates.
template <class T, class Field>
bool rises(const MappedColumn<T>& column, Field field) {
    const auto all = column.all();
    return std::ranges::adjacent_find(all, std::ranges::greater_equal(), field) == all.end();
}

template <class T, class Check>
bool each(const MappedColumn<T>& column, Check&& check) {
    return std::ranges::all_of(column.all(), check);
}

// Names, and what else each is of.
bool lists_fit(const HistoryCounts& counts, const History::Columns& columns) {
    const std::size_t events = counts.events;
    const std::size_t strings = columns.strings.size();
    const std::size_t devices = columns.names.load()->devices.size();
    const std::size_t uses = columns.uses.size();
    // Before the first event there may be memory and marks.
    const auto is_event = [events](EventIndex event) { return event < events || event == 0; };
    return each(columns.sites,
                [&](const Site& site) {
                    return site.stack < columns.stacks.size() && site.tag < strings &&
                           site.device < devices;
                }) &&
           each(columns.segments,
                [&](const Segment& segment) {
                    return is_event(segment.born) && segment.device < devices &&
                           segment.kind <= SegmentKind::view;
                }) &&
           each(columns.annotations,
                [&](const Annotation& annotation) {
                    return is_event(annotation.begin) && annotation.name < strings &&
                           annotation.depth < counts.annotations;
                }) &&
           each(columns.marks,
                [&](const Mark& mark) {
                    return is_event(mark.event) && mark.name < strings &&
                           mark.kind <= MarkKind::lost;
                }) &&
           each(columns.launches,
                [&](const Launch& launch) {
                    return is_event(launch.begin) && launch.tag < strings &&
                           launch.first_use <= uses && launch.uses <= uses - launch.first_use;
                }) &&
           each(columns.uses,
                [&](const LaunchUse& use) {
                    return (use.launch & (LaunchUse::kUnknown - 1)) < counts.launches;
                }) &&
           each(columns.executions, [&](const Execution& execution) {
               return execution.tag < strings && (execution.launch < counts.launches ||
                                                  execution.launch == Execution::kNoLaunch);
           });
}

bool stacks_fit(const History::Columns& columns) {
    const std::size_t strings = columns.strings.size();
    for (std::uint32_t i = 0; i < columns.stacks.size(); ++i) {
        if (!std::ranges::all_of(columns.stacks[i], [strings](const Frame& frame) {
                return frame.name < strings && frame.file < strings;
            }))
            return false;
    }
    return true;
}

// Exceptions have an entry each, in order; these are looked up and must be there.
bool exceptions_fit(const HistoryCounts& counts, const History::Columns& columns) {
    return rises(columns.wide_times, &WideTime::event) &&
           rises(columns.wide_slacks, &WideSlack::block) && rises(columns.waits, &Wait::freed) &&
           std::ranges::all_of(columns.corrections,
                               [](const auto& list) { return rises(list, &Correction::event); }) &&
           each(columns.wide_times,
                [&](const WideTime& wide) {
                    return wide.event < counts.events && columns.times[wide.event] == kWideTime;
                }) &&
           each(columns.wide_slacks, [&](const WideSlack& wide) {
               return wide.block < counts.blocks && columns.blocks[wide.block].slack == kWideSlack;
           });
}

// How many of [begin, end) are exceptions.
struct Exceptions {
    std::atomic<std::size_t> times = 0;
    std::atomic<std::size_t> slacks = 0;
    std::atomic<std::size_t> uses = 0;
};

// Of an event, as History::Columns::time(); nothing where a list has none for it.
std::optional<Nanoseconds> time_of(const History::Columns& columns, std::size_t event) {
    if (columns.times[event] != kWideTime) [[likely]]
        return static_cast<Nanoseconds>(
            static_cast<std::uint64_t>(columns.time_bases[event / kLeaf]) + columns.times[event]);
    const auto wide = columns.wide_times.all();
    const auto found = std::ranges::lower_bound(wide, event, {}, &WideTime::event);
    if (found == wide.end() || found->event != event)
        return std::nullopt;
    return found->time;
}

// Times never go back: what is searched by time relies on it.
bool times_fit(const History::Columns& columns, std::size_t begin, std::size_t end) {
    std::optional<Nanoseconds> last = time_of(columns, begin > 0 ? begin - 1 : begin);
    for (std::size_t i = begin; i < end && last; ++i) {
        const std::optional<Nanoseconds> time = time_of(columns, i);
        if (!time || *time < *last)
            return false;
        last = time;
    }
    return last.has_value();
}

bool events_fit(const HistoryCounts& counts, const History::Columns& columns, std::size_t begin,
                std::size_t end, Exceptions& found) {
    std::size_t wrong = 0;  // without a branch, so that many are looked at at once
    std::size_t times = 0;
    std::size_t uses = 0;
    for (std::size_t i = begin; i < end; ++i) {
        const BlockIndex block = columns.blocks_of_events[i];
        wrong += static_cast<std::size_t>(block >= counts.blocks) &
                 static_cast<std::size_t>(block != kNoBlock);
        times += static_cast<std::size_t>(columns.times[i] == kWideTime);
        uses += static_cast<std::size_t>(columns.kinds[i] == EventKind::use);
    }
    found.times += times;
    found.uses += uses;
    return wrong == 0 && times_fit(columns, begin, end);
}

bool blocks_fit(const HistoryCounts& counts, const History::Columns& columns, std::size_t begin,
                std::size_t end, Exceptions& found) {
    std::size_t wrong = 0;
    std::size_t slacks = 0;
    EventIndex last = begin > 0 ? columns.blocks[begin - 1].born : 0;
    for (std::size_t i = begin; i < end; ++i) {
        const BlockRecord& block = columns.blocks[i];
        wrong += static_cast<std::size_t>((block.site & ~kWaited) >= counts.sites) |
                 static_cast<std::size_t>(block.born >= counts.events) |
                 static_cast<std::size_t>(block.born < last);
        slacks += static_cast<std::size_t>(block.slack == kWideSlack);
        last = block.born;
    }
    found.slacks += slacks;
    return wrong == 0;
}

}  // namespace

bool columns_fit(const HistoryCounts& counts, const History::Columns& columns) {
    if (!lengths_fit(counts, columns) || !lists_fit(counts, columns) || !stacks_fit(columns) ||
        !exceptions_fit(counts, columns))
        return false;
    Exceptions found;
    const std::size_t event_stretches = (counts.events + kStretch - 1) / kStretch;
    const std::size_t block_stretches = (counts.blocks + kStretch - 1) / kStretch;
    const auto check = [&](std::size_t index, unsigned /*thread*/) {
        if (index < event_stretches)
            return events_fit(counts, columns, index * kStretch,
                              std::min(counts.events, (index + 1) * kStretch), found);
        const std::size_t stretch = index - event_stretches;
        return blocks_fit(counts, columns, stretch * kStretch,
                          std::min(counts.blocks, (stretch + 1) * kStretch), found);
    };
    const std::size_t stretches = event_stretches + block_stretches;
    return parallel_for(stretches, stretches > 2 ? 0 : 1, check) &&
           found.times == columns.wide_times.size() && found.uses == columns.uses.size() &&
           found.slacks == columns.wide_slacks.size();
}

}  // namespace tidemark
