// VectorTrace: a trace in memory for tests, in batches as small as one likes, so that what depends
// on the borders of batches shows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "traces/model/trace.h"

namespace tidemark::support {

// Events as columns: an EventBatch and what it points to.
class Columns {
  public:
    explicit Columns(std::span<const TraceEvent> events) {
        for (const TraceEvent& event : events) {
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
    }

    EventBatch batch() const {
        return {.count = kind_.size(),
                .kind = kind_.data(),
                .slot = slot_.data(),
                .time = time_.data(),
                .size = size_.data(),
                .address = address_.data(),
                .stream = stream_.data(),
                .stack = stack_.data(),
                .aux = aux_.data(),
                .tag = tag_.data(),
                .device = device_.data(),
                .flags = flags_.data()};
    }

  private:
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

class VectorTrace final : public Trace {
  public:
    // Fills in what follows from the events: counts, duration, one device, streams.
    explicit VectorTrace(std::vector<TraceEvent> events, std::size_t batch = 1000)
        : events_(std::move(events)), batch_(batch) {
        info_.format = "generated";
        info_.event_count = events_.size();
        info_.devices.resize(1);
        info_.pools = {"default"};
        info_.streams = {0};
        for (const TraceEvent& event : events_) {
            if (event.slot != kNoSlot)
                info_.slot_count = std::max(info_.slot_count, event.slot + 1);
            info_.duration = event.time;
            if (event.device >= info_.devices.size())
                info_.devices.resize(event.device + std::size_t{1});
            while (to_integer(event.stream) >= info_.streams.size())
                info_.streams.push_back(info_.streams.size() * 100);
        }
    }

    const TraceInfo& info() const override { return info_; }

    TraceInfo& change_info() { return info_; }

    std::unique_ptr<TraceCursor> cursor() const override { return std::make_unique<Cursor>(*this); }

    std::uint64_t hash() const override { return events_.size(); }

  private:
    class Cursor final : public TraceCursor {
      public:
        explicit Cursor(const VectorTrace& trace) : trace_(trace) {}

        Result<EventBatch> next() override {
            const std::size_t count = std::min(trace_.batch_, trace_.events_.size() - at_);
            columns_ = Columns(std::span(trace_.events_).subspan(at_, count));
            at_ += count;
            return columns_.batch();
        }

      private:
        const VectorTrace& trace_;
        std::size_t at_ = 0;
        Columns columns_{{}};
    };

    std::vector<TraceEvent> events_;
    std::size_t batch_;
    TraceInfo info_;
};

}  // namespace tidemark::support
