// peaks: the largest reserved, allocated, active and requested bytes, where they were first
// reached, and how fragmented memory was. For the peak of reserved that is the event at which most
// of it was in use: memory that is free even then was never needed.
//
// New maxima are rare: most comparisons in the loop fail, and predictably.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "replay/metrics/fragmentation.h"
#include "replay/metrics/metric.h"

namespace tidemark::metrics {
namespace {

// A maximum, and the state in which it was reached.
struct Record {
    Bytes value = 0;
    std::uint64_t event = 0;
    Nanoseconds time = 0;
    Usage usage;
    Bytes requested = 0;
};

class Peaks final : public Metric {
  public:
    void on_events(const EventBatch& events, const OutcomeBatch& outcomes) override {
        Bytes reserved = reserved_.value;
        Bytes allocated = allocated_.value;
        Bytes active = active_;
        Bytes requested = requested_;
        Bytes fullest = fullest_.value;
        for (std::size_t i = 0; i < events.count; ++i) {
            const Usage& usage = outcomes.usage[i];
            if (usage.reserved > reserved) [[unlikely]] {
                reserved = usage.reserved;
                set(reserved_, reserved, outcomes, i);
                fullest = 0;
            }
            if (usage.reserved == reserved && usage.active > fullest) [[unlikely]] {
                fullest = usage.active;
                set(fullest_, fullest, outcomes, i);
            }
            if (usage.allocated > allocated) [[unlikely]] {
                allocated = usage.allocated;
                set(allocated_, allocated, outcomes, i);
            }
            if (usage.active > active) [[unlikely]]
                active = usage.active;
            if (outcomes.requested[i] > requested) [[unlikely]]
                requested = outcomes.requested[i];
        }
        active_ = active;
        requested_ = requested;
    }

    std::vector<Measurement> results(std::span<const DeviceContext> /*contexts*/) const override {
        const double overhead = requested_ == 0 ? 1.0
                                                : static_cast<double>(reserved_.value) /
                                                      static_cast<double>(requested_);
        return {
            bytes("peak_reserved_bytes", "most memory held from the device", reserved_.value),
            bytes("peak_allocated_bytes", "most memory in live allocations, after rounding",
                  allocated_.value),
            bytes("peak_active_bytes", "most memory allocated, or pending free on the device",
                  active_),
            bytes("peak_requested_bytes",
                  "most memory the program requested at once: no policy needs less", requested_,
                  Better::neither),
            ratio("overhead_ratio", "peak reserved / peak requested", overhead),
            ratio("external_fragmentation_at_peak",
                  "share of reserved memory that no allocation occupied, at the peak of reserved, "
                  "where most of it was in use",
                  external_fragmentation(static_cast<double>(fullest_.usage.active),
                                         static_cast<double>(fullest_.usage.reserved))),
            ratio("internal_fragmentation_at_peak",
                  "share of active memory that was not requested, at the allocated peak",
                  internal_fragmentation(static_cast<double>(allocated_.requested),
                                         static_cast<double>(allocated_.usage.active))),
            count("peak_reserved_event", "index of the event that reached peak reserved",
                  reserved_.event, Better::neither),
            time("peak_reserved_time_ns", "virtual time of that event", reserved_.time,
                 Better::neither),
            count("peak_fullest_event",
                  "index of the event with peak reserved at which most of it was in use: the peak",
                  fullest_.event, Better::neither),
            count("peak_allocated_event", "index of the event that reached peak allocated",
                  allocated_.event, Better::neither),
            time("peak_allocated_time_ns", "virtual time of that event", allocated_.time,
                 Better::neither),
        };
    }

  private:
    static void set(Record& record, Bytes value, const OutcomeBatch& outcomes, std::size_t i) {
        record = {.value = value,
                  .event = outcomes.first_event + i,
                  .time = std::max<Nanoseconds>(outcomes.time[i], 0),
                  .usage = outcomes.usage[i],
                  .requested = outcomes.requested[i]};
    }

    Record reserved_;
    Record fullest_;  // of the events with reserved at its peak, where most is active
    Record allocated_;
    Bytes active_ = 0;
    Bytes requested_ = 0;
};

}  // namespace

MetricInfo peaks() {
    return {"peaks",
            "largest reserved, allocated, active and requested bytes, when, and the waste then",
            make_metric<Peaks>};
}

}  // namespace tidemark::metrics
