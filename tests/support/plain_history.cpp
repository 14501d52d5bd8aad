// plain_history: answers by looking at everything, and programs made of chance.
#include "tests/support/plain_history.h"

#include <algorithm>
#include <limits>

#include <catch2/catch.hpp>

namespace tidemark::support {
namespace {

__extension__ using Wide = unsigned __int128;

// Where blocks are: near the begin, the middle and the end of all addresses.
constexpr std::uint64_t kAreas[] = {0, std::uint64_t{1} << 45U, ~std::uint64_t{0} - 0xffff};
constexpr Bytes kArea = 0x10000;

Wide end_of(const BlockLife& block) {
    const Wide end = Wide{to_integer(block.address)} + block.size;
    return std::min(end, Wide{1} << 64U);
}

void widen(SeriesColumn& column, const SeriesValues& values) {
    for (std::size_t s = 0; s < kSeriesCount; ++s) {
        column.min.value[s] = std::min(column.min.value[s], values.value[s]);
        column.max.value[s] = std::max(column.max.value[s], values.value[s]);
    }
    column.last = values;
}

template <class T>
T take(std::vector<T>& from, std::size_t index) {
    const T taken = from[index];
    from.erase(from.begin() + static_cast<std::ptrdiff_t>(index));
    return taken;
}

}  // namespace

Position PlainHistory::position(AxisUnit unit, std::size_t event) const {
    return unit == AxisUnit::time ? events[event].time : static_cast<Position>(event) * 1000;
}

std::size_t PlainHistory::event_from(AxisUnit unit, Position at) const {
    std::size_t event = 0;
    while (event < events.size() && position(unit, event) < at)
        ++event;
    return event;
}

EventIndex PlainHistory::peak_event(Series series) const {
    std::size_t best = 0;
    for (std::size_t i = 1; i < events.size(); ++i) {
        if (events[i].values[series] > events[best].values[series])
            best = i;
    }
    return static_cast<EventIndex>(best);
}

std::vector<SeriesColumn> PlainHistory::series(AxisUnit unit, Position begin, Position end,
                                               std::size_t columns) const {
    std::vector<SeriesColumn> result;
    const Wide width = static_cast<std::uint64_t>(end) - static_cast<std::uint64_t>(begin);
    const auto edge = [&](std::size_t i) {
        const auto offset = static_cast<std::uint64_t>(width * i / columns);
        return event_from(unit, static_cast<Position>(static_cast<std::uint64_t>(begin) + offset));
    };
    for (std::size_t i = 0; i < columns; ++i) {
        SeriesColumn column;
        const std::size_t first = edge(i);
        const std::size_t last = edge(i + 1);
        column.first_event = static_cast<EventIndex>(first);
        column.events = static_cast<EventIndex>(last - first);
        if (first > 0)
            column.last = events[first - 1].values;
        column.min = column.max = column.last;
        for (std::size_t event = first; event < last; ++event)
            widen(column, events[event].values);
        result.push_back(column);
    }
    return result;
}

std::vector<BlockIndex> PlainHistory::within(EventIndex begin, EventIndex end) const {
    std::vector<BlockIndex> found;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        if (blocks[i].born <= end && blocks[i].reused > begin)
            found.push_back(static_cast<BlockIndex>(i));
    }
    return found;
}

BlockIndex PlainHistory::find(std::uint16_t device, std::uint64_t byte, EventIndex event) const {
    for (const BlockIndex block : within(event, event)) {
        const BlockLife& life = blocks[block];
        if (sites[life.site].device == device && to_integer(life.address) <= byte &&
            byte < end_of(life))
            return block;
    }
    return kNoBlock;
}

bool PlainHistory::overlap(const BlockLife& a, const BlockLife& b) const {
    return sites[a.site].device == sites[b.site].device && a.size > 0 && b.size > 0 &&
           to_integer(a.address) < end_of(b) && to_integer(b.address) < end_of(a);
}

BlockIndex PlainHistory::before(BlockIndex block) const {
    for (BlockIndex other = block; other-- > 0;) {
        if (overlap(blocks[block], blocks[other]))
            return other;
    }
    return kNoBlock;
}

BlockIndex PlainHistory::after(BlockIndex block) const {
    for (BlockIndex other = block + 1; other < blocks.size(); ++other) {
        if (overlap(blocks[block], blocks[other]))
            return other;
    }
    return kNoBlock;
}

RandomProgram::RandomProgram(std::uint64_t seed, bool exact) : random_(seed), exact_(exact) {
    auto builder = HistoryBuilder::create();
    REQUIRE(builder);
    builder_ = std::move(*builder);
    constexpr Nanoseconds kSteps[] = {1, 100, Nanoseconds{1} << 36U};
    longest_ = kSteps[random_.below(3)];
    constexpr Nanoseconds kStarts[] = {0, 1000, Nanoseconds{1} << 62U, -500};
    time_ = kStarts[random_.below(4)];
    devices_ = 1 + static_cast<unsigned>(random_.below(2));
    HistoryNames names;
    names.devices.resize(devices_);
    names.streams = {0, 0x55aa, 0x7700};
    names.capacity = Bytes{1} << 40U;
    builder_->set_names(std::move(names));
    for (const char* const name : {"step", "forward", "backward", "optimizer"}) {
        const Frame frame{builder_->strings().intern(name), builder_->strings().intern("main.py"),
                          7};
        const Frame frames[] = {frame, {frame.file, frame.file, 1}};
        builder_->stacks().intern(frames);
    }
}

Nanoseconds RandomProgram::next_time() {
    if (random_.below(3) != 0)
        time_ += static_cast<Nanoseconds>(random_.below(static_cast<std::uint64_t>(longest_)));
    return time_;
}

// Where nobody else is.
std::uint64_t RandomProgram::free_address(std::uint16_t device, Bytes size) {
    for (;;) {
        BlockLife candidate;
        candidate.address = Address{kAreas[random_.below(3)] + random_.below(0x1000) * 16};
        candidate.size = size;
        const bool taken =
            std::any_of(plain_.blocks.begin(), plain_.blocks.end(), [&](const BlockLife& block) {
                return block.reused == kNever && plain_.sites[block.site].device == device &&
                       to_integer(block.address) < end_of(candidate) &&
                       to_integer(candidate.address) < end_of(block);
            });
        if (!taken)
            return to_integer(candidate.address);
    }
}

// What a run would report: anything, if it likes.
const SeriesValues* RandomProgram::exact_values() {
    if (!exact_)
        return nullptr;
    if (random_.below(8) == 0)
        extra_.value[random_.below(kSeriesCount)] = random_.below(0x10000);
    reported_ = now_;
    for (std::size_t s = 0; s < kSeriesCount; ++s)
        reported_.value[s] += extra_.value[s];
    return &reported_;
}

void RandomProgram::finish_event(EventKind kind, BlockIndex block) {
    SeriesValues values = exact_ ? reported_ : now_;
    plain_.events.push_back({time_, kind, block, values});
}

void RandomProgram::allocate() {
    const Site site{StreamId{static_cast<std::uint32_t>(random_.below(3))}, PoolId{},
                    static_cast<std::uint32_t>(random_.below(5)),           0,
                    static_cast<std::uint16_t>(random_.below(devices_)),    0};
    const Bytes requested = random_.below(4) == 0 ? 0 : random_.below(256);
    const Bytes size = requested + random_.below(3) * 16;
    const std::uint32_t number = builder_->site(site);
    if (number == plain_.sites.size())
        plain_.sites.push_back(site);
    const auto index = static_cast<BlockIndex>(plain_.blocks.size());
    const std::uint64_t address = free_address(site.device, size);
    now_[Series::allocated] += size;
    now_[Series::active] += size;
    now_[Series::requested] += requested;
    const auto event = static_cast<EventIndex>(plain_.events.size());
    REQUIRE(builder_->allocate(next_time(), {Address{address}, size, requested, number},
                               exact_values()) == index);
    plain_.blocks.push_back({Address{address}, size, requested, event, kNever, kNever, number});
    live_.push_back(index);
    finish_event(EventKind::allocate, index);
}

// Of something that lives or waits; or of nothing.
void RandomProgram::end() {
    const auto event = static_cast<EventIndex>(plain_.events.size());
    NewEvent what{.time = next_time()};
    if (!retired_.empty() && random_.below(2) == 0) {
        what.kind = EventKind::finish;
        what.block = take(retired_, random_.below(retired_.size()));
        BlockLife& block = plain_.blocks[what.block];
        block.reused = event;
        now_[Series::active] -= block.size;
        now_[Series::requested] -= block.requested;
    } else if (!live_.empty()) {
        constexpr EventKind kEnds[] = {EventKind::free, EventKind::free, EventKind::free,
                                       EventKind::retire, EventKind::finish};
        what.kind = kEnds[random_.below(5)];
        what.deferred = what.kind == EventKind::free && random_.below(4) == 0;
        const bool last = random_.below(2) == 0;
        what.block = take(live_, last ? live_.size() - 1 : random_.below(live_.size()));
        BlockLife& block = plain_.blocks[what.block];
        const bool waits = what.deferred || what.kind == EventKind::retire;
        block.freed = event;
        block.reused = waits ? kNever : event;
        now_[Series::allocated] -= block.size;
        if (!waits)
            now_[Series::active] -= block.size;
        if (what.kind != EventKind::retire)
            now_[Series::requested] -= block.requested;
        if (waits)
            (what.deferred ? deferred_ : retired_).push_back(what.block);
    } else {
        what.kind = EventKind::free;
    }
    what.values = exact_values();
    builder_->add(what);
    finish_event(what.kind, what.block);
}

void RandomProgram::other() {
    NewEvent what{.time = next_time(), .kind = EventKind::synchronize};
    const bool is_use = !live_.empty() && random_.below(2) == 0;
    if (is_use) {
        what.kind = EventKind::use;
        what.block = live_[random_.below(live_.size())];
    } else if (random_.below(4) == 0) {
        what.kind = random_.below(2) == 0 ? EventKind::range_begin : EventKind::range_end;
        what.name = 1 + static_cast<std::uint32_t>(random_.below(3));
    }
    if (!exact_ && random_.below(2) == 0) {
        now_[Series::reserved] = random_.below(0x100000);
        builder_->set_reserved(now_[Series::reserved]);
    }
    what.values = exact_values();
    if (is_use)
        builder_->use({.time = what.time, .block = what.block, .values = what.values});
    else
        builder_->add(what);
    finish_event(what.kind, what.block);
}

void RandomProgram::step() {
    REQUIRE(builder_->make_room(1));
    const std::uint64_t dice = random_.below(16);
    if (dice < 7 && live_.size() < 200)
        allocate();
    else if (dice < 13)
        end();
    else
        other();
    if (!deferred_.empty() && random_.below(4) == 0) {
        const BlockIndex block = take(deferred_, random_.below(deferred_.size()));
        builder_->reuse(block);
        plain_.blocks[block].reused = static_cast<EventIndex>(plain_.events.size() - 1);
        now_[Series::active] -= plain_.blocks[block].size;
    }
    if (plain_.events.size() == 1) {
        for (std::size_t i = 0; i < devices_ * std::size(kAreas); ++i)
            builder_->change_segment(
                static_cast<std::uint16_t>(i / std::size(kAreas)), SegmentChange::segment_alloc,
                {Address{kAreas[i % std::size(kAreas)]}, kArea}, StreamId{}, 0);
    }
    if (random_.below(64) == 0) {
        const auto event = static_cast<EventIndex>(plain_.events.size() - 1);
        builder_->change_segment(0, SegmentChange::segment_alloc, {Address{next_segment_}, 0x1000},
                                 StreamId{}, event);
        next_segment_ += 0x1000;
    }
}

}  // namespace tidemark::support
