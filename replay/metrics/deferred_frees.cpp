// deferred_frees: how much memory is in frees that wait to be made in batches
// (deferring_allocator.h). From the allocators' own counters; several devices add their peaks up.
#include "replay/metrics/metric.h"

namespace tidemark::metrics {
namespace {

class DeferredFreesMetric final : public Metric {
  public:
    std::vector<Measurement> results(std::span<const DeviceContext> contexts) const override {
        const AllocatorStats sum = stats_of(contexts);
        return {
            bytes("deferred_peak_bytes", "most memory in frees that were put off",
                  sum.deferred_peak),
            count("deferred_flushes", "batches in which those frees were made", sum.flushes),
        };
    }
};

}  // namespace

MetricInfo deferred_frees() {
    return {"deferred_frees", "memory in frees that were put off, and their batches",
            make_metric<DeferredFreesMetric>};
}

}  // namespace tidemark::metrics
