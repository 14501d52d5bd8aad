// devices: the peaks of each device, where a trace has several. An event changes the memory of one
// device only: the change of the sums over all devices belongs to it.
#include "replay/metrics/devices.h"

#include <algorithm>
#include <array>
#include <string>

#include <fmt/format.h>

namespace tidemark {
namespace {

constexpr std::string_view kPrefix = "device_";
constexpr std::string_view kOfHost = "the same for host memory";
constexpr std::size_t kFigures = 5;
constexpr std::array<std::string_view, kFigures> kNames{
    "peak_reserved_bytes", "peak_allocated_bytes", "peak_active_bytes", "peak_requested_bytes",
    "peak_reserved_event"};
constexpr std::size_t kMostNamed = 256;  // devices: the events of a trace name no more

// "device_3_peak_active_bytes": measurements point to their names.
std::string_view name_of(std::size_t device, std::size_t figure) {
    static const std::vector<std::string> names = [] {
        std::vector<std::string> all;
        for (std::size_t i = 0; i < kMostNamed * kFigures; ++i)
            all.push_back(fmt::format("{}{}_{}", kPrefix, i / kFigures, kNames[i % kFigures]));
        return all;
    }();
    return names[device * kFigures + figure];
}

class Devices final : public Metric {
  public:
    explicit Devices(const TraceInfo& info) {
        const std::size_t count = std::min(info.devices.size(), kMostNamed);
        if (count < 2)
            return;
        states_.resize(count);
        gpus_ = info.gpus();
        owners_.resize(info.slot_count);
    }

    void on_events(const EventBatch& events, const OutcomeBatch& outcomes) override {
        if (states_.empty())
            return;
        for (std::size_t i = 0; i < events.count; ++i) {
            State& state = states_[owner(events, i)];
            const Usage now = outcomes.usage_everywhere(i);
            const Bytes requested = outcomes.requested_everywhere(i);
            // Modulo 2^64: each may have fallen.
            state.now.reserved += now.reserved - last_.reserved;
            state.now.allocated += now.allocated - last_.allocated;
            state.now.active += now.active - last_.active;
            state.now.requested += requested - last_requested_;
            last_ = now;
            last_requested_ = requested;
            if (state.now.reserved > state.peaks.reserved)
                state.peaks.event = outcomes.first_event + i;
            state.peaks.reserved = std::max(state.peaks.reserved, state.now.reserved);
            state.peaks.allocated = std::max(state.peaks.allocated, state.now.allocated);
            state.peaks.active = std::max(state.peaks.active, state.now.active);
            state.peaks.requested = std::max(state.peaks.requested, state.now.requested);
        }
    }

    std::vector<Measurement> results(std::span<const DeviceContext> /*contexts*/) const override {
        std::vector<Measurement> list;
        for (std::size_t device = 0; device < states_.size(); ++device) {
            const DevicePeaks& peaks = states_[device].peaks;
            const std::array<std::uint64_t, kFigures> values{
                peaks.reserved, peaks.allocated, peaks.active, peaks.requested, peaks.event};
            for (std::size_t figure = 0; figure < kFigures; ++figure)
                list.push_back({.name = name_of(device, figure),
                                .summary = device < gpus_ ? "the same for one device" : kOfHost,
                                .unit = figure + 1 < kFigures ? Unit::bytes : Unit::count,
                                .better = figure < 3 ? Better::less : Better::neither,
                                .whole = values[figure]});
        }
        return list;
    }

  private:
    struct State {
        DevicePeaks now;
        DevicePeaks peaks;
    };

    // The device whose memory event `i` is about: the end of a life may name another one.
    std::size_t owner(const EventBatch& events, std::size_t i) {
        const std::size_t named = std::min<std::size_t>(events.device[i], states_.size() - 1);
        const std::uint32_t slot = events.slot[i];
        switch (events.kind[i]) {
            case EventKind::allocate:
                if (slot < owners_.size())
                    owners_[slot] = static_cast<std::uint16_t>(named);
                return named;
            case EventKind::free:
            case EventKind::finish:
            case EventKind::retire:
            case EventKind::record_use:
                return slot < owners_.size() ? owners_[slot] : named;
            default:
                return named;
        }
    }

    std::vector<State> states_;  // empty: there is one device
    std::size_t gpus_ = 0;
    std::vector<std::uint16_t> owners_;  // by slot
    Usage last_;
    Bytes last_requested_ = 0;
};

}  // namespace

std::string DevicePeaks::text(std::size_t index) const {
    return is_host ? std::string(kHostMemory) : fmt::format("device {}", index);
}

std::size_t gpus_of(std::span<const DevicePeaks> devices) {
    return static_cast<std::size_t>(std::ranges::count(devices, false, &DevicePeaks::is_host));
}

std::vector<DevicePeaks> device_peaks(std::span<const Measurement> measurements) {
    const auto find = [measurements](std::string_view name) {
        return std::ranges::find(measurements, name, &Measurement::name);
    };
    const auto value = [&](std::string_view name) {
        const auto found = find(name);
        return found == measurements.end() ? 0 : found->whole;
    };
    std::vector<DevicePeaks> devices;
    for (std::size_t i = 0; i < kMostNamed && find(name_of(i, 0)) != measurements.end(); ++i)
        devices.push_back({.reserved = value(name_of(i, 0)),
                           .allocated = value(name_of(i, 1)),
                           .active = value(name_of(i, 2)),
                           .requested = value(name_of(i, 3)),
                           .event = value(name_of(i, 4)),
                           .is_host = find(name_of(i, 0))->summary == kOfHost});
    if (devices.empty())
        devices.push_back({.reserved = value(kNames[0]),
                           .allocated = value(kNames[1]),
                           .active = value(kNames[2]),
                           .requested = value(kNames[3]),
                           .event = value(kNames[4])});
    return devices;
}

bool is_of_device(const Measurement& measurement) {
    return measurement.name.starts_with(kPrefix) &&
           std::ranges::any_of(kNames, [&measurement](std::string_view name) {
               return measurement.name.ends_with(name);
           });
}

namespace metrics {

MetricInfo devices() {
    return {"devices", "the peaks of each device, if there are several", make_metric<Devices>};
}

}  // namespace metrics
}  // namespace tidemark
