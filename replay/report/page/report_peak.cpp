// What lived when most was allocated: the largest blocks, and all of them by site and by tag.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "replay/analysis/trace/program_steps.h"
#include "replay/analysis/trace/sites.h"
#include "replay/report/forms/wording.h"
#include "replay/report/page/report_facts.h"

namespace tidemark::report {
namespace {

using Groups = std::map<std::string, PeakGroup>;

void add_to(Groups& groups, const std::string& name, Bytes bytes) {
    PeakGroup& group = groups[name];
    group.name = name;
    group.bytes += bytes;
    group.blocks += 1;
}

std::vector<PeakGroup> largest(const Groups& groups, std::size_t most) {
    std::vector<PeakGroup> list;
    for (const auto& [name, group] : groups)
        list.push_back(group);
    std::ranges::stable_sort(
        list, [](const PeakGroup& a, const PeakGroup& b) { return a.bytes > b.bytes; });
    list.resize(std::min(list.size(), most));
    // Nothing but "not recorded" is no answer.
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

    TraceInfo names;  // what a Sites reads
    names.strings = history.strings();
    names.stacks = history.stacks();
    Sites sites(names);
    Groups by_site;
    Groups tags;
    std::vector<BlockIndex> live;
    history.for_each_live(content.event, [&](BlockIndex index) {
        const Block block = history.block(index);
        if (block.waits(content.event))
            return;
        const Site& site = history.site(block.site);
        add_to(by_site, one_line(sites.site(site.stack)), block.size);
        add_to(tags, one_line(range_family(history.strings()[site.tag])), block.size);
        live.push_back(index);
    });
    content.live = live.size();
    content.sites = largest(by_site, most);
    content.tags = largest(tags, most);
    const std::size_t shown = std::min(live.size(), most);
    std::ranges::partial_sort(live, live.begin() + static_cast<std::ptrdiff_t>(shown),
                              [&history](BlockIndex a, BlockIndex b) {
                                  const Bytes first = history.block(a).size;
                                  const Bytes second = history.block(b).size;
                                  return first != second ? first > second : a < b;
                              });
    for (std::size_t i = 0; i < shown; ++i) {
        const Block block = history.block(live[i]);
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
