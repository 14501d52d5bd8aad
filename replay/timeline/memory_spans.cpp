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
    Bytes page = 0;               // of memory; 0: released as a whole
    BlockIndex block = kNoBlock;  // or of memory none
    bool more = false;            // of a block that has a piece already
};

bool operator<(const Piece& a, const Piece& b) {
    return std::tie(a.device, a.begin, a.end, a.block) <
           std::tie(b.device, b.begin, b.end, b.block);
}

Piece piece(std::uint16_t device, Address address, Bytes size, Bytes page, BlockIndex block) {
    const std::uint64_t begin = to_integer(address);
    const std::uint64_t room = std::numeric_limits<std::uint64_t>::max() - begin;
    return {device, begin, begin + std::min<std::uint64_t>(size, room), page, block};
}

// Segments and mappings; views go to `views`.
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
            pieces.push_back(
                piece(segment.device, segment.begin, segment.size, segment.page, kNoBlock));
    }
    std::sort(pieces.begin(), pieces.end());
    return pieces;
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
            blocks.push_back(piece(device, part.begin, part.size, 0, index));
            blocks.back().more = std::exchange(more, true);
        });
    });
    std::sort(blocks.begin(), blocks.end());
    return blocks;
}

// Writes the spans, piece by piece: mapped pages that touch are one.
class SpanWalk {
  public:
    explicit SpanWalk(const History& history) : history_(history) {}

    void enter(const Piece& memory) {
        const bool joins = !spans_.empty() && memory.page != 0 && memory_.page != 0 &&
                           memory_.device == memory.device && memory_.end >= memory.begin;
        memory_ = memory;
        if (!joins) {
            end_gap();
            spans_.push_back({.begin = Address{memory.begin}, .device = memory.device});
            longest_ = 0;
        }
        at_ = std::max(joins ? at_ : memory.begin, memory.begin);
        taken_ = false;
        free_ = 0;
    }

    void add(const Piece& block) {
        MemorySpan& span = spans_.back();
        leave_free(block.begin);
        const std::uint64_t end = std::min(block.end, memory_.end);
        if (end > at_) {
            end_gap();
            span.taken += end - at_;
            at_ = end;
        }
        taken_ = true;
        if (block.begin >= memory_.begin)
            span.blocks += block.more ? 0 : 1;
        if (const EventIndex reused = history_.block(block.block).reused;
            span.stays == kNoBlock || reused > longest_) {
            longest_ = reused;
            span.stays = block.block;
        }
    }

    void leave() {
        MemorySpan& span = spans_.back();
        leave_free(memory_.end);
        span.size += memory_.end - memory_.begin;
        if (memory_.page == 0)
            (taken_ ? span.fragmentation : span.cached) += free_;
    }

    std::vector<MemorySpan> finish() {
        end_gap();
        return std::move(spans_);
    }

  private:
    // There is nothing between the last block and here.
    void leave_free(std::uint64_t until) {
        if (until <= at_)
            return;
        const Bytes size = until - at_;
        gap_ += size;
        free_ += size;
        if (memory_.page != 0) {
            const Bytes page = memory_.page;
            const std::uint64_t first = (at_ - memory_.begin + page - 1) / page;
            const std::uint64_t last = until == memory_.end
                                           ? (until - memory_.begin + page - 1) / page
                                           : (until - memory_.begin) / page;
            const Bytes cached = last > first ? std::min((last - first) * page, size) : 0;
            spans_.back().cached += cached;
            spans_.back().fragmentation += size - cached;
        }
        at_ = until;
    }

    void end_gap() {
        if (gap_ == 0)
            return;
        ++spans_.back().gaps;
        spans_.back().largest_gap = std::max(spans_.back().largest_gap, gap_);
        gap_ = 0;
    }

    const History& history_;
    std::vector<MemorySpan> spans_;
    Piece memory_;
    std::uint64_t at_ = 0;  // all of the piece below is dealt with
    bool taken_ = false;    // some of the piece
    Bytes free_ = 0;        // of the piece
    Bytes gap_ = 0;         // up to here
    EventIndex longest_ = 0;
};

}  // namespace

std::vector<MemorySpan> memory_spans(const History& history, EventIndex event,
                                     const std::atomic<bool>& cancelled) {
    ViewHomes views;
    const std::vector<Piece> memory = memory_at(history, event, views, cancelled);
    const std::vector<Piece> blocks = blocks_at(history, event, views, cancelled);
    SpanWalk walk(history);
    std::size_t next = 0;  // the first block that may reach into what follows
    for (const Piece& held : memory) {
        if (cancelled)
            return {};
        walk.enter(held);
        while (next < blocks.size() &&
               std::tie(blocks[next].device, blocks[next].end) <= std::tie(held.device, held.begin))
            ++next;
        for (std::size_t i = next;
             i < blocks.size() && blocks[i].device == held.device && blocks[i].begin < held.end;
             ++i)
            walk.add(blocks[i]);
        walk.leave();
    }
    return walk.finish();
}

FreeSpace free_space(const std::vector<MemorySpan>& spans, std::optional<std::uint16_t> device) {
    FreeSpace space;
    for (const MemorySpan& span : spans) {
        if (device && span.device != *device)
            continue;
        ++space.spans;
        space.held += span.size;
        space.free += span.free();
        space.largest = std::max(space.largest, span.largest_gap);
        space.cached += span.cached;
        space.fragmentation += span.fragmentation;
        space.gaps += span.gaps;
        space.blocks += span.blocks;
    }
    return space;
}

}  // namespace tidemark
