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
#include "traces/model/event_columns.h"

namespace tidemark::support {

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
    std::uint32_t slot = kNoSlot;
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
            event.slot = step.slot;
            events.push_back(event);
            Usage& now = usage.emplace_back();
            now.reserved = step.reserved;
            now.allocated = step.allocated;
            now.active = step.active;
            requested.push_back(step.requested);
            time.push_back(step.time);
        }
        const std::vector<Address> granted(piece.size());
        EventColumns columns;
        columns.assign(events);
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
