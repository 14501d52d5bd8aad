// private_pools: what the memory of captured graphs takes, apart from everything else, and how well
// a planning policy could keep to its plan. From the allocators' own counters; several devices add
// their peaks up. Policies without private pools show nothing: they serve all requests alike.
#include "replay/metrics/metric.h"

namespace tidemark::metrics {
namespace {

class PrivatePools final : public Metric {
  public:
    void on_events(const EventBatch& /*events*/, const OutcomeBatch& /*outcomes*/) override {}

    std::vector<Measurement> results(std::span<const DeviceContext> contexts) const override {
        AllocatorStats sum;
        for (const DeviceContext& context : contexts)
            sum += context.allocator->stats();
        return {
            {.name = "private_reserved_peak_bytes",
             .summary = "most memory held for private pools",
             .unit = Unit::bytes,
             .whole = sum.private_reserved_peak},
            {.name = "private_reserved_end_bytes",
             .summary = "memory held for private pools at the end",
             .unit = Unit::bytes,
             .whole = sum.private_reserved},
            {.name = "plan_departures",
             .summary = "requests for private pools that came otherwise than planned",
             .unit = Unit::count,
             .whole = sum.plan_deviations},
        };
    }
};

}  // namespace

MetricInfo private_pools() {
    return {
        .name = "private_pools",
        .summary = "memory held for private pools, and departures from their plans",
        .make = [](const TraceInfo&) -> std::unique_ptr<Metric> {
            return std::make_unique<PrivatePools>();
        },
    };
}

}  // namespace tidemark::metrics
