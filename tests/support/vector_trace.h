// VectorTrace: a trace made of a plain vector of events, for tests of what stands above the
// formats.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

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
            kind_.clear(), slot_.clear(), time_.clear(), size_.clear(), address_.clear();
            stream_.clear(), stack_.clear(), aux_.clear(), tag_.clear(), device_.clear();
            flags_.clear();
            for (std::size_t i = 0; i < count; ++i)
                push(events_[at_ + i]);
            at_ += count;
            return EventBatch{count,        kind_.data(),    slot_.data(),   time_.data(),
                              size_.data(), address_.data(), stream_.data(), stack_.data(),
                              aux_.data(),  tag_.data(),     device_.data(), flags_.data()};
        }

      private:
        void push(const TraceEvent& event) {
            kind_.push_back(event.kind);
            slot_.push_back(event.slot);
            time_.push_back(event.time);
            size_.push_back(event.size);
            address_.push_back(event.address);
            stream_.push_back(event.stream);
            stack_.push_back(event.stack);
            aux_.push_back(event.aux);
            tag_.push_back(event.tag);
            device_.push_back(event.device);
            flags_.push_back(event.flags);
        }

        const std::vector<TraceEvent>& events_;
        std::size_t at_ = 0;
        std::vector<EventKind> kind_;
        std::vector<std::uint32_t> slot_;
        std::vector<Nanoseconds> time_;
        std::vector<Bytes> size_;
        std::vector<std::uint64_t> address_;
        std::vector<StreamId> stream_;
        std::vector<std::uint32_t> stack_;
        std::vector<std::uint32_t> aux_;
        std::vector<std::uint32_t> tag_;
        std::vector<std::uint16_t> device_;
        std::vector<std::uint8_t> flags_;
    };

    std::vector<TraceEvent> events_;
    TraceInfo info_;
};

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
