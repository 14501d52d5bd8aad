// Puts the live blocks into the memory that holds them.
#include "viz/model/memory/memory_now.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "core/base/units.h"
#include "replay/timeline/view_homes.h"

namespace tidemark::viz {
namespace {

constexpr Bytes kTogether = 32_MiB;  // blocks without a segment that are closer than this are on
                                     // one bar
constexpr Bytes kHoleShare = 16;     // a hole takes at most this part of its bar's memory

Bytes last_of(Address begin, Bytes size) {
    const Bytes first = to_integer(begin);
    return size > ~Bytes{0} - first ? ~Bytes{0} : first + size - 1;
}

// A stretch of addresses, its last byte included.
struct Stretch {
    std::uint16_t device = 0;
    Bytes begin = 0;
    Bytes last = 0;
    Segment segment;
    BlockIndex block = kNoBlock;

    bool operator<(const Stretch& other) const {
        return std::tie(device, begin, last, block) <
               std::tie(other.device, other.begin, other.last, other.block);
    }

    Bytes size() const { return last - begin + (last - begin == ~Bytes{0} ? 0 : 1); }
};

class MemoryNowMaker {
  public:
    MemoryNowMaker(const History& history, EventIndex event, const Cancelled& cancelled)
        : history_(history), event_(event), cancelled_(cancelled) {
        now_.event = event;
    }

    MemoryNow make() {
        find_segments();
        find_blocks();
        std::size_t block = 0;
        for (std::size_t i = 0; i < memory_.size() && !cancelled_;) {
            const std::size_t end = end_of_bar(i);
            while (block < blocks_.size() && is_before(blocks_[block], memory_[i]))
                block = add_stray(block, &memory_[i]);
            block = add_bar(i, end, block);
            i = end;
        }
        while (block < blocks_.size() && !cancelled_)
            block = add_stray(block, nullptr);
        if (cancelled_)
            return {};
        sum();
        return std::move(now_);
    }

  private:
    static bool is_before(const Stretch& block, const Stretch& memory) {
        return std::tie(block.device, block.begin) < std::tie(memory.device, memory.begin);
    }

    void find_segments();
    void find_blocks();
    void add_stretch(std::uint16_t device, Range range, BlockIndex block);
    std::size_t end_of_bar(std::size_t begin) const;
    std::size_t add_bar(std::size_t begin, std::size_t end, std::size_t block);
    std::size_t add_stray(std::size_t block, const Stretch* next);
    void add_block(NowBar& bar, const Stretch& stretch, Bytes at, Bytes& covered);
    void add_gap(NowBar& bar, Bytes at, Bytes size);
    void sum();

    const History& history_;
    EventIndex event_;
    const Cancelled& cancelled_;
    std::vector<Stretch> memory_;        // segments and pages, by address
    std::vector<Stretch> reservations_;  // by address
    std::vector<Stretch> blocks_;        // by address
    ViewHomes views_;
    MemoryNow now_;
};

void MemoryNowMaker::find_segments() {
    const std::size_t count = history_.counts().segments;
    for (std::size_t i = 0; i < count && !cancelled_; ++i) {
        const Segment segment = history_.segment(static_cast<SegmentIndex>(i));
        if (segment.born > event_)
            break;  // they are in order of allocation
        if (segment.died <= event_ || segment.size == 0)
            continue;
        Stretch stretch{segment.device, to_integer(segment.begin),
                        last_of(segment.begin, segment.size), segment, kNoBlock};
        if (segment.kind == SegmentKind::view)
            views_.begin(segment);
        (segment.kind == SegmentKind::reservation ? reservations_ : memory_).push_back(stretch);
    }
    std::sort(memory_.begin(), memory_.end());
    std::sort(reservations_.begin(), reservations_.end());
}

void MemoryNowMaker::find_blocks() {
    history_.for_each_live(event_, [this](BlockIndex index) {
        const Block block = history_.block(index);
        const std::uint16_t device = history_.site(block.site).device;
        bool there = false;
        views_.for_each_home(device, {block.address, block.size}, [&](Range part) {
            there = there || part.begin == block.address;
            add_stretch(device, part, index);
        });
        if (!there && block.size != 0)
            add_stretch(device, {block.address, block.size}, index);
    });
    std::sort(blocks_.begin(), blocks_.end());
}

void MemoryNowMaker::add_stretch(std::uint16_t device, Range range, BlockIndex block) {
    blocks_.push_back(
        {device, to_integer(range.begin), last_of(range.begin, range.size), {}, block});
}

// Pages of one reservation, or adjacent pages without one, are one bar.
std::size_t MemoryNowMaker::end_of_bar(std::size_t begin) const {
    std::size_t end = begin + 1;
    const SegmentKind kind = memory_[begin].segment.kind;
    if (kind == SegmentKind::segment)
        return end;
    const auto home = [this](const Stretch& pages) {
        auto after = std::upper_bound(
            reservations_.begin(), reservations_.end(), pages, [](const auto& a, const auto& b) {
                return std::tie(a.device, a.begin) < std::tie(b.device, b.begin);
            });
        if (after == reservations_.begin())
            return reservations_.end();
        --after;
        const bool inside = after->device == pages.device && after->last >= pages.begin;
        return inside ? after : reservations_.end();
    };
    const auto reservation = home(memory_[begin]);
    while (end < memory_.size() && memory_[end].device == memory_[begin].device &&
           memory_[end].segment.kind == kind && home(memory_[end]) == reservation &&
           (reservation != reservations_.end() || memory_[end].begin == memory_[end - 1].last + 1))
        ++end;
    return end;
}

void MemoryNowMaker::add_gap(NowBar& bar, Bytes at, Bytes size) {
    if (size == 0)
        return;
    ++bar.gaps;
    if (size > bar.gap) {
        bar.gap = size;
        bar.gap_at = at;
    }
}

// `covered` is the offset on the bar up to which everything is accounted for.
void MemoryNowMaker::add_block(NowBar& bar, const Stretch& stretch, Bytes at, Bytes& covered) {
    const Block block = history_.block(stretch.block);
    NowBlock one;
    one.block = stretch.block;
    one.at = at;
    one.size = std::min(stretch.size(), bar.length - at);
    one.site = block.site;
    one.waits = block.freed <= event_;
    if (at > covered)
        add_gap(bar, covered, at - covered);
    const Bytes fresh = at + one.size > covered ? at + one.size - std::max(covered, at) : 0;
    bar.taken += fresh;
    bar.waiting += one.waits ? fresh : 0;
    covered = std::max(covered, at + one.size);
    now_.blocks.push_back(one);
    ++bar.blocks;
}

// One bar from stretches [begin, end) of memory_, with its blocks from `block` on.
std::size_t MemoryNowMaker::add_bar(std::size_t begin, std::size_t end, std::size_t block) {
    NowBar bar;
    const Stretch& first = memory_[begin];
    bar.device = first.device;
    bar.kind = first.segment.kind;
    bar.stream = first.segment.stream;
    bar.born = first.segment.born;
    bar.first_block = static_cast<std::uint32_t>(now_.blocks.size());
    bar.first_hole = static_cast<std::uint32_t>(now_.holes.size());
    for (std::size_t i = begin; i < end; ++i)
        bar.memory += memory_[i].size();
    bar.range = {Address{first.begin}, memory_[end - 1].last - first.begin + 1};
    Bytes at = 0;
    Bytes covered = 0;
    bar.length = ~Bytes{0};
    for (std::size_t i = begin; i < end; ++i) {
        const Stretch& memory = memory_[i];
        if (i > begin && memory.begin > memory_[i - 1].last + 1) {
            add_gap(bar, covered, at - std::min(at, covered));
            const Bytes size = memory.begin - memory_[i - 1].last - 1;
            const Bytes shown = std::min(size, std::max<Bytes>(bar.memory / kHoleShare, 1));
            now_.holes.push_back({at, shown, size});
            ++bar.holes;
            at += shown;
            covered = at;
        }
        for (; block < blocks_.size() && blocks_[block].device == bar.device &&
               blocks_[block].begin <= memory.last;
             ++block)
            add_block(bar, blocks_[block],
                      at + (blocks_[block].begin - std::min(blocks_[block].begin, memory.begin)),
                      covered);
        at += memory.size();
    }
    if (at > covered)
        add_gap(bar, covered, at - covered);
    bar.length = at;
    bar.taken = std::min(bar.taken, bar.memory);
    if (bar.kind == SegmentKind::view) {
        bar.memory = bar.taken = bar.waiting = bar.gap = 0;
        bar.gaps = 0;
        ++now_.views;
    }
    bar.holes = static_cast<std::uint32_t>(now_.holes.size()) - bar.first_hole;
    now_.bars.push_back(bar);
    return block;
}

// Blocks that no memory holds: those close to each other are one bar.
std::size_t MemoryNowMaker::add_stray(std::size_t block, const Stretch* next) {
    NowBar bar;
    const Stretch& first = blocks_[block];
    bar.device = first.device;
    bar.known = false;
    bar.first_block = static_cast<std::uint32_t>(now_.blocks.size());
    bar.first_hole = static_cast<std::uint32_t>(now_.holes.size());
    std::size_t end = block;
    Bytes last = first.last;
    for (; end < blocks_.size() && blocks_[end].device == first.device &&
           (blocks_[end].begin <= last || blocks_[end].begin - last <= kTogether) &&
           (next == nullptr || is_before(blocks_[end], *next));
         ++end)
        last = std::max(last, blocks_[end].last);
    bar.range = {Address{first.begin}, last - first.begin + 1};
    bar.length = bar.range.size;
    Bytes covered = 0;
    const Bytes origin = first.begin;
    for (std::size_t i = block; i < end; ++i)
        add_block(bar, blocks_[i], blocks_[i].begin - origin, covered);
    bar.memory = bar.taken;  // what is between them may belong to anyone
    bar.gap = 0;
    bar.gaps = 0;
    now_.bars.push_back(bar);
    return end;
}

void MemoryNowMaker::sum() {
    for (std::size_t i = 0; i < now_.bars.size(); ++i) {
        const NowBar& bar = now_.bars[i];
        now_.memory += bar.memory;
        now_.taken += bar.taken;
        now_.waiting += bar.waiting;
        now_.gaps += bar.gaps;
        if (bar.gap > now_.gap) {
            now_.gap = bar.gap;
            now_.gap_bar = static_cast<std::uint32_t>(i);
        }
    }
}

}  // namespace

MemoryNow memory_now(const History& history, EventIndex event, const Cancelled& cancelled) {
    return MemoryNowMaker(history, event, cancelled).make();
}

BlockIndex block_at(const MemoryNow& now, const NowBar& bar, Bytes at) {
    const auto begin = now.blocks.begin() + bar.first_block;
    const auto end = begin + bar.blocks;
    const auto after = std::upper_bound(
        begin, end, at, [](Bytes offset, const NowBlock& block) { return offset < block.at; });
    if (after == begin)
        return kNoBlock;
    const NowBlock& block = *(after - 1);
    return at - block.at < block.size ? block.block : kNoBlock;
}

std::vector<std::uint32_t> bar_order(const MemoryNow& now, bool by_address) {
    std::vector<std::uint32_t> order(now.bars.size());
    std::iota(order.begin(), order.end(), 0U);
    if (!by_address)
        std::stable_sort(order.begin(), order.end(), [&now](std::uint32_t a, std::uint32_t b) {
            return now.bars[a].memory > now.bars[b].memory;
        });
    return order;
}

}  // namespace tidemark::viz
