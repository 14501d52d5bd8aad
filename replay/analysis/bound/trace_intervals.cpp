// Live intervals, by slot.
#include "replay/analysis/bound/trace_intervals.h"

#include <algorithm>
#include <limits>

namespace tidemark {
namespace {

constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

// Where the interval of a live slot is.
struct Live {
    std::uint16_t device = 0;
    std::size_t interval = kNone;
};

class Intervals {
  public:
    Intervals(const TraceInfo& info, Bytes alignment)
        : info_(info), alignment_(alignment), live_(info.slot_count), devices_(info.gpus()) {
        for (std::size_t i = 0; i < devices_.size(); ++i)
            devices_[i].device = static_cast<std::uint16_t>(i);
    }

    void see(const EventBatch& events, std::size_t i, std::uint64_t event) {
        const std::uint32_t slot = events.slot[i];
        if (slot >= live_.size())
            return;
        if (events.kind[i] == EventKind::free || events.kind[i] == EventKind::finish)
            end(slot, event);
        if (events.kind[i] == EventKind::retire && live_[slot].interval != kNone)
            devices_[live_[slot].device].waits = true;
        if (events.kind[i] != EventKind::allocate)
            return;
        end(slot, event);
        if (events.size[i] == 0 || events.size[i] >= std::numeric_limits<Bytes>::max() / 2 ||
            events.device[i] >= devices_.size() || (events.flags[i] & kTierMask) != 0)
            return;
        DeviceIntervals& device = devices_[events.device[i]];
        live_[slot] = {events.device[i], device.intervals.size()};
        device.events.push_back(event);
        device.intervals.push_back({.begin = static_cast<std::int64_t>(event),
                                    .end = static_cast<std::int64_t>(info_.event_count),
                                    .size = (events.size[i] + alignment_ - 1) & ~(alignment_ - 1)});
    }

    std::vector<DeviceIntervals> take() {
        std::erase_if(devices_, [](const auto& device) { return device.intervals.empty(); });
        return std::move(devices_);
    }

  private:
    void end(std::uint32_t slot, std::uint64_t event) {
        Live& live = live_[slot];
        if (live.interval != kNone)
            devices_[live.device].intervals[live.interval].end = static_cast<std::int64_t>(event);
        live.interval = kNone;
    }

    const TraceInfo& info_;
    Bytes alignment_;
    std::vector<Live> live_;
    std::vector<DeviceIntervals> devices_;
};

}  // namespace

Result<std::vector<DeviceIntervals>> trace_intervals(const Trace& trace, Bytes alignment) {
    Intervals intervals(trace.info(), alignment);
    const std::unique_ptr<TraceCursor> cursor = trace.cursor();
    std::uint64_t event = 0;
    for (;;) {
        TM_ASSIGN(const EventBatch batch, cursor->next());
        if (batch.count == 0)
            return intervals.take();
        for (std::size_t i = 0; i < batch.count; ++i)
            intervals.see(batch, i, event++);
    }
}

}  // namespace tidemark
