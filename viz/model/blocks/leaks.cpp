// Leaks: blocks that are live at the end of a stretch and were allocated within it.
#include "viz/model/blocks/leaks.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "core/base/text.h"
#include "viz/model/blocks/site_index.h"
#include "viz/model/blocks/site_names.h"

namespace tidemark::viz {
namespace {

std::uint64_t events_lost(const History& history, const EventSpan& span) {
    std::uint64_t lost = 0;
    const std::size_t count = history.counts().marks;
    for (std::size_t i = 0; i < count; ++i) {
        const Mark mark = history.mark(i);
        if (mark.kind == MarkKind::lost && mark.event >= span.begin() && mark.event < span.end())
            lost += mark.size;
    }
    return lost;
}

}  // namespace

Leaks find_leaks(const History& history, const EventSpan& span, const Filter& filter,
                 const Cancelled& cancelled) {
    Leaks leaks;
    leaks.span = span;
    if (span.end() <= span.begin())
        return leaks;
    const BlockFilter blocks(history, filter, cancelled);
    std::map<std::pair<std::uint32_t, std::uint32_t>, LeakGroup> groups;
    history.for_each_live(span.last, [&](BlockIndex index) {
        if (cancelled)
            return;
        const Block block = history.block(index);
        if (block.born < span.begin() || block.freed <= span.last || !blocks.lets_through(block))
            return;
        const Site& site = history.site(block.site);
        LeakGroup& group = groups[{site.stack, site.tag}];
        if (group.blocks == 0) {
            group.stack = site.stack;
            group.tag = site.tag;
            group.oldest = index;
        }
        ++group.blocks;
        group.bytes += block.size;
        group.youngest = index;
        ++leaks.blocks;
        leaks.bytes += block.size;
    });
    if (cancelled)
        return {};
    SiteNames names(history);
    for (auto& [key, group] : groups) {
        group.name = names.name(history.site(history.block(group.oldest).site));
        leaks.groups.push_back(std::move(group));
    }
    std::ranges::stable_sort(leaks.groups, std::greater(), &LeakGroup::bytes);
    leaks.lost = events_lost(history, span);
    return leaks;
}

std::string leaks_text(const History& history, const Leaks& leaks) {
    std::string text = fmt::format("{} in {}, allocated in events {} to {} and not freed\n",
                                   format_bytes(leaks.bytes), format_counted(leaks.blocks, "block"),
                                   format_count(leaks.span.begin()), format_count(leaks.span.last));
    for (const LeakGroup& group : leaks.groups)
        text += fmt::format("{}\t{}\tsince event {}\t{}\n", format_bytes(group.bytes),
                            format_count(group.blocks),
                            format_count(history.block(group.oldest).born), group.name);
    if (leaks.lost > 0)
        text += fmt::format("{} events are missing in between: the list is an estimate\n",
                            format_count(leaks.lost));
    return text;
}

}  // namespace tidemark::viz
