// Summing up a peak.
#include "viz/model/blocks/peak_summary.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>

#include <fmt/format.h>

#include "core/base/text.h"
#include "replay/timeline/fullest_event.h"
#include "viz/model/blocks/site_names.h"

namespace tidemark::viz {
namespace {

struct Sum {
    Bytes bytes = 0;
    std::uint64_t blocks = 0;
    Bytes largest_size = 0;
    BlockIndex largest = kNoBlock;
    Filter filter;
};

void add(Sum& sum, const Sum& more) {
    if (more.largest_size > sum.largest_size) {
        sum.largest_size = more.largest_size;
        sum.largest = more.largest;
    }
    sum.bytes += more.bytes;
    sum.blocks += more.blocks;
}

// What finds the blocks of a site: its tag, else the function that allocates.
Filter filter_of(const History& history, SiteNames& names, const Site& site) {
    Filter filter;
    filter.text = history.strings()[site.tag];
    if (!filter.text.empty())
        return filter;
    const std::string& where = names.call_site(site.stack);
    filter.text = where.substr(where.rfind(' ') + 1);
    return filter;
}

// Those of all sizes that `one` and `other` are of.
void widen(Filter& one, Bytes size, bool is_first) {
    one.least = is_first ? size : std::min(one.least, size);
    one.most = is_first ? size : std::max(one.most, size);
}

// Sites of the same name are one holder; where nobody has a name, blocks of about the same size.
void add_holders(const History& history, PeakSummary& summary, const Cancelled& cancelled) {
    std::unordered_map<std::uint32_t, Sum> by_site;
    std::unordered_map<Bytes, Sum> by_size;
    history.for_each_live(summary.peak, [&](BlockIndex index) {
        if (cancelled.load(std::memory_order_relaxed))
            return;
        const Block block = history.block(index);
        if (block.waits(summary.peak))
            return;
        const Sum one{block.size, 1, block.size, index, {}};
        add(by_site[block.site], one);
        add(by_size[block.size], one);
    });
    if (cancelled.load())
        return;
    summary.holders_are_sizes = std::ranges::all_of(by_site, [&history](const auto& entry) {
        const Site& site = history.site(entry.first);
        return site.stack == 0 && site.tag == 0;
    });
    std::map<std::string, Sum> by_name;
    SiteNames names(history);
    if (summary.holders_are_sizes)
        for (const auto& [size, sum] : by_size) {
            Sum& all = by_name[fmt::format("blocks of {}", format_bytes(size))];
            widen(all.filter, size, all.blocks == 0);
            add(all, sum);
        }
    else
        for (const auto& [site, sum] : by_site) {
            Sum& all = by_name[names.name(history.site(site))];
            all.filter = filter_of(history, names, history.site(site));
            add(all, sum);
        }
    for (const auto& [name, sum] : by_name)
        summary.holders.push_back({name, sum.bytes, sum.blocks, sum.largest, sum.filter});
    std::ranges::stable_sort(summary.holders, std::greater(), &PeakHolder::bytes);
    for (std::size_t i = kMostHolders; i < summary.holders.size(); ++i) {
        summary.others.bytes += summary.holders[i].bytes;
        summary.others.blocks += summary.holders[i].blocks;
        ++summary.other_names;
    }
    summary.holders.resize(std::min(summary.holders.size(), kMostHolders));
}

}  // namespace

PeakSummary peak_summary(const History& history, const Cancelled& cancelled) {
    PeakSummary summary;
    summary.events = history.counts().events;
    if (summary.events == 0)
        return summary;
    summary.peak = fullest_event(history);
    summary.at_peak = history.values(summary.peak);
    summary.parts = facts::memory_parts(history, summary.peak, cancelled);
    add_holders(history, summary, cancelled);
    // A refusal in this run goes before those of the recording.
    for (const MarkKind kind : {MarkKind::out_of_memory, MarkKind::recorded_out_of_memory})
        if (summary.refused.count == 0 && !cancelled.load()) {
            summary.refused = facts::refused_requests(history, kind, 1, cancelled);
            summary.was_recorded = kind == MarkKind::recorded_out_of_memory;
        }
    if (!cancelled.load())
        summary.grown_for = facts::grown_for(history, cancelled);
    return summary;
}

}  // namespace tidemark::viz
