// movement: bytes that left the device for the host or disk (spilled) and came back (fetched), from
// the devices' copy counters.
#include "replay/metrics/metric.h"

namespace tidemark::metrics {
namespace {

class Movement final : public Metric {
  public:
    void on_events(const EventBatch& /*events*/, const OutcomeBatch& /*outcomes*/) override {}

    std::vector<Measurement> results(std::span<const DeviceContext> contexts) const override {
        Bytes spilled = 0;
        Bytes fetched = 0;
        for (const DeviceContext& context : contexts) {
            spilled += context.device->counters().copied_to_host;
            fetched += context.device->counters().copied_to_device;
        }
        return {
            {.name = "spilled_bytes",
             .summary = "bytes copied off the device",
             .unit = Unit::bytes,
             .whole = spilled},
            {.name = "fetched_bytes",
             .summary = "bytes copied back to it",
             .unit = Unit::bytes,
             .whole = fetched},
        };
    }
};

}  // namespace

MetricInfo movement() {
    return {
        .name = "movement",
        .summary = "bytes spilled from the device and fetched back",
        .make = [](const TraceInfo&) -> std::unique_ptr<Metric> {
            return std::make_unique<Movement>();
        },
    };
}

}  // namespace tidemark::metrics
