// history: the queries about events, blocks and the rest. Those of the series are in
// history_series.cpp.
#include "replay/timeline/history.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include <unistd.h>

#include "replay/timeline/block_walk.h"
#include "replay/timeline/history_columns.h"

namespace tidemark {
namespace {

std::uint64_t last_byte(Address address, Bytes size) {
    const std::uint64_t begin = to_integer(address);
    const std::uint64_t last = begin + (size - 1);
    return last < begin ? std::numeric_limits<std::uint64_t>::max() : last;
}

EventIndex below(EventIndex event, std::size_t events) {
    return event < events ? event : kNever;
}

}  // namespace

std::string_view to_text(Series series) {
    constexpr std::string_view kNames[kSeriesCount] = {"reserved", "allocated", "active",
                                                       "requested"};
    return kNames[static_cast<std::size_t>(series)];
}

History::History(std::unique_ptr<Columns> columns) : columns_(std::move(columns)) {}

History::~History() = default;

HistoryCounts History::counts() const {
    return columns_->counts.get();
}

bool History::complete() const {
    return columns_->complete.load(std::memory_order_acquire);
}

std::size_t History::most_events() const {
    return complete() ? counts().events : columns_->most_events;
}

const std::string& History::kept_in() const {
    static const std::string nowhere;
    return columns_->is_kept.load(std::memory_order_acquire) ? columns_->folder : nowhere;
}

void History::bring_in(const std::atomic<bool>& cancelled) const {
    constexpr std::size_t kStep = std::size_t{16} << 20U;

    struct Part {
        const MappedBytes* bytes = nullptr;
        std::size_t size = 0;
    };

    std::vector<Part> parts;
    static_cast<void>(columns_->for_each([&](const char*, auto& column, std::size_t) {
        if (column.size() > 0)
            parts.push_back({column.bytes(), column.size() * sizeof(column[0])});
        return Result<void>();
    }));
    // Trees and lists are short and used most.
    std::sort(parts.begin(), parts.end(),
              [](const Part& a, const Part& b) { return a.size < b.size; });
    std::size_t room = static_cast<std::size_t>(std::max(::sysconf(_SC_PHYS_PAGES), 0L)) *
                       static_cast<std::size_t>(std::max(::sysconf(_SC_PAGESIZE), 0L)) / 2;
    for (const Part& part : parts) {
        for (std::size_t begin = 0; begin < part.size; begin += kStep) {
            const std::size_t size = std::min(kStep, part.size - begin);
            if (cancelled.load() || size > room)
                return;
            part.bytes->bring_in(begin, size);
            room -= size;
        }
    }
}

Nanoseconds History::time(EventIndex event) const {
    return columns_->time(event);
}

EventKind History::kind(EventIndex event) const {
    return columns_->kinds[event];
}

BlockIndex History::block_at(EventIndex event) const {
    return columns_->blocks_of_events[event];
}

Block History::block(BlockIndex block) const {
    const std::size_t events = columns_->kinds.size();
    const BlockRecord& record = columns_->blocks[block];
    Block life;
    life.address = record.address;
    life.size = columns_->granted(block);
    life.requested = record.requested;
    life.born = record.born;
    life.freed = below(get_shared(record.freed), events);
    life.reused = columns_->reused(block, life.freed, events);
    life.site = get_shared(record.site) & ~kWaited;
    return life;
}

const Site& History::site(std::uint32_t index) const {
    return columns_->sites[index];
}

BlockIndex History::born_before(EventIndex event) const {
    const std::size_t count = columns_->counts.get().blocks;
    const BlockRecord* const first = count > 0 ? &columns_->blocks[0] : nullptr;
    return static_cast<BlockIndex>(
        std::partition_point(first, first + count,
                             [event](const BlockRecord& block) { return block.born < event; }) -
        first);
}

void History::for_each_live(EventIndex event, const std::function<void(BlockIndex)>& visit) const {
    for_each_within(event, event, visit);
}

void History::for_each_within(EventIndex begin, EventIndex end,
                              const std::function<void(BlockIndex)>& visit) const {
    const std::size_t events = columns_->kinds.size();
    const BlockIndex limit = born_before(end == kNever ? kNever : end + 1);
    walk_forward(
        *columns_, 0, limit,
        [begin](const BlockNode& node) { return get_shared(node.end) <= begin; },
        [&](BlockIndex block) {
            const EventIndex freed = get_shared(columns_->blocks[block].freed);
            if (freed > begin || columns_->reused(block, freed, events) > begin)
                visit(block);
            return true;
        });
}

BlockIndex History::find(std::uint16_t device, Address address, EventIndex event) const {
    const std::size_t events = columns_->kinds.size();
    const std::uint64_t byte = to_integer(address);
    BlockIndex found = kNoBlock;
    walk_backward(
        *columns_, born_before(event == kNever ? kNever : event + 1),
        [byte, event](const BlockNode& node) {
            return get_shared(node.end) <= event || byte < node.lowest || byte > node.highest;
        },
        [&](BlockIndex block) {
            const BlockRecord& record = columns_->blocks[block];
            const Bytes size = columns_->granted(block);
            if (byte < to_integer(record.address) || size == 0 ||
                byte > last_byte(record.address, size) ||
                columns_->reused(block, get_shared(record.freed), events) <= event ||
                site(get_shared(record.site) & ~kWaited).device != device)
                return true;
            found = block;
            return false;
        });
    return found;
}

namespace {

// The bytes of a block, and who else has some of them.
class Neighbours {
  public:
    Neighbours(const History& history, const History::Columns& columns, BlockIndex block)
        : history_(history), columns_(columns) {
        const Block whole = history.block(block);
        empty_ = whole.size == 0;
        first_ = to_integer(whole.address);
        last_ = empty_ ? first_ : last_byte(whole.address, whole.size);
        device_ = history.site(whole.site).device;
    }

    bool empty() const { return empty_; }

    bool skips(const BlockNode& node) const { return node.highest < first_ || node.lowest > last_; }

    bool overlaps(BlockIndex block) const {
        const BlockRecord& record = columns_.blocks[block];
        const std::uint64_t begin = to_integer(record.address);
        if (begin > last_)
            return false;
        const Bytes size = columns_.granted(block);
        return size != 0 && last_byte(record.address, size) >= first_ &&
               history_.site(get_shared(record.site) & ~kWaited).device == device_;
    }

  private:
    const History& history_;
    const History::Columns& columns_;
    bool empty_ = false;
    std::uint64_t first_ = 0;
    std::uint64_t last_ = 0;
    std::uint16_t device_ = 0;
};

// The first block that `walk(skip, visit)` comes by which overlaps `block`.
template <class Walk>
BlockIndex first_overlap(const History& history, const History::Columns& columns, BlockIndex block,
                         Walk&& walk) {
    const Neighbours near(history, columns, block);
    BlockIndex found = kNoBlock;
    if (!near.empty())
        walk([&near](const BlockNode& node) { return near.skips(node); },
             [&](BlockIndex other) {
                 if (near.overlaps(other))
                     found = other;
                 return found == kNoBlock;
             });
    return found;
}

}  // namespace

BlockIndex History::before(BlockIndex block) const {
    return first_overlap(*this, *columns_, block, [&](auto&& skip, auto&& visit) {
        walk_backward(*columns_, block, skip, visit);
    });
}

BlockIndex History::after(BlockIndex block) const {
    return first_overlap(*this, *columns_, block, [&](auto&& skip, auto&& visit) {
        walk_forward(*columns_, std::size_t{block} + 1, columns_->counts.get().blocks, skip, visit);
    });
}

Segment History::segment(SegmentIndex segment) const {
    const std::size_t events = columns_->kinds.size();
    const Segment& stored = columns_->segments[segment];
    Segment copy;
    copy.begin = stored.begin;
    copy.size = stored.size;
    copy.home = stored.home;
    copy.born = stored.born;
    copy.died = below(get_shared(stored.died), events);
    copy.device = stored.device;
    copy.kind = stored.kind;
    copy.stream = stored.stream;
    copy.page = stored.page;
    return copy;
}

Annotation History::annotation(std::size_t index) const {
    const Annotation& stored = columns_->annotations[index];
    return {stored.begin, below(get_shared(stored.end), columns_->kinds.size()), stored.name,
            stored.depth};
}

Mark History::mark(std::size_t index) const {
    return columns_->marks[index];
}

Launch History::launch(std::size_t index) const {
    const Launch& stored = columns_->launches[index];
    return {stored.begin,
            below(get_shared(stored.end), columns_->kinds.size()),
            stored.stream,
            stored.tag,
            get_shared(stored.uses),
            stored.first_use};
}

Execution History::execution(std::size_t index) const {
    return columns_->executions[index];
}

LaunchUses History::uses(std::size_t launch) const {
    const Launch whole = this->launch(launch);
    const std::size_t events = columns_->kinds.size();
    LaunchUses result;
    std::vector<std::pair<BlockIndex, bool>> found;  // surely
    std::uint32_t left = whole.uses;
    std::size_t use = whole.first_use;
    for (std::size_t event = whole.begin; event < events && left > 0; ++event) {
        if (columns_->kinds[event] != EventKind::use)
            continue;
        const std::uint32_t here = columns_->uses[use++].launch;
        if ((here & (LaunchUse::kUnknown - 1)) != launch)
            continue;
        --left;
        result.unknown = result.unknown || (here & LaunchUse::kUnknown) != 0;
        if (columns_->blocks_of_events[event] != kNoBlock)
            found.emplace_back(columns_->blocks_of_events[event],
                               (here & LaunchUse::kPossible) == 0);
    }
    std::sort(found.begin(), found.end());
    for (std::size_t i = 0; i < found.size(); ++i) {
        const BlockIndex block = found[i].first;
        if (i + 1 < found.size() && found[i + 1].first == block)
            continue;
        result.blocks.push_back(block);
        result.size += columns_->granted(block);
        result.possible += found[i].second ? 0U : 1U;
    }
    return result;
}

const StringTable& History::strings() const {
    return columns_->strings;
}

const StackTable& History::stacks() const {
    return columns_->stacks;
}

const std::vector<std::uint64_t>& History::streams() const {
    return columns_->names.load(std::memory_order_acquire)->streams;
}

const std::vector<std::string>& History::pools() const {
    return columns_->names.load(std::memory_order_acquire)->pools;
}

const std::vector<std::string>& History::devices() const {
    return columns_->names.load(std::memory_order_acquire)->devices;
}

Bytes History::capacity() const {
    return columns_->names.load(std::memory_order_acquire)->capacity;
}

Bytes History::limit() const {
    return columns_->names.load(std::memory_order_acquire)->limit;
}

}  // namespace tidemark
