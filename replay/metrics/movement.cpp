// movement: bytes that left the device for the host or disk (spilled) and came back (fetched), from
// the devices' copy counters.
#include "replay/metrics/metric.h"

namespace tidemark::metrics {
namespace {

class Movement final : public Metric {
  public:
    std::vector<Measurement> results(std::span<const DeviceContext> contexts) const override {
        Bytes spilled = 0;
        Bytes fetched = 0;
        for (const DeviceContext& context : contexts) {
            spilled += context.device->counters().copied_to_host;
            fetched += context.device->counters().copied_to_device;
        }
        return {
            bytes("spilled_bytes", "bytes copied off the device", spilled),
            bytes("fetched_bytes", "bytes copied back to it", fetched),
        };
    }
};

}  // namespace

MetricInfo movement() {
    return {"movement", "bytes spilled from the device and fetched back", make_metric<Movement>};
}

}  // namespace tidemark::metrics
