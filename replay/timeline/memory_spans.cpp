// Memory spans: one sweep over the segments and the live blocks, both sorted by address.
#include "replay/timeline/memory_spans.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "replay/timeline/view_homes.h"

namespace tidemark {
namespace {

struct Piece {
    std::uint16_t device = 0;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint32_t what = 0;  // a block, or whether pages were mapped (1) or given whole (0)
    bool more = false;       // of a block that has a piece already
};

bool operator<(const Piece& a, const Piece& b) {
    return std::tie(a.device, a.begin, a.end, a.what) < std::tie(b.device, b.begin, b.end, b.what);
}

Piece piece(std::uint16_t device, Address address, Bytes size, std::uint32_t what) {
    const std::uint64_t begin = to_integer(address);
    const std::uint64_t room = std::numeric_limits<std::uint64_t>::max() - begin;
    return {device, begin, begin + std::min<std::uint64_t>(size, room), what, false};
}

// Segments as they are, mapped pages joined where they touch; views go to `views`.
std::vector<Piece> memory_at(const History& history, EventIndex event, ViewHomes& views,
                             const std::atomic<bool>& cancelled) {
    std::vector<Piece> pieces;
    const std::size_t count = history.counts().segments;
    for (std::size_t i = 0; i < count && !cancelled; ++i) {
        const Segment segment = history.segment(static_cast<SegmentIndex>(i));
        if (segment.born > event)
            break;
        if (segment.died <= event || segment.kind == SegmentKind::reservation || segment.size == 0)
            continue;
        if (segment.kind == SegmentKind::view)
            views.begin(segment);
        else
            pieces.push_back(piece(segment.device, segment.begin, segment.size,
                                   segment.kind == SegmentKind::mapping ? 1 : 0));
    }
    std::sort(pieces.begin(), pieces.end());
    std::vector<Piece> joined;
    for (const Piece& next : pieces) {
        if (!joined.empty() && joined.back().what == 1 && next.what == 1 &&
            joined.back().device == next.device && joined.back().end >= next.begin)
            joined.back().end = std::max(joined.back().end, next.end);
        else
            joined.push_back(next);
    }
    return joined;
}

// Where their memory counts.
std::vector<Piece> blocks_at(const History& history, EventIndex event, const ViewHomes& views,
                             const std::atomic<bool>& cancelled) {
    std::vector<Piece> blocks;
    history.for_each_live(event, [&](BlockIndex index) {
        if (cancelled)
            return;
        const Block block = history.block(index);
        const std::uint16_t device = history.site(block.site).device;
        bool more = false;
        views.for_each_home(device, {block.address, block.size}, [&](Range part) {
            blocks.push_back(piece(device, part.begin, part.size, index));
            blocks.back().more = std::exchange(more, true);
        });
    });
    std::sort(blocks.begin(), blocks.end());
    return blocks;
}

void add_gap(MemorySpan& span, std::uint64_t from, std::uint64_t to) {
    if (to <= from)
        return;
    ++span.gaps;
    span.largest_gap = std::max<Bytes>(span.largest_gap, to - from);
}

}  // namespace

std::vector<MemorySpan> memory_spans(const History& history, EventIndex event,
                                     const std::atomic<bool>& cancelled) {
    ViewHomes views;
    const std::vector<Piece> memory = memory_at(history, event, views, cancelled);
    const std::vector<Piece> blocks = blocks_at(history, event, views, cancelled);
    std::vector<MemorySpan> spans;
    std::size_t next = 0;
    for (const Piece& held : memory) {
        if (cancelled)
            return {};
        MemorySpan span;
        span.begin = Address{held.begin};
        span.size = held.end - held.begin;
        span.device = held.device;
        EventIndex longest = 0;
        std::uint64_t at = held.begin;  // all below is dealt with
        while (next < blocks.size() && std::tie(blocks[next].device, blocks[next].begin) <
                                           std::tie(held.device, held.begin))
            ++next;
        for (; next < blocks.size() && blocks[next].device == held.device &&
               blocks[next].begin < held.end;
             ++next) {
            const Piece& block = blocks[next];
            add_gap(span, at, block.begin);
            const std::uint64_t end = std::min(block.end, held.end);
            span.taken += end > at ? end - std::max(at, block.begin) : 0;
            at = std::max(at, end);
            span.blocks += block.more ? 0 : 1;
            if (const EventIndex reused = history.block(block.what).reused;
                span.stays == kNoBlock || reused > longest) {
                longest = reused;
                span.stays = block.what;
            }
        }
        add_gap(span, at, held.end);
        spans.push_back(span);
    }
    return spans;
}

FreeSpace free_space(const std::vector<MemorySpan>& spans) {
    FreeSpace space;
    for (const MemorySpan& span : spans) {
        space.held += span.size;
        space.free += span.free();
        space.largest = std::max(space.largest, span.largest_gap);
        if (span.taken == 0)
            space.whole += span.size;
        space.gaps += span.gaps;
        space.blocks += span.blocks;
    }
    space.spans = spans.size();
    return space;
}

}  // namespace tidemark
