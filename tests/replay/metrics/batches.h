// Hand-made batches for metrics: rows of (events, outcomes) instead of columns.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "replay/metrics/metric.h"

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

// One event and what became of it.
struct Step {
    Nanoseconds time = 0;
    Bytes reserved = 0;
    Bytes allocated = 0;
    Bytes active = 0;
    Bytes requested = 0;
    EventKind kind = EventKind::allocate;
    Nanoseconds recorded = 0;
    std::uint16_t device = 0;
};

// Shows `steps` to `observer` in batches of `batch`.
inline void show(Observer& observer, std::span<const Step> steps, std::size_t batch) {
    for (std::size_t begin = 0; begin < steps.size(); begin += batch) {
        const auto piece = steps.subspan(begin, std::min(batch, steps.size() - begin));
        std::vector<TraceEvent> events;
        std::vector<Usage> usage;
        std::vector<Bytes> requested;
        std::vector<Nanoseconds> time;
        for (const Step& step : piece) {
            TraceEvent event;
            event.kind = step.kind;
            event.time = step.recorded;
            event.device = step.device;
            events.push_back(event);
            Usage& now = usage.emplace_back();
            now.reserved = step.reserved;
            now.allocated = step.allocated;
            now.active = step.active;
            requested.push_back(step.requested);
            time.push_back(step.time);
        }
        const std::vector<Address> granted(piece.size());
        const Columns columns(events);
        observer.on_events(columns.batch(),
                           {usage.data(), requested.data(), granted.data(), time.data(), begin});
    }
}

inline std::unique_ptr<Metric> make_metric(std::string_view name, const TraceInfo& info) {
    for (const MetricInfo& metric : all_metrics()) {
        if (metric.name == name)
            return metric.make(info);
    }
    return nullptr;
}

// The figure of that name; a default one (name "") if there is none.
inline Measurement figure(const Metric& metric, std::string_view name,
                          std::span<const DeviceContext> contexts = {}) {
    for (const Measurement& measurement : metric.results(contexts)) {
        if (measurement.name == name)
            return measurement;
    }
    return {};
}

}  // namespace tidemark::support
