// deferred_frees: what frees that are made in batches hold meanwhile (deferring_allocator.h). From
// the allocators' own counters; several devices add their peaks up.
#include "replay/metrics/metric.h"

namespace tidemark::metrics {
namespace {

class DeferredFreesMetric final : public Metric {
  public:
    std::vector<Measurement> results(std::span<const DeviceContext> contexts) const override {
        const AllocatorStats sum = stats_of(contexts);
        return {
            bytes("deferred_peak_bytes", "most memory whose free waited to be made",
                  sum.deferred_peak),
            count("deferred_flushes", "batches in which waiting frees were made", sum.flushes),
        };
    }
};

}  // namespace

MetricInfo deferred_frees() {
    return {"deferred_frees", "memory whose frees waited, and their batches",
            make_metric<DeferredFreesMetric>};
}

}  // namespace tidemark::metrics
