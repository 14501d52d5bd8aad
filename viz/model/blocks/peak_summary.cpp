// Sums up a peak.
#include "viz/model/blocks/peak_summary.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string>

#include <fmt/format.h>

#include "core/base/text.h"
#include "replay/facts/live_sites.h"
#include "replay/timeline/fullest_event.h"
#include "viz/model/blocks/site_names.h"

namespace tidemark::viz {
namespace {

// Blocks of one name, and the filter that finds them.
struct Named {
    facts::LiveBlocks blocks;
    Filter filter;
};

// The filter that finds the blocks of a site: its tag, else the function that allocates.
Filter filter_of(const History& history, SiteNames& names, const Site& site) {
    Filter filter;
    filter.text = history.strings()[site.tag];
    if (!filter.text.empty())
        return filter;
    const std::string& where = names.call_site(site.stack);
    filter.text = where.substr(where.rfind(' ') + 1);
    return filter;
}

// The blocks of all sizes from that of `one` to that of `other`.
void widen(Filter& one, Bytes size, bool is_first) {
    one.least = is_first ? size : std::min(one.least, size);
    one.most = is_first ? size : std::max(one.most, size);
}

// Sites of the same name are one holder; if nobody has a name, blocks of about the same size.
void add_holders(const History& history, PeakSummary& summary, const Cancelled& cancelled) {
    const facts::LiveSites live = facts::live_sites(history, summary.peak, 0, cancelled);
    if (cancelled.load())
        return;
    summary.holders_are_sizes = std::ranges::all_of(live.by_site, [&history](const auto& entry) {
        const Site& site = history.site(entry.first);
        return site.stack == 0 && site.tag == 0;
    });
    std::map<std::string, Named> by_name;
    SiteNames names(history);
    if (summary.holders_are_sizes)
        for (const auto& [size, blocks] : live.by_size) {
            Named& all = by_name[fmt::format("blocks of {}", format_bytes(size))];
            widen(all.filter, size, all.blocks.blocks == 0);
            all.blocks.add(blocks);
        }
    else
        for (const auto& [site, blocks] : live.by_site) {
            Named& all = by_name[names.name(history.site(site))];
            all.filter = filter_of(history, names, history.site(site));
            all.blocks.add(blocks);
        }
    for (const auto& [name, named] : by_name)
        summary.holders.push_back(
            {name, named.blocks.bytes, named.blocks.blocks, named.blocks.largest, named.filter});
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
    // A refusal in this run takes precedence over those of the recording.
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
