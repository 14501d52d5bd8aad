// Counters of a replay. The engine reports sums over the devices; an event changes only one device,
// so the change of the sums is that device's.
#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include "core/base/text.h"
#include "replay/record/recorded_policy.h"
#include "replay/report/export/chrome_entries.h"

namespace tidemark::report {
namespace {

constexpr std::array<std::string_view, 3> kCounters{"reserved", "allocated", "requested"};
using Levels = std::array<Bytes, kCounters.size()>;

// Notes the events at which an allocator retried: released its cached memory and asked the driver
// again.
class Retries final : public MemoryObserver {
  public:
    void watch(const Allocator& allocator, const std::uint64_t& event) {
        allocator_ = &allocator;
        event_ = &event;
    }

    // The next event that had one, before `until`; false if there is none.
    bool take(std::uint64_t until, std::uint64_t& event) {
        if (found_.empty() || found_.front() >= until)
            return false;
        event = found_.front();
        found_.pop_front();
        return true;
    }

    void on_allocate(const Request& /*request*/, const Allocation& /*granted*/) override { look(); }

    void on_refused(const Request& /*request*/, const OutOfMemory& /*why*/) override { look(); }

  private:
    void look() {
        if (allocator_ == nullptr || allocator_->stats().retries == seen_)
            return;
        seen_ = allocator_->stats().retries;
        found_.push_back(*event_);
    }

    const Allocator* allocator_ = nullptr;
    const std::uint64_t* event_ = nullptr;
    std::uint64_t seen_ = 0;
    std::deque<std::uint64_t> found_;
};

class Counters final : public Observer {
  public:
    Counters(const TraceInfo& info, std::string label, ChromeEntries& entries)
        : label_(std::move(label)),
          entries_(entries),
          retries_(info.devices.size()),
          device_of_(info.slot_count),
          levels_(info.devices.size() + (info.devices.size() > 1 ? 1 : 0)) {
        for (std::size_t i = 0; i < kCounters.size(); ++i)
            names_[i] = json_text(fmt::format("{} ({})", kCounters[i], label_));
    }

    void listen(RunListeners& listeners) {
        listeners.observer = this;
        listeners.memory = [this](std::size_t device) -> MemoryObserver* {
            return device < retries_.size() ? &retries_[device] : nullptr;
        };
        listeners.begun = [this](std::span<const DeviceContext> contexts,
                                 const std::uint64_t& event) {
            for (std::size_t i = 0; i < std::min(contexts.size(), retries_.size()); ++i)
                retries_[i].watch(*contexts[i].allocator, event);
        };
        listeners.proceed = [this] { return entries_.spill(); };
        for (std::size_t device = 0; device < levels_.size(); ++device)
            for (std::size_t i = 0; i < kCounters.size(); ++i)
                write(device, i, 0, 0);
    }

    void on_events(const EventBatch& events, const OutcomeBatch& outcomes) override {
        for (std::size_t i = 0; i < events.count; ++i) {
            const Usage usage = outcomes.usage_everywhere(i);
            const Levels now{usage.reserved, usage.allocated, outcomes.requested_everywhere(i)};
            if (now == sums_)
                continue;
            change(device_of(events, i), now, events.time[i]);
            if (levels_.size() > 1) {
                const Usage& gpus = outcomes.usage[i];
                change_sum({gpus.reserved, gpus.allocated, outcomes.requested[i]}, events.time[i]);
            }
        }
        write_retries(events, outcomes);
    }

    void on_refusal(const Refusal& refusal) override {
        entries_.add_instant(device(refusal.what.device), refusal.what.time,
                             fmt::format("out of memory ({})", label_),
                             fmt::format(R"("bytes":{},"reserved_bytes":{},"allocated_bytes":{},)"
                                         R"("largest_free_bytes":{})",
                                         refusal.what.size, refusal.usage.reserved,
                                         refusal.usage.allocated, refusal.largest_free));
    }

  private:
    std::size_t device(std::size_t named) const { return std::min(named, retries_.size() - 1); }

    // The device whose memory event `i` changes: a free may come from another device than the
    // request.
    std::size_t device_of(const EventBatch& events, std::size_t i) {
        const std::uint32_t slot = events.slot[i];
        if (slot >= device_of_.size())
            return device(events.device[i]);
        if (events.kind[i] == EventKind::allocate)
            device_of_[slot] = static_cast<std::uint16_t>(device(events.device[i]));
        return device_of_[slot];
    }

    void change(std::size_t device, const Levels& now, Nanoseconds time) {
        for (std::size_t i = 0; i < kCounters.size(); ++i) {
            if (now[i] == sums_[i])
                continue;
            levels_[device][i] += now[i] - sums_[i];
            write(device, i, time, levels_[device][i]);
        }
        sums_ = now;
    }

    void change_sum(const Levels& now, Nanoseconds time) {
        Levels& last = levels_.back();
        for (std::size_t i = 0; i < kCounters.size(); ++i)
            if (now[i] != last[i])
                write(levels_.size() - 1, i, time, now[i]);
        last = now;
    }

    void write(std::size_t device, std::size_t counter, Nanoseconds time, Bytes value) {
        entries_.add('C', device, time,
                     fmt::format(FMT_COMPILE(",\"name\":{},\"args\":{{\"bytes\":{}}}"),
                                 names_[counter], value));
    }

    void write_retries(const EventBatch& events, const OutcomeBatch& outcomes) {
        const std::uint64_t until = outcomes.first_event + events.count;
        for (std::size_t device = 0; device < retries_.size(); ++device)
            for (std::uint64_t event = 0; retries_[device].take(until, event);)
                entries_.add_instant(
                    device, events.time[event - outcomes.first_event],
                    fmt::format("retry ({})", label_),
                    fmt::format("\"bytes\":{}", events.size[event - outcomes.first_event]));
    }

    std::string label_;
    ChromeEntries& entries_;
    std::vector<Retries> retries_;
    std::vector<std::uint16_t> device_of_;  // by slot
    std::array<std::string, kCounters.size()> names_;
    Levels sums_{};
    std::vector<Levels> levels_;  // by device; with several, the last has the sums
};

}  // namespace

Result<void> write_counters(const Trace& trace, const Scenario& scenario, ChromeEntries& entries,
                            const std::function<void(std::uint64_t events_done)>& progress) {
    std::string label = scenario.policy;
    if (label.empty()) {
        TM_ASSIGN(const RecordedPolicy recorded, recorded_policy(trace.info()));
        label = recorded.text;
    }
    Counters counters(trace.info(), std::move(label), entries);
    RunListeners listeners{.progress = progress};
    counters.listen(listeners);
    TM_TRY(run(trace, scenario, listeners));
    return entries.spill();
}

}  // namespace tidemark::report
