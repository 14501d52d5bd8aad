// Program: a made-up program at work. It hands out slots, lets time pass and writes down what
// happens, so that a generator is only about what is allocated and when.
// Memory O(live). Not thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/random.h"
#include "core/base/result.h"
#include "traces/model/event_buffer.h"
#include "traces/model/lifetimes.h"
#include "traces/model/trace.h"

namespace tidemark::generators {

class Program {
  public:
    // `sink` must outlive the program.
    Program(TraceSink& sink, std::uint64_t seed) : random_(seed), events_(sink) {}

    // Puts the slot of a new allocation into `slot`. Errors, here and below: those of the sink.
    Result<void> allocate(Bytes size, StreamId stream, std::uint32_t& slot) {
        slot = slots_.acquire();
        ++live_;
        return add(EventKind::allocate, stream, slot, size);
    }

    Result<void> free(std::uint32_t slot, StreamId stream) {
        slots_.release(slot);
        --live_;
        return add(EventKind::free, stream, slot);
    }

    Result<void> record_use(std::uint32_t slot, StreamId stream) {
        return add(EventKind::record_use, stream, slot);
    }

    // A range of the program, as a profiler would show it.
    Result<void> begin(std::string_view name) { return named(EventKind::range_begin, name); }

    Result<void> end(std::string_view name) { return named(EventKind::range_end, name); }

    Random& random() { return random_; }

    std::uint64_t event_count() const { return events_.count(); }

    std::uint64_t live_count() const { return live_; }

    std::uint32_t slot_count() const { return slots_.count(); }

    // To be called at the end: what there is to say about the trace on `streams` streams.
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
    Result<void> add(EventKind kind, StreamId stream, std::uint32_t slot, Bytes size = 0,
                     std::uint32_t aux = 0) {
        TraceEvent event;
        event.time = time_;
        event.kind = kind;
        event.stream = stream;
        event.slot = slot;
        event.size = size;
        event.aux = aux;
        time_ += 500 + static_cast<Nanoseconds>(random_.next() >> 53U);
        return events_.add(event);
    }

    Result<void> named(EventKind kind, std::string_view name) {
        return add(kind, StreamId::default_stream, kNoSlot, 0, info_.strings.intern(name));
    }

    Random random_;
    EventBuffer events_;
    SlotPool slots_;
    TraceInfo info_;
    Nanoseconds time_ = 0;
    std::uint64_t live_ = 0;
};

}  // namespace tidemark::generators
