// VectorTrace: a trace made of a plain vector of events, for tests of what stands above the
// formats.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/result.h"
#include "traces/model/event_columns.h"
#include "traces/model/trace.h"

namespace tidemark::support {

class VectorTrace final : public Trace {
  public:
    // `info` is completed with what the events say (counts, slots, duration, one device).
    explicit VectorTrace(std::vector<TraceEvent> events, TraceInfo info = {})
        : events_(std::move(events)), info_(std::move(info)) {
        info_.event_count = events_.size();
        if (info_.devices.empty())
            info_.devices.emplace_back();
        for (const TraceEvent& event : events_) {
            if (event.slot != kNoSlot)
                info_.slot_count = std::max(info_.slot_count, event.slot + 1);
            info_.duration = event.time;
        }
    }

    const TraceInfo& info() const override { return info_; }

    std::uint64_t hash() const override { return 0; }

    std::unique_ptr<TraceCursor> cursor() const override {
        return std::make_unique<Cursor>(events_);
    }

  private:
    // Small batches, so that every test crosses their borders.
    class Cursor final : public TraceCursor {
      public:
        explicit Cursor(const std::vector<TraceEvent>& events) : events_(events) {}

        Result<EventBatch> next() override {
            const std::size_t count = std::min<std::size_t>(3, events_.size() - at_);
            columns_.assign(std::span(events_).subspan(at_, count));
            at_ += count;
            return columns_.batch();
        }

      private:
        const std::vector<TraceEvent>& events_;
        std::size_t at_ = 0;
        EventColumns columns_;
    };

    std::vector<TraceEvent> events_;
    TraceInfo info_;
};

// All events of a cursor.
inline Result<std::vector<TraceEvent>> read_all(TraceCursor& cursor) {
    std::vector<TraceEvent> events;
    for (;;) {
        TM_ASSIGN(const EventBatch batch, cursor.next());
        if (batch.count == 0)
            return events;
        for (std::size_t i = 0; i < batch.count; ++i)
            events.push_back(batch[i]);
    }
}

// All events of a trace that can be read.
inline std::vector<TraceEvent> events_of(const Trace& trace) {
    Result<std::vector<TraceEvent>> events = read_all(*trace.cursor());
    TM_CHECK(events.has_value());
    return std::move(*events);
}

// The usual events, one after the other in time.
class TraceBuilder {
  public:
    TraceBuilder& allocate(std::uint32_t slot, Bytes size, std::uint64_t address = 0,
                           std::uint32_t stream = 0) {
        return add({.size = size, .address = address, .slot = slot, .stream = StreamId{stream}});
    }

    TraceBuilder& end(EventKind kind, std::uint32_t slot, std::uint32_t stream = 0) {
        return add({.slot = slot, .stream = StreamId{stream}, .kind = kind});
    }

    TraceBuilder& free(std::uint32_t slot) { return end(EventKind::free, slot); }

    TraceBuilder& segment(EventKind kind, std::uint64_t address, Bytes size) {
        return add({.size = size, .address = address, .kind = kind});
    }

    TraceBuilder& add(TraceEvent event) {
        event.time = time_++;
        events_.push_back(event);
        return *this;
    }

    VectorTrace build(TraceInfo info = {}) const { return VectorTrace(events_, std::move(info)); }

    const std::vector<TraceEvent>& events() const { return events_; }

  private:
    Nanoseconds time_ = 0;
    std::vector<TraceEvent> events_;
};

}  // namespace tidemark::support
