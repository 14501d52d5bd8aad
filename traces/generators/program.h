// Program: a made-up running program. It hands out slots, lets time pass and records what happens,
// so that a generator only decides what is allocated and used, and when. Memory O(live). Not
// thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/base/options.h"
#include "core/base/random.h"
#include "core/base/result.h"
#include "core/base/vacant_ids.h"
#include "traces/model/event_buffer.h"
#include "traces/model/trace.h"

namespace tidemark::generators {

// What advances time: the program, by half a microsecond to two and a half after each event; or the
// generator, with pass() and go_to(), between which everything happens at the same moment.
enum class Pace : std::uint8_t { by_event, by_generator };

// What a kernel does to one allocation.
struct Use {
    std::uint32_t slot = kNoSlot;
    std::uint8_t mode = kReads;  // kReads | kWrites
};

class Program {
  public:
    // `sink` must outlive the program.
    Program(TraceSink& sink, std::uint64_t seed, Pace pace = Pace::by_event)
        : random_(seed), events_(sink), pace_(pace) {}

    // Puts the slot of a new allocation into `slot`. Errors, here and below: those of the sink.
    Result<void> allocate(Bytes size, StreamId stream, std::uint32_t& slot) {
        slot = slots_.take();
        ++live_;
        return add({.size = size, .slot = slot, .stream = stream, .kind = EventKind::allocate});
    }

    Result<void> free(std::uint32_t slot, StreamId stream) {
        slots_.give_back(slot);
        --live_;
        return add({.slot = slot, .stream = stream, .kind = EventKind::free});
    }

    Result<void> record_use(std::uint32_t slot, StreamId stream) {
        return add({.slot = slot, .stream = stream, .kind = EventKind::record_use});
    }

    // One kernel: its uses, which must be resident together, are recorded at its start. It takes no
    // time by itself: the caller adds its duration afterwards (pass).
    Result<void> launch(std::span<const Use> uses, StreamId stream) {
        ++kernel_;
        for (const Use& use : uses)
            TM_TRY(add({.slot = use.slot,
                        .stream = stream,
                        .aux = kernel_,
                        .kind = EventKind::use,
                        .flags = use.mode}));
        return {};
    }

    // A task, which works on `stream` from now on, requests a reservation; and returns one of the
    // same size.
    Result<void> reserve(std::uint32_t task, Bytes size, StreamId stream) {
        return add({.size = size, .stream = stream, .aux = task, .kind = EventKind::reserve});
    }

    Result<void> release(std::uint32_t task, Bytes size, StreamId stream) {
        return add({.size = size, .stream = stream, .aux = task, .kind = EventKind::release});
    }

    // `stream` records the event of that number; `stream` waits for that event.
    Result<void> record_event(std::uint32_t number, StreamId stream) {
        return add({.stream = stream, .aux = number, .kind = EventKind::record_event});
    }

    Result<void> wait_event(std::uint32_t number, StreamId stream) {
        return add({.stream = stream, .aux = number, .kind = EventKind::wait_event});
    }

    // A point of the program.
    Result<void> mark(std::string_view name) { return named(EventKind::mark, name); }

    // A range of the program, as a profiler would show it.
    Result<void> begin(std::string_view name) { return named(EventKind::range_begin, name); }

    Result<void> end(std::string_view name) { return named(EventKind::range_end, name); }

    // Time passes.
    void pass(Nanoseconds duration) { time_ += duration; }

    // Sets the time to `time`, unless that is in the past.
    void go_to(Nanoseconds time) { time_ = std::max(time_, time); }

    Nanoseconds now() const { return time_; }

    Random& random() { return random_; }

    std::uint64_t event_count() const { return events_.count(); }

    std::uint64_t live_count() const { return live_; }

    std::uint32_t slot_count() const { return slots_.count(); }

    // Call this at the end: the information about the trace on `streams` streams.
    Result<TraceInfo> finish(std::uint64_t streams) {
        TM_TRY(events_.flush());
        info_.event_count = events_.count();
        info_.slot_count = slots_.count();
        info_.duration = events_.last_time();
        info_.devices.emplace_back();
        info_.pools.emplace_back("default");
        for (std::uint64_t i = 0; i < streams; ++i)
            info_.streams.push_back(i);
        return std::move(info_);
    }

  private:
    Result<void> add(TraceEvent event) {
        event.time = time_;
        if (pace_ == Pace::by_event)
            time_ += 500 + static_cast<Nanoseconds>(random_.next() >> 53U);
        return events_.add(event);
    }

    Result<void> named(EventKind kind, std::string_view name) {
        return add({.aux = info_.strings.intern(name), .kind = kind});
    }

    Random random_;
    EventBuffer events_;
    VacantIds slots_;
    TraceInfo info_;
    Pace pace_;
    Nanoseconds time_ = 0;
    std::uint64_t live_ = 0;
    std::uint32_t kernel_ = 0;
};

// GeneratorInfo::generate of a generator that is a class with a Program.
template <class Generator>
Result<TraceInfo> run(const Options& options, TraceSink& sink) {
    return Generator(options, sink).run();
}

}  // namespace tidemark::generators
