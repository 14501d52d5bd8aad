// growth: see the header. The time of an event in a replay, less its recorded time, is what the
// device has cost up to then.
#include "replay/metrics/growth.h"

#include <algorithm>

#include "replay/metrics/metric.h"

namespace tidemark {
namespace {

Nanoseconds spent_by(const EventBatch& events, const OutcomeBatch& outcomes, std::size_t i) {
    return outcomes.time[i] - events.time[i];
}

}  // namespace

void GrowthTime::add(const EventBatch& events, const OutcomeBatch& outcomes) {
    for (std::size_t i = 0; i < events.count; ++i) {
        if (outcomes.usage[i].reserved <= most_) [[likely]]
            continue;
        most_ = outcomes.usage[i].reserved;
        const Nanoseconds cost = spent_by(events, outcomes, i) - spent_before(events, outcomes, i);
        total_ += std::max<Nanoseconds>(cost, 0);
    }
    // The next batch continues from the last event of each device.
    std::vector<bool> known(spent_.size());
    for (std::size_t i = events.count, left = known.size(); i-- > 0 && left != 0;) {
        const std::size_t device = std::min<std::size_t>(events.device[i], known.size() - 1);
        if (known[device])
            continue;
        known[device] = true;
        spent_[device] = spent_by(events, outcomes, i);
        --left;
    }
}

Nanoseconds GrowthTime::spent_before(const EventBatch& events, const OutcomeBatch& outcomes,
                                     std::size_t i) const {
    const std::uint16_t device = events.device[i];
    for (std::size_t before = i; before-- > 0;) {
        if (events.device[before] == device)
            return spent_by(events, outcomes, before);
    }
    return spent_[std::min<std::size_t>(device, spent_.size() - 1)];
}

namespace metrics {
namespace {

class Growth final : public Metric {
  public:
    explicit Growth(const TraceInfo& info) : time_(info.devices.size()) {}

    void on_events(const EventBatch& events, const OutcomeBatch& outcomes) override {
        time_.add(events, outcomes);
    }

    std::vector<Measurement> results(std::span<const DeviceContext> /*contexts*/) const override {
        return {time("growth_ns", "device time of events that raised reserved memory to a new peak",
                     time_.total())};
    }

  private:
    GrowthTime time_;
};

}  // namespace

MetricInfo growth() {
    return {"growth", "the cost of reaching the peak, paid once", make_metric<Growth>};
}

}  // namespace metrics
}  // namespace tidemark
