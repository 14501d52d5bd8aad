// private_pools: how much memory captured graphs take, apart from everything else, and how well a
// planning policy could keep to its plan. From the allocators' own counters; several devices add
// their peaks up. Policies without private pools show nothing: they serve all requests in the same
// way.
#include "replay/metrics/metric.h"

namespace tidemark::metrics {
namespace {

class PrivatePools final : public Metric {
  public:
    std::vector<Measurement> results(std::span<const DeviceContext> contexts) const override {
        const AllocatorStats sum = stats_of(contexts);
        return {
            bytes("private_reserved_peak_bytes", "most memory held for private pools",
                  sum.private_reserved_peak),
            bytes("private_reserved_end_bytes", "memory held for private pools at the end",
                  sum.private_reserved),
            count("plan_departures", "requests that differed from the plan", sum.plan_deviations),
        };
    }
};

}  // namespace

MetricInfo private_pools() {
    return {"private_pools",
            "memory held for private pools, and requests that differed from their plans",
            make_metric<PrivatePools>};
}

}  // namespace tidemark::metrics
