// outcomes: out of memory and what the allocators did about it: retries,
// pieces of memory taken from the device and given back, waits for the device.
#include "replay/metrics/metric.h"

namespace tidemark::metrics {
namespace {

class Outcomes final : public Metric {
  public:
    void on_events(const EventBatch& /*events*/, const OutcomeBatch& /*outcomes*/) override {}

    void on_refusal(const Refusal& /*refusal*/) override { ++refused_; }

    std::vector<Measurement> results(std::span<const DeviceContext> contexts) const override {
        AllocatorStats sum;
        for (const DeviceContext& context : contexts)
            sum += context.allocator->stats();
        return {
            count(
                "out_of_memory",
                "requests that the policy could not serve; those that failed in the recording are "
                "made again",
                Better::less, refused_),
            count("retries", "times it released what it had cached and tried the device again",
                  Better::less, sum.retries),
            count("segments_created", "pieces of memory it took from the device", Better::neither,
                  sum.segments_created),
            count("segments_released", "pieces of memory it gave back", Better::neither,
                  sum.segments_released),
            count("synchronizations", "times it waited for the device", Better::less,
                  sum.synchronizations),
        };
    }

  private:
    static Measurement count(std::string_view name, std::string_view summary, Better better,
                             std::uint64_t value) {
        return {.name = name,
                .summary = summary,
                .unit = Unit::count,
                .better = better,
                .whole = value};
    }

    std::uint64_t refused_ = 0;
};

}  // namespace

MetricInfo outcomes() {
    return {
        .name = "outcomes",
        .summary = "out of memory, retries, segments and waits of the allocators",
        .make = [](const TraceInfo&) -> std::unique_ptr<Metric> {
            return std::make_unique<Outcomes>();
        },
    };
}

}  // namespace tidemark::metrics
