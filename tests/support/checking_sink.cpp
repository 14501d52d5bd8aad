// The promises of a stream of events.
#include "tests/support/checking_sink.h"

#include <algorithm>

#include <fmt/format.h>

namespace tidemark::support {

void CheckingSink::expect(bool condition, const char* promise, std::size_t event) {
    if (!condition && problem_.empty())
        problem_ = fmt::format("event {}: {}", event, promise);
}

void CheckingSink::check(const TraceEvent& event) {
    const std::size_t number = events_.size();
    expect(event.time >= last_time_, "time runs backwards", number);
    expect(to_text(event.kind) != "unknown", "an unknown kind", number);
    last_time_ = event.time;
    // Slots beyond this would show a reader that numbers something else.
    const bool has_slot = event.slot != kNoSlot && event.slot <= events_.size();
    expect(has_slot || event.slot == kNoSlot, "a slot that is not dense", number);
    if (has_slot && event.slot >= slots_.size())
        slots_.resize(event.slot + std::size_t{1}, State::none);
    switch (event.kind) {
        case EventKind::allocate:
            expect(has_slot, "an allocation without a slot", number);
            if (!has_slot)
                break;
            expect(slots_[event.slot] == State::none, "a slot is taken twice", number);
            slots_[event.slot] = State::live;
            most_live_ = std::max(most_live_, ++live_);
            break;
        case EventKind::free:
        case EventKind::retire:
        case EventKind::finish: {
            const State wanted = event.kind == EventKind::finish ? State::retired : State::live;
            if (!has_slot)
                break;  // of something that the trace never introduced
            expect(slots_[event.slot] == wanted, "the end of what is not there", number);
            slots_[event.slot] = event.kind == EventKind::retire ? State::retired : State::none;
            live_ -= event.kind == EventKind::retire ? 0 : 1;
            break;
        }
        case EventKind::use:
        case EventKind::record_use:
        case EventKind::move:
            expect(!has_slot || slots_[event.slot] == State::live, "use of what is not live",
                   number);
            break;
        default:
            break;
    }
}

Result<void> CheckingSink::append(std::span<const TraceEvent> events) {
    for (const TraceEvent& event : events) {
        check(event);
        events_.push_back(event);
    }
    return {};
}

Result<void> CheckingSink::finish(const TraceInfo& info) {
    expect(info.event_count == events_.size(), "event_count is wrong", 0);
    expect(info.slot_count >= slots_.size(), "slot_count is too small", 0);
    expect(info.preamble_count <= events_.size(), "preamble_count is too large", 0);
    expect(info.duration == last_time_, "duration is not the last time", 0);
    expect(!info.devices.empty(), "no device", 0);
    expect(!info.streams.empty() && info.streams[0] == 0, "no default stream", 0);
    expect(!info.pools.empty(), "no default pool", 0);
    for (std::size_t i = 0; i < events_.size(); ++i) {
        const TraceEvent& event = events_[i];
        expect(to_integer(event.stream) < info.streams.size(), "a stream out of range", i);
        expect(event.device < info.devices.size(), "a device out of range", i);
        expect(event.stack < info.stacks.size(), "a stack out of range", i);
        expect(event.tag < info.strings.size(), "a tag out of range", i);
        if (event.kind == EventKind::allocate)
            expect(event.aux < info.pools.size(), "a pool out of range", i);
        if (event.kind >= EventKind::range_begin && event.kind <= EventKind::mark)
            expect(event.aux < info.strings.size(), "a name out of range", i);
        expect(((event.flags & kPreamble) != 0) == (i < info.preamble_count) ||
                   event.kind > EventKind::trim,
               "a preamble that is not at the begin", i);
    }
    return {};
}

}  // namespace tidemark::support
