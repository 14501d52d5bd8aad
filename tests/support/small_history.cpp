// small_history: steps to builder's calls; and random steps.
#include "tests/support/small_history.h"

#include <algorithm>
#include <limits>

#include <catch2/catch.hpp>

#include "tests/support/plain_history.h"

namespace tidemark::support {

SmallHistory::SmallHistory() {
    auto builder = HistoryBuilder::create();
    REQUIRE(builder);
    builder_ = std::move(*builder);
}

Nanoseconds SmallHistory::next_time() {
    const Nanoseconds time = time_;
    time_ += std::min<Nanoseconds>(10, std::numeric_limits<Nanoseconds>::max() - time);
    return time;
}

SmallHistory& SmallHistory::at(Nanoseconds time) {
    time_ = time;
    return *this;
}

SmallHistory& SmallHistory::allocate(std::uint64_t id, Bytes size, const Placed& where) {
    Site site{StreamId{where.stream}, PoolId{where.pool}, 0, 0, where.device, 0};
    if (!where.tag.empty())
        site.tag = builder_->strings().intern(where.tag);
    std::vector<Frame> frames;
    for (const std::string& name : where.stack)
        frames.push_back({builder_->strings().intern(name), 0, 0});
    site.stack = builder_->stacks().intern(frames);
    const Bytes granted = where.granted > 0 ? where.granted : size;
    std::uint64_t address = where.address;
    if (address == 0) {
        address = next_address_;
        next_address_ += granted;
    }
    REQUIRE(builder_->make_room(1));
    blocks_[id] =
        builder_->allocate(next_time(), {Address{address}, granted, size, builder_->site(site)});
    return *this;
}

SmallHistory& SmallHistory::event(EventKind kind, BlockIndex block, std::string_view name) {
    NewEvent event{.time = next_time(), .kind = kind, .block = block};
    if (!name.empty())
        event.name = builder_->strings().intern(name);
    REQUIRE(builder_->make_room(1));
    builder_->add(event);
    return *this;
}

SmallHistory& SmallHistory::free(std::uint64_t id) {
    return event(EventKind::free, blocks_.at(id));
}

SmallHistory& SmallHistory::retire(std::uint64_t id) {
    return event(EventKind::retire, blocks_.at(id));
}

SmallHistory& SmallHistory::finish(std::uint64_t id) {
    return event(EventKind::finish, blocks_.at(id));
}

SmallHistory& SmallHistory::use_of(BlockIndex block, const Used& by, std::uint8_t flags) {
    REQUIRE(builder_->make_room(1));
    builder_->use({.time = next_time(),
                   .block = block,
                   .stream = StreamId{by.stream},
                   .launch = by.launch,
                   .tag = by.name.empty() ? 0 : builder_->strings().intern(by.name),
                   .flags = flags});
    return *this;
}

SmallHistory& SmallHistory::use(std::uint64_t id, const Used& by) {
    return use_of(blocks_.at(id), by,
                  static_cast<std::uint8_t>(kReads | (by.perhaps ? kPerhaps : 0)));
}

SmallHistory& SmallHistory::execution(const Used& by, Nanoseconds begin, Nanoseconds length) {
    REQUIRE(builder_->make_room(1));
    builder_->execution({.time = next_time(),
                         .begin = begin,
                         .length = length,
                         .stream = StreamId{by.stream},
                         .launch = by.launch,
                         .tag = builder_->strings().intern(by.name)});
    return *this;
}

SmallHistory& SmallHistory::use_unknown(const Used& by) {
    return use_of(kNoBlock, by, kPerhaps);
}

SmallHistory& SmallHistory::idle() {
    return event(EventKind::synchronize);
}

SmallHistory& SmallHistory::change(SegmentChange change, std::uint64_t address, Bytes size,
                                   std::uint16_t device) {
    const bool comes = change == SegmentChange::segment_alloc || change == SegmentChange::map;
    const bool goes = change == SegmentChange::segment_free || change == SegmentChange::unmap;
    reserved_ += (comes ? size : 0) - (goes ? size : 0);
    builder_->set_reserved(reserved_);
    const EventIndex at = builder_->next_event();
    event(comes ? EventKind::segment_alloc : EventKind::segment_free);
    builder_->change_segment(device, change, {Address{address}, size}, StreamId{}, at);
    return *this;
}

SmallHistory& SmallHistory::segment(std::uint64_t address, Bytes size, std::uint16_t device) {
    return change(SegmentChange::segment_alloc, address, size, device);
}

SmallHistory& SmallHistory::end_segment(std::uint64_t address, Bytes size, std::uint16_t device) {
    return change(SegmentChange::segment_free, address, size, device);
}

SmallHistory& SmallHistory::reserve(std::uint64_t address, Bytes size, std::uint16_t device) {
    return change(SegmentChange::reserve, address, size, device);
}

SmallHistory& SmallHistory::map(std::uint64_t address, Bytes size, std::uint16_t device) {
    return change(SegmentChange::map, address, size, device);
}

SmallHistory& SmallHistory::unmap(std::uint64_t address, Bytes size, std::uint16_t device) {
    return change(SegmentChange::unmap, address, size, device);
}

SmallHistory& SmallHistory::view(std::uint64_t address, Bytes size, std::uint64_t home) {
    const EventIndex at = builder_->next_event();
    event(EventKind::segment_map);
    builder_->change_segment(0, SegmentChange::map, {Address{address}, size}, StreamId{}, at,
                             Address{home});
    return *this;
}

SmallHistory& SmallHistory::unview(std::uint64_t address, Bytes size) {
    const EventIndex at = builder_->next_event();
    event(EventKind::segment_unmap);
    builder_->change_segment(0, SegmentChange::unmap, {Address{address}, size}, StreamId{}, at,
                             Address{address});
    return *this;
}

SmallHistory& SmallHistory::begin(std::string_view name) {
    return event(EventKind::range_begin, kNoBlock, name);
}

SmallHistory& SmallHistory::end(std::string_view name) {
    return event(EventKind::range_end, kNoBlock, name);
}

SmallHistory& SmallHistory::mark(MarkKind kind, Bytes size, std::string_view name) {
    if (kind == MarkKind::point)
        return event(EventKind::mark, kNoBlock, name);
    if (kind == MarkKind::trim)
        return event(EventKind::trim);
    const EventIndex at = builder_->next_event();
    event(EventKind::out_of_memory);
    builder_->add_mark({.event = at, .kind = kind, .size = size});
    return *this;
}

SmallHistory& SmallHistory::names(HistoryNames names) {
    builder_->set_names(std::move(names));
    return *this;
}

std::shared_ptr<const History> SmallHistory::look() {
    REQUIRE(builder_->publish());
    return builder_->history();
}

std::shared_ptr<const History> SmallHistory::build() {
    REQUIRE(builder_->finish());
    return builder_->history();
}

std::shared_ptr<const History> random_history(std::uint64_t seed, std::size_t events) {
    RandomProgram program(seed);
    for (std::size_t i = 0; i < events; ++i)
        program.step();
    REQUIRE(program.builder().finish());
    return program.builder().history();
}

}  // namespace tidemark::support
