// reservations: how long tasks waited for the reservations they requested (`reserve` events).
//
// The wait of an event is how much the run's delay behind the recording grew while the event was
// handled. Without tiers every reservation succeeds at once and waits 0 ns; that is counted, not
// assumed. Quantiles are by nearest rank over all `reserve` events.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "replay/metrics/metric.h"

namespace tidemark::metrics {
namespace {

class Reservations final : public Metric {
  public:
    explicit Reservations(const TraceInfo& info)
        : delays_(std::max<std::size_t>(info.devices.size(), 1)) {}

    void on_events(const EventBatch& events, const OutcomeBatch& outcomes) override {
        if (delays_.size() == 1)
            on_one_device(events, outcomes);
        else
            on_many_devices(events, outcomes);
    }

    std::vector<Measurement> results(std::span<const DeviceContext> /*contexts*/) const override {
        std::vector<std::uint64_t> waits = waits_;
        std::sort(waits.begin(), waits.end());
        return {
            count("reservations", "reservations that tasks requested", at_once_ + waits.size(),
                  Better::neither),
            time("reservation_wait_p50_ns", "half of the reservations waited no longer",
                 quantile(waits, 50)),
            time("reservation_wait_p99_ns", "99 of 100 reservations waited no longer",
                 quantile(waits, 99)),
            time("reservation_wait_max_ns", "the longest wait for a reservation",
                 quantile(waits, 100)),
        };
    }

  private:
    // Modulo 2^64, so that made-up times cannot overflow; a wait is a difference of two.
    static std::uint64_t delay(const EventBatch& events, const OutcomeBatch& outcomes,
                               std::size_t i) {
        return static_cast<std::uint64_t>(outcomes.time[i]) -
               static_cast<std::uint64_t>(events.time[i]);
    }

    void on_one_device(const EventBatch& events, const OutcomeBatch& outcomes) {
        static_assert(sizeof(EventKind) == 1);
        const EventKind* const begin = events.kind;
        const EventKind* const end = begin + events.count;
        // Reservations are rare: memchr skips the rest at many events a nanosecond.
        for (const EventKind* at = begin; at < end; ++at) {
            at = static_cast<const EventKind*>(std::memchr(at, static_cast<int>(EventKind::reserve),
                                                           static_cast<std::size_t>(end - at)));
            if (at == nullptr)
                break;
            const auto i = static_cast<std::size_t>(at - begin);
            add(delay(events, outcomes, i) -
                (i == 0 ? delays_[0] : delay(events, outcomes, i - 1)));
        }
        if (events.count > 0)
            delays_[0] = delay(events, outcomes, events.count - 1);
    }

    // Each device has a clock of its own.
    void on_many_devices(const EventBatch& events, const OutcomeBatch& outcomes) {
        for (std::size_t i = 0; i < events.count; ++i) {
            std::uint64_t& before =
                delays_[std::min<std::size_t>(events.device[i], delays_.size() - 1)];
            const std::uint64_t after = delay(events, outcomes, i);
            if (events.kind[i] == EventKind::reserve)
                add(after - before);
            before = after;
        }
    }

    void add(std::uint64_t wait) {
        if (static_cast<Nanoseconds>(wait) > 0)
            waits_.push_back(wait);
        else
            ++at_once_;
    }

    // Nearest rank: the smallest wait that `percent` of all waits do not exceed.
    Nanoseconds quantile(const std::vector<std::uint64_t>& sorted, std::uint64_t percent) const {
        const std::uint64_t total = at_once_ + sorted.size();
        const std::uint64_t rank = (total * percent + 99) / 100;  // from 1
        return rank <= at_once_ ? 0 : static_cast<Nanoseconds>(sorted[rank - at_once_ - 1]);
    }

    std::uint64_t at_once_ = 0;
    std::vector<std::uint64_t> waits_;   // those that are not 0, as they came
    std::vector<std::uint64_t> delays_;  // by device: of its last event in the batches before
};

}  // namespace

MetricInfo reservations() {
    return {"reservations", "how long tasks waited for reservations: p50, p99, max",
            make_metric<Reservations>};
}

}  // namespace tidemark::metrics
