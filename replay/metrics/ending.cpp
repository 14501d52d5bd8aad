// ending: how long the run took on the virtual clock, and what was still held when it was over.
#include <algorithm>

#include "replay/metrics/metric.h"

namespace tidemark::metrics {
namespace {

class Ending final : public Metric {
  public:
    void on_events(const EventBatch& events, const OutcomeBatch& outcomes) override {
        if (events.count == 0)
            return;
        usage_ = outcomes.usage[events.count - 1];
        requested_ = outcomes.requested[events.count - 1];
    }

    void on_end(Nanoseconds time) override { makespan_ = std::max<Nanoseconds>(time, 0); }

    std::vector<Measurement> results(std::span<const DeviceContext> /*contexts*/) const override {
        return {
            {.name = "makespan_ns",
             .summary = "virtual time from the first event to the end of the run",
             .unit = Unit::nanoseconds,
             .whole = static_cast<std::uint64_t>(makespan_)},
            {.name = "end_reserved_bytes",
             .summary = "memory still held from the device at the end",
             .unit = Unit::bytes,
             .better = Better::neither,
             .whole = usage_.reserved},
            {.name = "end_requested_bytes",
             .summary = "memory that the program never freed, as it requested it",
             .unit = Unit::bytes,
             .better = Better::neither,
             .whole = requested_},
        };
    }

  private:
    Usage usage_;
    Bytes requested_ = 0;
    Nanoseconds makespan_ = 0;
};

}  // namespace

MetricInfo ending() {
    return {
        .name = "ending",
        .summary = "makespan, and what was held at the end",
        .make = [](const TraceInfo&) -> std::unique_ptr<Metric> {
            return std::make_unique<Ending>();
        },
    };
}

}  // namespace tidemark::metrics
