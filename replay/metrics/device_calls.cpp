// device_calls: how often the device was called, how long its calls took and how long it made the
// program wait, together and for each kind of call. From the devices' own counters; costs nothing
// per event. Kinds that were never called are there too, so that reports always have the same keys.
#include <algorithm>
#include <array>
#include <cstddef>
#include <string>

#include "replay/metrics/metric.h"

namespace tidemark::metrics {
namespace {

// "calls_malloc" and "calls_malloc_ns", ... by DeviceCall.
struct CallNames {
    std::string calls;
    std::string time;
};

const std::array<CallNames, kDeviceCallCount>& call_names() {
    static const auto names = [] {
        std::array<CallNames, kDeviceCallCount> made;
        for (std::size_t i = 0; i < made.size(); ++i) {
            made[i].calls = "calls_" + std::string(to_text(static_cast<DeviceCall>(i)));
            made[i].time = made[i].calls + "_ns";
        }
        return made;
    }();
    return names;
}

class DeviceCalls final : public Metric {
  public:
    std::vector<Measurement> results(std::span<const DeviceContext> contexts) const override {
        std::uint64_t total = 0;
        Nanoseconds driver = 0;
        Nanoseconds stall = 0;
        for (const DeviceContext& context : contexts) {
            const DeviceCounters& counters = context.device->counters();
            total += counters.total_calls();
            driver += counters.total_ns();
            stall += counters.stall_ns;
        }
        std::vector<Measurement> figures{
            count("device_calls", "device calls of every kind", total),
            time("driver_ns", "time spent in those calls, excluding waits", driver),
            time("stall_ns", "time spent waiting for queued work on the device", stall),
        };
        for (std::size_t i = 0; i < call_names().size(); ++i) {
            std::uint64_t calls = 0;
            Nanoseconds spent = 0;
            for (const DeviceContext& context : contexts) {
                calls += context.device->counters().calls[i];
                spent += context.device->counters().call_ns[i];
            }
            const CallNames& names = call_names()[i];
            figures.push_back(count(names.calls, "device calls of this kind", calls));
            figures.push_back(time(names.time, "time spent in them, excluding waits", spent));
        }
        return figures;
    }
};

}  // namespace

MetricInfo device_calls() {
    return {"device_calls", "device calls of each kind, driver time and stalls",
            make_metric<DeviceCalls>};
}

}  // namespace tidemark::metrics
