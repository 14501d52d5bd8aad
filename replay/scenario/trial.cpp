// A trial: devices and allocators, one observer that keeps maxima, and nothing else.
#include "replay/scenario/trial.h"

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>

#include <fmt/format.h>

#include "backends/sim/sim_device.h"
#include "core/base/check.h"
#include "core/base/text.h"
#include "replay/scenario/pool_plans.h"
#include "replay/scenario/workers.h"

namespace tidemark {
namespace {

// Calls by which an allocator gives memory back, or waits until it may.
constexpr std::array kGivesBack{
    DeviceCall::free,        DeviceCall::free_async,
    DeviceCall::trim_pool,   DeviceCall::unreserve,
    DeviceCall::release,     DeviceCall::unmap,
    DeviceCall::synchronize, DeviceCall::synchronize_device,
};

// Keeps the largest of each figure, and the first refusal.
class Peaks final : public Observer {
  public:
    void on_events(const EventBatch& events, const OutcomeBatch& outcomes) override {
        const std::size_t count = events.count;
        Usage most = peak_;
        for (std::size_t i = 0; i < count; ++i) {
            const Usage& usage = outcomes.usage[i];
            if (usage.reserved > most.reserved) [[unlikely]] {
                most.reserved = usage.reserved;
                event_ = outcomes.first_event + i;
            }
            most.mapped = std::max(most.mapped, usage.mapped);
            most.allocated = std::max(most.allocated, usage.allocated);
            most.active = std::max(most.active, usage.active);
            requested_ = std::max(requested_, outcomes.requested[i]);
        }
        peak_ = most;
        if (last_again_ && goes_on_after(last_again_->event, events, outcomes.first_event))
            last_again_.reset();
    }

    void on_refusal(const Refusal& refusal) override {
        if (refusal.what.kind == EventKind::out_of_memory)
            last_again_ = refusal;
        else if (!first_refusal_)
            first_refusal_ = refusal;
    }

    void tell(TrialResult& result) const {
        result.peak = peak_;
        result.peak_requested = requested_;
        result.peak_event = event_;
        result.first_refusal = first_refusal_ ? first_refusal_ : last_again_;
        result.ends_refused = last_again_.has_value();
    }

  private:
    // Does any of these events after `event` ask for memory? (One that is refused is told anew.)
    static bool goes_on_after(std::uint64_t event, const EventBatch& events, std::uint64_t first) {
        const std::size_t begin = event < first ? 0 : event - first + 1;
        return std::any_of(events.kind + std::min(begin, events.count), events.kind + events.count,
                           [](EventKind kind) {
                               return kind == EventKind::allocate ||
                                      kind == EventKind::out_of_memory;
                           });
    }

    Usage peak_;
    Bytes requested_ = 0;
    std::uint64_t event_ = 0;
    std::optional<Refusal> first_refusal_;
    std::optional<Refusal> last_again_;  // of an out_of_memory event that no request follows (yet)
};

// One device of the trace with its allocator.
struct Stand {
    std::unique_ptr<SimDevice> device;
    std::unique_ptr<Allocator> allocator;  // destroyed first: it talks to the device
    DeviceCounters before;                 // the device's, when the allocator got it
};

Nanoseconds time_giving_back(const DeviceCounters& counters) {
    Nanoseconds sum = counters.stall_ns;
    for (const DeviceCall call : kGivesBack)
        sum += counters.call_ns[static_cast<std::size_t>(call)];
    return sum;
}

// Splits the time that goes into giving memory back: called before each event.
class FlushMeter {
  public:
    explicit FlushMeter(std::span<const Stand> stands) : stands_(stands), seen_(stands.size()) {
        for (std::size_t i = 0; i < stands.size(); ++i)
            seen_[i].time = time_giving_back(stands[i].device->counters());
    }

    // Looks at what the last event did.
    void look() {
        for (std::size_t i = 0; i < stands_.size(); ++i) {
            Seen& seen = seen_[i];
            const std::uint64_t retries = stands_[i].allocator->stats().retries;
            const Nanoseconds time = time_giving_back(stands_[i].device->counters());
            if (retries != seen.retries) [[unlikely]]
                total_ += time - seen.time;
            seen = {retries, time};
        }
    }

    Nanoseconds total() const { return total_; }

  private:
    struct Seen {
        std::uint64_t retries = 0;
        Nanoseconds time = 0;
    };

    std::span<const Stand> stands_;
    std::vector<Seen> seen_;
    Nanoseconds total_ = 0;
};

Result<Stand> build(const TrialSetup& setup, const PolicySpec& spec) {
    const Bytes granularity =
        setup.profile != nullptr ? setup.profile->granularity : SimConfig{}.granularity;
    const Bytes held = align_up(setup.overhead, granularity);
    SimConfig config{.capacity = setup.memory == 0 ? SimDevice::kLargestCapacity : setup.memory,
                     .granularity = granularity,
                     .profile = setup.profile,
                     .placement = placement_for(spec)};
    if (setup.limit > 0 && !spec.keeps_limit())
        config.capacity = std::min(config.capacity, held + setup.limit);
    if (held >= config.capacity || config.capacity > SimDevice::kLargestCapacity)
        return fail(ErrorCode::bad_option,
                    fmt::format("a device with {} of which {} are in use cannot be simulated",
                                format_bytes(config.capacity), format_bytes(held)),
                    "--memory");
    Stand stand;
    stand.device = std::make_unique<SimDevice>(config);
    if (held > 0)
        TM_CHECK(stand.device->create({}, held).has_value());
    stand.before = stand.device->counters();
    TM_ASSIGN(stand.allocator, spec.make(*stand.device));
    return stand;
}

void tell_stands(TrialResult& result, std::span<const Stand> stands) {
    for (const Stand& stand : stands) {
        const DeviceCounters& counters = stand.device->counters();
        result.stats += stand.allocator->stats();
        result.device_calls += counters.total_calls() - stand.before.total_calls();
        result.driver_time += counters.total_ns() - stand.before.total_ns();
        result.stall_time += counters.stall_ns;
    }
}

}  // namespace

Result<TrialResult> run_trial(const Trace& trace, const TrialSetup& setup) {
    const TraceInfo& info = trace.info();
    TM_ASSIGN(const PolicySpec spec, setup.policy.with_limit(setup.limit));
    std::vector<Stand> stands;
    std::vector<Lane> lanes;
    for (std::size_t i = 0; i < std::max<std::size_t>(info.devices.size(), 1); ++i) {
        TM_ASSIGN(Stand stand, build(setup, spec));
        lanes.push_back({stand.device.get(), stand.allocator.get(), stand.device->replay_clock()});
        stands.push_back(std::move(stand));
    }
    if (spec.policy->plans_pools)
        TM_TRY(plan_pools(trace, lanes));
    Peaks peaks;
    FlushMeter meter(stands);
    ReplayLimits limits{.stop_at_refusal = setup.stop_at_refusal, .progress = {}};
    if (setup.time_flushes)
        limits.before_event = [&meter](std::uint64_t) { meter.look(); };
    const std::array<Observer*, 1> observers{&peaks};
    const std::unique_ptr<TraceCursor> cursor = trace.cursor();
    TM_ASSIGN(const ReplaySummary summary,
              ReplayEngine(lanes, observers).run(info, *cursor, limits));
    TrialResult result;
    peaks.tell(result);
    tell_stands(result, stands);
    if (setup.time_flushes)
        meter.look();
    result.flush_time = meter.total();
    result.refused = summary.refused;
    result.refused_again = summary.refused_again;
    result.events = summary.events;
    result.makespan = summary.makespan;
    return result;
}

Result<std::vector<TrialResult>> run_trials(const Trace& trace, std::span<const TrialSetup> setups,
                                            const TrialOptions& options) {
    std::vector<std::optional<Result<TrialResult>>> found(setups.size());
    std::mutex mutex;
    std::size_t done = 0;
    run_jobs(setups.size(), options.threads, [&](std::size_t i) {
        found[i] = run_trial(trace, setups[i]);
        if (options.progress) {
            const std::lock_guard lock(mutex);
            options.progress(++done, setups.size());
        }
        return found[i]->has_value();
    });
    std::vector<TrialResult> results;
    results.reserve(setups.size());
    for (std::optional<Result<TrialResult>>& result : found) {
        TM_CHECK(result.has_value());  // those behind the first error are not looked at
        TM_ASSIGN(TrialResult value, std::move(*result));
        results.push_back(std::move(value));
    }
    return results;
}

}  // namespace tidemark
