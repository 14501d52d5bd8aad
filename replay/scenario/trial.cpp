// A trial: devices and allocators, one observer that keeps maxima, and nothing else.
#include "replay/scenario/trial.h"

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>

#include "core/base/check.h"
#include "core/base/random.h"
#include "core/base/threads.h"
#include "replay/metrics/devices.h"
#include "replay/metrics/growth.h"
#include "replay/record/completion_sampler.h"
#include "replay/record/explained_record.h"
#include "traces/model/device_trace.h"

namespace tidemark {
namespace {

// Calls by which an allocator releases memory, or waits until it may.
constexpr std::array kGivesBack{
    DeviceCall::free,        DeviceCall::free_async,
    DeviceCall::trim_pool,   DeviceCall::unreserve,
    DeviceCall::release,     DeviceCall::unmap,
    DeviceCall::synchronize, DeviceCall::synchronize_device,
};

constexpr std::size_t kRefusedKept = 1000;

// A trace in which some allocations belong to another allocator.
class ThinnedCursor final : public TraceCursor {
  public:
    ThinnedCursor(std::unique_ptr<TraceCursor> inner, const std::vector<std::uint64_t>& left_out)
        : inner_(std::move(inner)), left_out_(left_out) {}

    Result<EventBatch> next() override {
        TM_ASSIGN(EventBatch batch, inner_->next());
        kinds_.assign(batch.kind, batch.kind + batch.count);
        for (; next_ < left_out_.size() && left_out_[next_] < first_ + batch.count; ++next_)
            kinds_[left_out_[next_] - first_] = EventKind::block;  // which no allocator sees
        batch.kind = kinds_.data();
        first_ += batch.count;
        return batch;
    }

  private:
    std::unique_ptr<TraceCursor> inner_;
    const std::vector<std::uint64_t>& left_out_;
    std::size_t next_ = 0;
    std::uint64_t first_ = 0;
    std::vector<EventKind> kinds_;
};

// A trace whose graphs share a pool, which exists as long as the program.
class SharedPoolCursor final : public TraceCursor {
  public:
    SharedPoolCursor(std::unique_ptr<TraceCursor> inner, std::vector<std::uint32_t> pools)
        : inner_(std::move(inner)), pools_(std::move(pools)) {}

    Result<EventBatch> next() override {
        TM_ASSIGN(EventBatch batch, inner_->next());
        kinds_.assign(batch.kind, batch.kind + batch.count);
        aux_.assign(batch.aux, batch.aux + batch.count);
        for (std::size_t i = 0; i < batch.count; ++i) {
            const EventKind kind = kinds_[i];
            const bool has_pool = kind == EventKind::allocate || kind == EventKind::out_of_memory ||
                                  kind == EventKind::pool_begin || kind == EventKind::trim;
            if (!has_pool || !std::ranges::binary_search(pools_, aux_[i]))
                continue;
            aux_[i] = pools_.front();
            if (kind == EventKind::trim)
                kinds_[i] = EventKind::block;  // others use it still
        }
        batch.kind = kinds_.data();
        batch.aux = aux_.data();
        return batch;
    }

  private:
    std::unique_ptr<TraceCursor> inner_;
    std::vector<std::uint32_t> pools_;
    std::vector<EventKind> kinds_;
    std::vector<std::uint32_t> aux_;
};

// Keeps the largest of each figure, and the first refusal.
class Peaks final : public Observer {
  public:
    explicit Peaks(std::size_t devices) : growth_(devices) {}

    void on_events(const EventBatch& events, const OutcomeBatch& outcomes) override {
        const std::size_t count = events.count;
        growth_.add(events, outcomes);
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
        if (refused_events_.size() < kRefusedKept)
            refused_events_.push_back(refusal.event);
        if (refusal.what.kind == EventKind::out_of_memory) {
            last_again_ = refusal;
            first_probe_ = first_probe_ ? first_probe_ : refusal;
        } else if (!first_refusal_) {
            first_refusal_ = refusal;
        }
    }

    void report_to(TrialResult& result) const {
        result.peak = peak_;
        result.peak_requested = requested_;
        result.peak_event = event_;
        result.growth_time = growth_.total();
        result.first_refusal = first_refusal_ ? first_refusal_ : last_again_;
        result.first_probe = first_probe_;
        result.refused_events = refused_events_;
        result.ends_refused = last_again_.has_value();
    }

  private:
    // Does any of these events after `event` request memory? (If it fails, it is reported again.)
    static bool goes_on_after(std::uint64_t event, const EventBatch& events, std::uint64_t first) {
        const std::size_t begin = event < first ? 0 : event - first + 1;
        return std::any_of(events.kind + std::min(begin, events.count), events.kind + events.count,
                           [](EventKind kind) {
                               return kind == EventKind::allocate ||
                                      kind == EventKind::out_of_memory;
                           });
    }

    Usage peak_;
    GrowthTime growth_;
    Bytes requested_ = 0;
    std::uint64_t event_ = 0;
    std::optional<Refusal> first_refusal_;
    std::optional<Refusal> first_probe_;
    std::vector<std::uint64_t> refused_events_;
    std::optional<Refusal> last_again_;  // of an out_of_memory event that no request follows (yet)
};

Nanoseconds time_giving_back(const DeviceCounters& counters) {
    Nanoseconds sum = counters.stall_ns;
    for (const DeviceCall call : kGivesBack)
        sum += counters.call_ns[static_cast<std::size_t>(call)];
    return sum;
}

// Measures the time spent on releasing memory: called before each event.
class FlushMeter {
  public:
    explicit FlushMeter(std::span<const DeviceContext> contexts)
        : contexts_(contexts), seen_(contexts.size()) {
        for (std::size_t i = 0; i < contexts.size(); ++i)
            seen_[i].time = time_giving_back(contexts[i].device->counters());
    }

    // Checks what the last event did.
    void look() {
        for (std::size_t i = 0; i < contexts_.size(); ++i) {
            Seen& seen = seen_[i];
            const std::uint64_t retries = contexts_[i].allocator->stats().retries;
            const Nanoseconds time = time_giving_back(contexts_[i].device->counters());
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

    std::span<const DeviceContext> contexts_;
    std::vector<Seen> seen_;
    Nanoseconds total_ = 0;
};

// What each of several GPUs reserves at most; empty for one, whose peak is the sum's.
std::vector<Bytes> reserved_by_device(const Metric& metric,
                                      std::span<const DeviceContext> contexts) {
    std::vector<Bytes> peaks;
    if (contexts.size() > 1)
        for (const DevicePeaks& device : device_peaks(metric.results(contexts)))
            if (!device.is_host)
                peaks.push_back(device.reserved);
    return peaks.size() > 1 ? peaks : std::vector<Bytes>();
}

void add_counters(TrialResult& result, std::span<const DeviceContext> contexts) {
    for (const DeviceContext& context : contexts) {
        const DeviceCounters& counters = context.device->counters();
        result.stats += context.allocator->stats();
        result.device_calls += counters.total_calls();
        result.driver_time += counters.total_ns();
        result.stall_time += counters.stall_ns;
    }
}

// Another run of the program loads its kernels at another moment, or none that are big.
LateHole late_hole(const TrialSetup& setup) {
    if (setup.completions == nullptr && !setup.placement)
        return {};
    Random random(~setup.placement.value_or(setup.seed));
    constexpr std::uint64_t kSeenAfter = 16;
    constexpr std::array<Bytes, 4> kSeen{0, 0, 414_MiB, 446_MiB};
    const Bytes size = kSeen[random.below(kSeen.size())];
    return {.after = random.below(kSeenAfter), .size = size};
}

// The recorded run, if `setup` matches it; else null.
const ExplainedRecord* recorded_run(const Trace& trace, const TrialSetup& setup) {
    const ExplainedRecord* const record = explained_record(trace);
    const std::vector<TraceDevice>& devices = trace.info().devices;
    const bool same_card = setup.memory == 0 || setup.memory_assumed ||
                           (!devices.empty() && setup.memory == devices[0].total_memory);
    const bool other_run = setup.simulated || setup.placement || setup.completions != nullptr ||
                           setup.trim_before || !setup.elsewhere.empty() || setup.prime != 0 ||
                           setup.one_graph_pool;
    if (record == nullptr || !same_card || setup.overhead != 0 || other_run)
        return nullptr;
    return record->is_replay(setup.policy, setup.limit ? &*setup.limit : nullptr) ? record
                                                                                  : nullptr;
}

// On the device that the trace is cut down to, else on each.
void prime(const Trace& trace, std::span<const DeviceContext> contexts, Bytes size) {
    const DeviceTrace* const one = device_trace(trace);
    for (std::size_t i = 0; i < contexts.size(); ++i) {
        if (size == 0 || (one != nullptr && one->device() != i))
            continue;
        Allocator& allocator = *contexts[i].allocator;
        if (const auto granted = allocator.allocate({.size = size}))
            allocator.deallocate(*granted, StreamId::default_stream);
    }
}

}  // namespace

std::vector<std::uint32_t> graph_pools(const TraceInfo& info) {
    std::vector<std::uint32_t> found;
    for (std::uint32_t i = 1; i < info.pools.size(); ++i)
        if (info.pools[i].find("(0, ") == std::string::npos)
            found.push_back(i);
    return found;
}

Bytes limit_of(const Trace& trace, const TrialSetup& setup, std::size_t device) {
    const ExplainedRecord* const record = explained_record(trace);
    if (setup.limit || record == nullptr)
        return setup.limit.value_or(0);
    return record->limit_under(setup.policy, device);
}

Result<Machine> trial_machine(const Trace& trace, const TrialSetup& setup) {
    MachineSetup machine;
    machine.policy = setup.policy;
    machine.record = recorded_run(trace, setup);
    machine.profile = setup.profile;
    machine.held = setup.overhead;
    machine.late_hole = late_hole(setup);
    const std::size_t devices = std::max<std::size_t>(trace.info().devices.size(), 1);
    machine.memory.assign(devices, setup.memory);
    for (std::size_t i = 0; i < devices; ++i)
        machine.limits.push_back(limit_of(trace, setup, i));
    return Machine::build(trace, machine);
}

Result<TrialResult> run_trial(const Trace& trace, const TrialSetup& setup) {
    const TraceInfo& info = trace.info();
    TM_ASSIGN(Machine machine, trial_machine(trace, setup));
    prime(trace, machine.contexts(), setup.prime);
    Peaks peaks(info.devices.size());
    FlushMeter meter(machine.contexts());
    ReplayLimits limits{.stop_at_refusal = setup.stop_at_refusal,
                        .stop_at_probe = setup.stop_at_probe,
                        .progress = {}};
    limits.empty_before = setup.trim_before;
    if (setup.time_flushes)
        limits.before_event = [&](std::uint64_t /*event*/) { meter.look(); };
    std::optional<CompletionSampler> completions;
    if (setup.completions != nullptr && setup.completions->uncertain())
        limits.completions = &completions.emplace(*setup.completions, setup.seed);
    const std::unique_ptr<Metric> devices = metrics::devices().make(info);
    const std::array<Observer*, 2> both{&peaks, devices.get()};
    // Of one device the sum says it.
    const auto observers = std::span(both).first(info.devices.size() > 1 ? 2 : 1);
    std::unique_ptr<TraceCursor> cursor = trace.cursor();
    if (!setup.elsewhere.empty())
        cursor = std::make_unique<ThinnedCursor>(std::move(cursor), setup.elsewhere);
    if (setup.one_graph_pool)
        cursor = std::make_unique<SharedPoolCursor>(std::move(cursor), graph_pools(info));
    TM_ASSIGN(const ReplaySummary summary,
              machine.replay(info, *cursor, observers, std::move(limits)));
    TrialResult result;
    peaks.report_to(result);
    add_counters(result, machine.contexts());
    if (setup.time_flushes)
        meter.look();
    result.flush_time = meter.total();
    if (device_trace(trace) == nullptr)
        result.device_peaks = reserved_by_device(*devices, machine.contexts());
    result.refused = summary.refused;
    result.refused_again = summary.refused_again;
    result.probes_granted = summary.probes_granted;
    result.events = summary.events;
    result.makespan = summary.makespan;
    if (recorded_run(trace, setup) == nullptr)
        TM_TRY(check_counts(*setup.policy.policy, result.peak.reserved, result.peak.allocated));
    return result;
}

Result<std::vector<TrialResult>> run_trials(const Trace& trace, std::span<const TrialSetup> setups,
                                            const TrialOptions& options) {
    std::vector<std::optional<Result<TrialResult>>> found(setups.size());
    std::mutex mutex;
    std::size_t done = 0;
    parallel_for(setups.size(), options.threads, [&](std::size_t i, unsigned) {
        if (options.stop && options.stop())
            return false;
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
        if (!result.has_value() && options.stop && options.stop())
            break;
        TM_CHECK(result.has_value());  // those behind the first error are not looked at
        TM_ASSIGN(TrialResult value, std::move(*result));
        results.push_back(std::move(value));
    }
    return results;
}

}  // namespace tidemark
