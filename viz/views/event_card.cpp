// An event and its values as rows of a card.
#include "viz/views/event_card.h"

#include <fmt/format.h>

#include "core/base/text.h"
#include "viz/views/timeline_plot.h"

namespace tidemark::viz {
namespace {

void describe_block(const History& history, BlockIndex index, HoverCard& card) {
    const Block block = history.block(index);
    const Site& site = history.site(block.site);
    const bool rounded = block.size != block.requested;
    card.row(0, fmt::format("block {}", format_count(index)),
             rounded ? fmt::format("{}, requested {}", format_bytes(block.size),
                                   format_bytes(block.requested))
                     : format_bytes(block.size));
    card.row(0, "at",
             fmt::format("{:#x}, stream {}", to_integer(block.address), to_integer(site.stream)));
    if (site.tag != 0)
        card.row(0, "tag", std::string(history.strings()[site.tag]));
}

}  // namespace

void describe_event(const Theme& theme, const History& history,
                    const FragmentationCurve* fragmentation, EventIndex event, HoverCard& card) {
    const SeriesValues values = history.values(event);
    const Bytes reserved = values[Series::reserved];
    const Bytes active = values[Series::active];
    const Bytes allocated = values[Series::allocated];
    const Bytes requested = values[Series::requested];
    card.row(theme.reserved, "reserved", format_bytes(reserved));
    card.row(theme.allocated, "allocated", format_bytes(allocated));
    const IdleMemory idle = idle_of(values, fragmentation, event);
    card.row(theme.cached, "cached", format_bytes(idle.cached));
    if (idle.fragmentation)
        card.row(theme.fragmentation, "fragmentation", format_bytes(*idle.fragmentation));
    card.row(theme.requested, "requested", format_bytes(requested));
    if (active > allocated)
        card.row(theme.active, "pending free", format_bytes(active - allocated));
    if (const Bytes rounding = rounding_of(values).value_or(0); rounding > 0)
        card.row(theme.rounding, "rounding", format_bytes(rounding));
    card.row(0, fmt::format("event {}", format_count(event)),
             std::string(to_text(history.kind(event))));
    if (const BlockIndex block = history.block_at(event); block != kNoBlock)
        describe_block(history, block, card);
}

}  // namespace tidemark::viz
