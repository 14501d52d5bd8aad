// What was live when most was allocated: the largest blocks, and all blocks by site and by tag.
#include <algorithm>
#include <atomic>
#include <map>

#include <fmt/format.h>

#include "replay/analysis/trace/program_steps.h"
#include "replay/analysis/trace/sites.h"
#include "replay/facts/live_sites.h"
#include "replay/report/forms/wording.h"
#include "replay/report/page/report_facts.h"

namespace tidemark::report {
namespace {

using Groups = std::map<std::string, PeakGroup>;

void add_to(Groups& groups, const std::string& name, const facts::LiveBlocks& blocks) {
    PeakGroup& group = groups[name];
    group.name = name;
    group.bytes += blocks.bytes;
    group.blocks += blocks.blocks;
}

std::vector<PeakGroup> largest(const Groups& groups, std::size_t most) {
    std::vector<PeakGroup> list;
    for (const auto& [name, group] : groups)
        list.push_back(group);
    std::ranges::stable_sort(
        list, [](const PeakGroup& a, const PeakGroup& b) { return a.bytes > b.bytes; });
    list.resize(std::min(list.size(), most));
    // A list with only "not recorded" is useless.
    if (list.size() == 1 && list.front().name.empty())
        list.clear();
    return list;
}

}  // namespace

PeakContent peak_content(const ReportedRun& run, std::size_t most) {
    const History& history = *run.recorded.history;
    PeakContent content;
    if (history.counts().events == 0)
        return content;
    content.event = history.peak_event(Series::allocated);
    content.time = history.time(content.event);
    content.values = history.values(content.event);

    TraceInfo names;  // the input of Sites
    names.strings = history.strings();
    names.stacks = history.stacks();
    Sites sites(names);
    Groups by_site;
    Groups tags;
    const std::atomic<bool> never = false;
    const facts::LiveSites live = facts::live_sites(history, content.event, most, never);
    for (const auto& [number, blocks] : live.by_site) {
        const Site& site = history.site(number);
        add_to(by_site, one_line(sites.site(site.stack)), blocks);
        add_to(tags, one_line(range_family(history.strings()[site.tag])), blocks);
    }
    content.live = live.blocks;
    content.sites = largest(by_site, most);
    content.tags = largest(tags, most);
    for (const BlockIndex index : live.largest) {
        const Block block = history.block(index);
        const Site& site = history.site(block.site);
        const std::size_t stream = to_integer(site.stream);
        content.blocks.push_back(
            {block, one_line(history.strings()[site.tag]), one_line(sites.site(site.stack)),
             stream < history.streams().size() ? fmt::format("{:#x}", history.streams()[stream])
                                               : fmt::format("{}", stream)});
    }
    return content;
}

}  // namespace tidemark::report
