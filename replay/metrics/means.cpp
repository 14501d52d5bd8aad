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

// Byte-nanoseconds. Below 2^63 bytes held for 2^63 ns they cannot overflow.
struct Integrals {
    Wide reserved = 0;
    Wide allocated = 0;
    Wide active = 0;
    Wide requested = 0;

    void add(const Usage& usage, Bytes asked, std::uint64_t held) {
        reserved += Wide{usage.reserved} * held;
        allocated += Wide{usage.allocated} * held;
        active += Wide{usage.active} * held;
        requested += Wide{asked} * held;
    }
};

class Means final : public Metric {
  public:
    explicit Means(bool timed) : timed_(timed) {}

    void on_events(const EventBatch& events, const OutcomeBatch& outcomes) override {
        if (events.count == 0)
            return;
        if (timed_)
            add_timed(events.count, outcomes);
        else
            add_untimed(events.count, outcomes);
    }

    void on_end(Nanoseconds time) override {
        if (timed_)
            advance(time);
    }

    std::vector<Measurement> results(std::span<const Lane> /*lanes*/) const override {
        return {
            bytes("mean_reserved_bytes", "time-weighted mean of reserved memory", Better::less,
                  mean(sums_.reserved)),
            bytes("mean_allocated_bytes", "time-weighted mean of allocated memory", Better::less,
                  mean(sums_.allocated)),
            bytes("mean_active_bytes", "time-weighted mean of active memory", Better::less,
                  mean(sums_.active)),
            bytes("mean_requested_bytes", "time-weighted mean of what the program asked for",
                  Better::neither, mean(sums_.requested)),
            {.name = "external_fragmentation_mean",
             .summary = "share of reserved memory that no allocation occupied, over the run",
             .unit = Unit::ratio,
             .real = external_fragmentation(static_cast<double>(sums_.active),
                                            static_cast<double>(sums_.reserved))},
            {.name = "internal_fragmentation_mean",
             .summary = "share of active memory that was not asked for, over the run",
             .unit = Unit::ratio,
             .real = internal_fragmentation(static_cast<double>(sums_.requested),
                                            static_cast<double>(sums_.active))},
        };
    }

  private:
    static Measurement bytes(std::string_view name, std::string_view summary, Better better,
                             Bytes value) {
        return {.name = name,
                .summary = summary,
                .unit = Unit::bytes,
                .better = better,
                .whole = value};
    }

    // Rounded to the nearest byte.
    Bytes mean(Wide sum) const {
        return span_ == 0 ? 0 : static_cast<Bytes>((sum + span_ / 2) / span_);
    }

    // Lets the last state hold until `time`. Clocks never run backwards here.
    void advance(Nanoseconds time) {
        if (time <= time_)
            return;
        const auto held = static_cast<std::uint64_t>(time - time_);
        sums_.add(usage_, requested_, held);
        span_ += held;
        time_ = time;
    }

    void add_timed(std::size_t count, const OutcomeBatch& outcomes) {
        advance(outcomes.time[0]);
        const std::size_t last = count - 1;
        Integrals sums = sums_;
        Nanoseconds now = time_;
        for (std::size_t i = 0; i < last; ++i) {
            const Nanoseconds next = std::max(now, outcomes.time[i + 1]);
            sums.add(outcomes.usage[i], outcomes.requested[i],
                     static_cast<std::uint64_t>(next - now));
            now = next;
        }
        span_ += static_cast<std::uint64_t>(now - time_);
        sums_ = sums;
        time_ = now;
        usage_ = outcomes.usage[last];
        requested_ = outcomes.requested[last];
    }

    void add_untimed(std::size_t count, const OutcomeBatch& outcomes) {
        for (std::size_t i = 0; i < count; ++i)
            sums_.add(outcomes.usage[i], outcomes.requested[i], 1);
        span_ += count;
    }

    bool timed_;
    Integrals sums_;
    std::uint64_t span_ = 0;  // nanoseconds that the sums cover; events if not timed
    Nanoseconds time_ = 0;    // from when on the state below holds
    Usage usage_;
    Bytes requested_ = 0;
};

}  // namespace

MetricInfo means() {
    return {
        .name = "means",
        .summary = "time-weighted means of the same, and waste over the whole run",
        .make = [](const TraceInfo& info) -> std::unique_ptr<Metric> {
            return std::make_unique<Means>(info.duration > 0);
        },
    };
}

}  // namespace tidemark::metrics
