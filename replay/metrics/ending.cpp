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
            time("makespan_ns", "virtual time from the first event to the end of the run",
                 makespan_),
            bytes("end_reserved_bytes", "memory still held from the device at the end",
                  usage_.reserved, Better::neither),
            bytes("end_requested_bytes", "memory that the program never freed, before rounding",
                  requested_, Better::neither),
        };
    }

  private:
    Usage usage_;
    Bytes requested_ = 0;
    Nanoseconds makespan_ = 0;
};

}  // namespace

MetricInfo ending() {
    return {"ending", "makespan, and memory held at the end", make_metric<Ending>};
}

}  // namespace tidemark::metrics
