// outcomes: out-of-memory errors and what the allocators did about them: retries, segments reserved
// from the device and released, waits for the device.
#include "replay/metrics/metric.h"

namespace tidemark::metrics {
namespace {

class Outcomes final : public Metric {
  public:
    void on_refusal(const Refusal& /*refusal*/) override { ++refused_; }

    std::vector<Measurement> results(std::span<const DeviceContext> contexts) const override {
        const AllocatorStats sum = stats_of(contexts);
        return {
            count(
                "out_of_memory",
                "requests that the policy could not serve; those that failed in the recording are "
                "made again",
                refused_),
            count("retries", "times it released its cached memory and tried the device again",
                  sum.retries),
            count("segments_created", "segments it reserved from the device", sum.segments_created,
                  Better::neither),
            count("segments_released", "segments it released to the device", sum.segments_released,
                  Better::neither),
            count("synchronizations", "times it waited for the device", sum.synchronizations),
        };
    }

  private:
    std::uint64_t refused_ = 0;
};

}  // namespace

MetricInfo outcomes() {
    return {"outcomes", "out of memory, retries, segments and waits of the allocators",
            make_metric<Outcomes>};
}

}  // namespace tidemark::metrics
