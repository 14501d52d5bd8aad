// EventColumns: events as the columns that an EventBatch points to, for traces made from a plain
// list. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "traces/model/event.h"

namespace tidemark {

class EventColumns {
  public:
    // Replaces the previous ones. O(events).
    void assign(std::span<const TraceEvent> events) {
        const auto fill = [events](auto& column, auto TraceEvent::*field) {
            column.clear();
            for (const TraceEvent& event : events)
                column.push_back(event.*field);
        };
        fill(kind_, &TraceEvent::kind);
        fill(slot_, &TraceEvent::slot);
        fill(time_, &TraceEvent::time);
        fill(size_, &TraceEvent::size);
        fill(address_, &TraceEvent::address);
        fill(stream_, &TraceEvent::stream);
        fill(stack_, &TraceEvent::stack);
        fill(aux_, &TraceEvent::aux);
        fill(tag_, &TraceEvent::tag);
        fill(device_, &TraceEvent::device);
        fill(flags_, &TraceEvent::flags);
    }

    // Valid until the next assign().
    EventBatch batch() const {
        return {kind_.size(), kind_.data(),    slot_.data(),   time_.data(),
                size_.data(), address_.data(), stream_.data(), stack_.data(),
                aux_.data(),  tag_.data(),     device_.data(), flags_.data()};
    }

  private:
    std::vector<EventKind> kind_;
    std::vector<std::uint32_t> slot_, stack_, aux_, tag_;
    std::vector<Nanoseconds> time_;
    std::vector<Bytes> size_;
    std::vector<std::uint64_t> address_;
    std::vector<StreamId> stream_;
    std::vector<std::uint16_t> device_;
    std::vector<std::uint8_t> flags_;
};

}  // namespace tidemark
