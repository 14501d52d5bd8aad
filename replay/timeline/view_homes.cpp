// One sweep over the views and the blocks, both in order of birth.
#include "replay/timeline/view_homes.h"

namespace tidemark {

std::vector<ViewedPart> viewed_parts(const History& history, const HistoryCounts& counts) {
    std::vector<Segment> views;
    for (std::size_t i = 0; i < counts.segments; ++i)
        if (const Segment segment = history.segment(static_cast<SegmentIndex>(i));
            segment.kind == SegmentKind::view)
            views.push_back(segment);
    std::vector<ViewedPart> parts;
    if (views.empty())
        return parts;
    std::vector<Segment> ends = views;
    std::ranges::stable_sort(ends, {}, &Segment::died);
    ViewHomes alive;
    std::size_t begun = 0;
    std::size_t ended = 0;
    for (std::size_t i = history.born_before(views.front().born); i < counts.blocks; ++i) {
        const auto index = static_cast<BlockIndex>(i);
        const Block block = history.block(index);
        for (; ended < ends.size() && ends[ended].died <= block.born; ++ended)
            alive.end(ends[ended]);
        for (; begun < views.size() && views[begun].born <= block.born; ++begun)
            if (views[begun].died > block.born)
                alive.begin(views[begun]);
        const std::uint16_t device = history.site(block.site).device;
        if (const Segment* const view = alive.at(device, block.address))
            alive.for_each_home(device, {block.address, block.size}, [&](Range home) {
                parts.push_back({index, home, view->died});
            });
    }
    return parts;
}

}  // namespace tidemark
