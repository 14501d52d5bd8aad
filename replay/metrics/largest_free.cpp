// largest_free: the largest request that the policy could have served without the device, at the
// worst moment and at the end. Sampled: every few thousand events and at the end, so the smallest
// value is an upper bound of the true one.
#include <algorithm>

#include "replay/metrics/metric.h"

namespace tidemark::metrics {
namespace {

class LargestFree final : public Metric {
  public:
    void on_sample(const Sample& sample) override {
        least_ = samples_ == 0 ? sample.largest_free : std::min(least_, sample.largest_free);
        last_ = sample.largest_free;
        ++samples_;
    }

    std::vector<Measurement> results(std::span<const DeviceContext> /*contexts*/) const override {
        return {
            bytes("largest_free_min_bytes", "smallest sampled size of the largest free block",
                  least_, Better::neither),
            bytes("largest_free_end_bytes", "the largest free block at the end", last_,
                  Better::neither),
        };
    }

  private:
    std::uint64_t samples_ = 0;
    Bytes least_ = 0;
    Bytes last_ = 0;
};

}  // namespace

MetricInfo largest_free() {
    return {"largest_free", "the largest free block, at its smallest and at the end",
            make_metric<LargestFree>};
}

}  // namespace tidemark::metrics
