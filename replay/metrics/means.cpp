// means: reserved, allocated, active and requested bytes averaged over the run's virtual time, and
// the fragmentation that follows from them.
//
// A value holds from its event to the next one; the integrals are exact 128-bit integers, so that
// the result depends neither on the batches nor on the order of additions. In a trace without
// times every event holds for one nanosecond: a mean over events.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "replay/metrics/fragmentation.h"
#include "replay/metrics/metric.h"

namespace tidemark::metrics {
namespace {

__extension__ using Wide = unsigned __int128;

// A value over time and its integral in byte-nanoseconds, which cannot overflow below 2^63 bytes
// for 2^63 ns.
struct Level {
    Wide integral = 0;
    Bytes value = 0;
    Nanoseconds since = 0;

    void hold_until(Nanoseconds time) {
        integral += Wide{value} * static_cast<std::uint64_t>(time - since);
        since = time;
    }

    void change(Bytes to, Nanoseconds time) {
        hold_until(time);
        value = to;
    }
};

class Means final : public Metric {
  public:
    explicit Means(const TraceInfo& info) : timed_(info.duration > 0) {}

    void on_events(const EventBatch& events, const OutcomeBatch& outcomes) override {
        if (timed_)
            add<true>(events.count, outcomes);
        else
            add<false>(events.count, outcomes);
    }

    void on_end(Nanoseconds time) override {
        now_ = timed_ ? std::max(now_, time) : static_cast<Nanoseconds>(events_);
        for (Level* level : {&reserved_, &allocated_, &waiting_, &requested_})
            level->hold_until(now_);
    }

    std::vector<Measurement> results(std::span<const DeviceContext> /*contexts*/) const override {
        const Wide active = allocated_.integral + waiting_.integral;
        return {
            bytes("mean_reserved_bytes", "time-weighted mean of reserved memory",
                  mean(reserved_.integral)),
            bytes("mean_allocated_bytes", "time-weighted mean of allocated memory",
                  mean(allocated_.integral)),
            bytes("mean_active_bytes", "time-weighted mean of active memory", mean(active)),
            bytes("mean_requested_bytes", "time-weighted mean of requested memory",
                  mean(requested_.integral), Better::neither),
            ratio("external_fragmentation_mean",
                  "share of reserved memory that no allocation occupied, over the run",
                  external_fragmentation(static_cast<double>(active),
                                         static_cast<double>(reserved_.integral))),
            ratio("internal_fragmentation_mean",
                  "share of active memory that was not requested, over the run",
                  internal_fragmentation(static_cast<double>(requested_.integral),
                                         static_cast<double>(active))),
        };
    }

  private:
    // Rounded to the nearest byte.
    Bytes mean(Wide integral) const {
        const auto span = static_cast<std::uint64_t>(now_);
        return span == 0 ? 0 : static_cast<Bytes>((integral + span / 2) / span);
    }

    // Reserved and pending bytes change seldom, the others all the time.
    template <bool Timed>
    void add(std::size_t count, const OutcomeBatch& outcomes) {
        Level allocated = allocated_;
        Level requested = requested_;
        Nanoseconds now = now_;
        for (std::size_t i = 0; i < count; ++i) {
            now = Timed ? std::max(now, outcomes.time[i])
                        : static_cast<Nanoseconds>(outcomes.first_event + i);
            const Usage& usage = outcomes.usage[i];
            allocated.change(usage.allocated, now);
            requested.change(outcomes.requested[i], now);
            if (usage.reserved != reserved_.value) [[unlikely]]
                reserved_.change(usage.reserved, now);
            if (usage.active - usage.allocated != waiting_.value) [[unlikely]]
                waiting_.change(usage.active - usage.allocated, now);
        }
        allocated_ = allocated;
        requested_ = requested;
        now_ = now;
        events_ += count;
    }

    bool timed_;
    Nanoseconds now_ = 0;  // never runs backwards; counts events if not timed
    std::uint64_t events_ = 0;
    Level reserved_;
    Level allocated_;
    Level waiting_;  // active - allocated
    Level requested_;
};

}  // namespace

MetricInfo means() {
    return {"means", "time-weighted means of the same, and the waste over the whole run",
            make_metric<Means>};
}

}  // namespace tidemark::metrics
