// Traces for the tests of .tmk: events with any values at all that the format promises to keep, and
// ways to write them and read them back.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/random.h"
#include "tests/support/vector_trace.h"
#include "traces/model/trace.h"
#include "traces/tmk/tmk.h"

namespace tidemark::support {

// Keeps what is written.
class Memory final : public ByteSink {
  public:
    Result<void> write(std::span<const std::byte> more) override {
        bytes.insert(bytes.end(), more.begin(), more.end());
        return {};
    }

    std::vector<std::byte> bytes;
};

inline TraceInfo small_info() {
    TraceInfo info;
    info.format = "test";
    info.source = "random_trace.h";
    info.start_time = 1'700'000'000'000'000'000;
    info.begins_inside = true;
    info.devices = {{"card", 80}, {"", 0}, {"third", 1}};
    info.streams = {0, 0xdeadbeef, 7, 8, 9};
    info.pools = {"default", "(0, 1)"};
    info.settings = {{"max_split_size", "none"}, {"", ""}};
    info.metadata = {{"host", "h"}};
    info.warnings = {"a sentence."};
    info.anomalies = {1, 2, 3, 4, 5, 6, 7, 8};
    for (int i = 0; i < 20; ++i)
        info.strings.intern("string " + std::to_string(i));
    for (std::uint32_t i = 0; i < 20; ++i) {
        const std::vector<Frame> frames(i % 5 + 1, Frame{i, i / 2, i * 100});
        info.stacks.intern(frames);
    }
    return info;
}

// Numbers of very different sizes, the extremes among them.
inline std::uint64_t any_number(Random& random) {
    switch (random.below(5)) {
        case 0:
            return 0;
        case 1:
            return std::numeric_limits<std::uint64_t>::max() - random.below(3);
        case 2:
            return random.next() >> random.below(64);
        case 3:
            return 512 * random.below(1000);
        default:
            return std::uint64_t{1} << random.below(64);
    }
}

// Events that fit small_info(), with slots below `count`.
inline std::vector<TraceEvent> any_events(Random& random, std::size_t count) {
    const TraceInfo info = small_info();
    // Some columns vary and some don't, so that every layout appears.
    const std::uint64_t varies = random.next();
    std::vector<TraceEvent> events(count);
    for (TraceEvent& event : events) {
        const auto wild = [&](unsigned column) { return (varies >> column & 1U) != 0; };
        event.kind = static_cast<EventKind>(random.below(wild(0) ? 256 : 3));
        event.slot =
            random.below(8) == 0 ? kNoSlot : static_cast<std::uint32_t>(random.below(count));
        event.time = static_cast<Nanoseconds>(wild(1) ? any_number(random) : random.below(9));
        event.size = wild(2) ? any_number(random) : 7;
        event.address = wild(3) ? any_number(random) : event.slot * std::uint64_t{512};
        event.stream = StreamId{static_cast<std::uint32_t>(wild(4) ? random.below(5) : 3)};
        event.stack = static_cast<std::uint32_t>(wild(5) ? random.below(info.stacks.size()) : 1);
        const bool names = event.kind == EventKind::range_begin ||
                           event.kind == EventKind::range_end || event.kind == EventKind::mark;
        event.aux = static_cast<std::uint32_t>(names ? random.below(info.strings.size())
                                                     : any_number(random));
        event.tag = static_cast<std::uint32_t>(wild(6) ? random.below(info.strings.size()) : 0);
        event.device = static_cast<std::uint16_t>(wild(7) ? random.below(3) : 0);
        event.flags = static_cast<std::uint8_t>(wild(8) ? random.below(256) : 0);
    }
    return events;
}

// Allocations and frees as a program makes them.
inline std::vector<TraceEvent> plain_events(Random& random, std::size_t count) {
    std::vector<TraceEvent> events;
    std::vector<TraceEvent> live;
    std::vector<std::uint32_t> free_slots;
    std::uint32_t slots = 0;
    Nanoseconds time = 0;
    while (events.size() < count) {
        time += static_cast<Nanoseconds>(1000 * random.below(50));
        if (!live.empty() && random.below(2) == 0) {
            std::swap(live[random.below(live.size())], live.back());
            TraceEvent event = live.back();
            live.pop_back();
            free_slots.push_back(event.slot);
            event.time = time;
            event.size = 0;
            event.kind = EventKind::free;
            events.push_back(event);
            continue;
        }
        TraceEvent event;
        event.time = time;
        event.size = 4 * (1 + random.below(1000));
        event.slot = free_slots.empty() ? slots++ : free_slots.back();
        if (!free_slots.empty())
            free_slots.pop_back();
        event.address = 0x7f00'0000'0000U + event.slot * std::uint64_t{4096};
        event.stack = static_cast<std::uint32_t>(random.below(20));
        events.push_back(event);
        live.push_back(event);
    }
    return events;
}

// The file of these events, appended in pieces of up to `piece`.
inline std::vector<std::byte> write_tmk(std::span<const TraceEvent> events, const TraceInfo& info,
                                        std::size_t piece = 1000) {
    Memory memory;
    const auto writer = make_tmk_writer(memory);
    for (; !events.empty(); events = events.subspan(std::min(piece, events.size()))) {
        if (!writer->append(events.first(std::min(piece, events.size()))))
            return {};
    }
    if (!writer->finish(info))
        return {};
    return std::move(memory.bytes);
}

}  // namespace tidemark::support
