// scenario: builds what a scenario names (policy, simulated devices, observers), lets the engine
// run, and gathers the figures.
#include "replay/scenario/scenario.h"

#include <algorithm>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "core/base/check.h"
#include "core/base/text.h"
#include "replay/record/allocator_family.h"
#include "replay/record/explained_record.h"
#include "replay/record/program_order.h"
#include "replay/record/recorded_policy.h"
#include "replay/scenario/machine.h"
#include "traces/model/scaled_trace.h"

namespace tidemark {
namespace {

constexpr std::size_t kRefusalsKept = 16;
constexpr std::uint64_t kEventsPerProgress = 1024;  // on real hardware

// Keeps the first few failed requests in full, including those that failed in the recorded program.
class RefusalLog final : public Observer {
  public:
    void on_refusal(const Refusal& refusal) override {
        if (refusals_.size() < kRefusalsKept)
            refusals_.push_back(refusal);
    }

    std::vector<Refusal> take() { return std::move(refusals_); }

  private:
    std::vector<Refusal> refusals_;
};

// Everybody who watches a run.
class Watchers {
  public:
    Watchers(const TraceInfo& info, Observer* guest) {
        for (const MetricInfo& metric : all_metrics())
            metrics_.push_back(metric.make(info));
        for (const auto& metric : metrics_)
            observers_.push_back(metric.get());
        observers_.push_back(&timeline_);
        observers_.push_back(&refusals_);
        if (guest != nullptr)
            observers_.push_back(guest);
    }

    std::span<Observer* const> observers() const { return observers_; }

    void report_to(Run& run, std::span<const DeviceContext> contexts) {
        for (const auto& metric : metrics_) {
            for (const Measurement& measurement : metric->results(contexts))
                run.measurements.push_back(measurement);
        }
        run.timeline = timeline_.take();
        run.refusals = refusals_.take();
    }

  private:
    std::vector<std::unique_ptr<Metric>> metrics_;
    TimelineObserver timeline_;
    RefusalLog refusals_;
    std::vector<Observer*> observers_;
};

// The policy that the scenario names or the trace was recorded under, with the scenario's limit if
// it names one and the policy takes one. Notes what cannot be followed in `warnings`.
Result<PolicySpec> choose_policy(const TraceInfo& info, const Scenario& scenario,
                                 std::vector<std::string>& warnings) {
    std::string text = scenario.policy;
    if (text.empty()) {
        TM_ASSIGN(RecordedPolicy recorded, recorded_policy(info));
        text = std::move(recorded.text);
        warnings = std::move(recorded.warnings);
    }
    TM_ASSIGN(const PolicySpec spec, parse_policy(text));
    return spec.with_limit(scenario.limit.value_or(0));
}

}  // namespace

Bytes simulated_memory(const Scenario& scenario, const TraceDevice& recorded,
                       const CostProfile& profile) {
    if (scenario.memory > 0)
        return scenario.memory;
    const Bytes memory = recorded.total_memory > 0 ? recorded.total_memory : profile.memory;
    return std::min(memory, SimDevice::kLargestCapacity);
}

const Measurement& Run::measurement(std::string_view name) const {
    const auto found =
        std::find_if(measurements.begin(), measurements.end(),
                     [name](const Measurement& candidate) { return candidate.name == name; });
    TM_CHECK(found != measurements.end());
    return *found;
}

namespace {

// A scenario as understood, with the parts that it names.
struct Parts {
    DeviceName device;
    PolicySpec policy;
    CostProfile profile;  // without points on real hardware
};

Result<Parts> find_parts(const TraceInfo& info, Scenario& scenario,
                         std::vector<std::string>& warnings) {
    Parts parts;
    TM_ASSIGN(parts.device, parse_device_name(scenario.device));
    TM_ASSIGN(parts.policy, choose_policy(info, scenario, warnings));
    if (parts.device.real) {
        scenario.device = fmt::format("cuda:{}", parts.device.ordinal);
        scenario.profile.clear();
        return parts;
    }
    if (!parts.device.profile.empty())
        scenario.profile = parts.device.profile;
    scenario.device = "sim";
    TM_ASSIGN(parts.profile, load_profile(scenario.profile));
    return parts;
}

// Of each device of a simulated run; a real device's can't be chosen.
std::vector<Bytes> memory_of_devices(const TraceInfo& info, const Scenario& scenario,
                                     const Parts& parts) {
    std::vector<Bytes> memory;
    if (parts.device.real) {
        if (scenario.memory > 0)
            memory.push_back(scenario.memory);
        return memory;
    }
    for (const TraceDevice& device : info.devices)
        memory.push_back(simulated_memory(scenario, device, parts.profile));
    if (memory.empty())
        memory.push_back(simulated_memory(scenario, {}, parts.profile));
    return memory;
}

// The limits that apply, by device, and their note in `run`: as requested, else as the recorded
// program had them.
std::vector<Bytes> find_limits(Run& run, const Trace& trace, const PolicySpec& policy) {
    const std::size_t devices = std::max<std::size_t>(trace.info().devices.size(), 1);
    std::vector<Bytes> limits(devices, run.scenario.limit.value_or(0));
    const ExplainedRecord* const record = explained_record(trace);
    const bool as_recorded = !run.scenario.limit && run.scenario.memory == 0 && record != nullptr;
    if (as_recorded) {
        for (std::size_t i = 0; i < devices; ++i)
            limits[i] = record->limit_under(policy, i);
    }
    for (const Bytes limit : limits)
        run.limit = run.limit == 0 ? limit : run.limit;
    if (run.limit > 0)
        run.limit_text =
            as_recorded ? record->limit_text() : fmt::format("limit {}", format_bytes(run.limit));
    return limits;
}

// The recorded run itself, if the scenario names its settings and requests nothing that only
// another device can provide.
const ExplainedRecord* recorded_run(const Trace& trace, const Scenario& scenario,
                                    const Parts& parts, const RunListeners& listeners) {
    const ExplainedRecord* const record = explained_record(trace);
    const bool as_it_was = !parts.device.real && !scenario.check && !scenario.touch &&
                           !scenario.simulated && !listeners.decisions && scenario.memory == 0;
    if (record == nullptr || !as_it_was)
        return nullptr;
    const Bytes* const limit = scenario.limit ? &*scenario.limit : nullptr;
    return record->is_replay(parts.policy, limit) ? record : nullptr;
}

// A cursor that checks before each batch whether the run goes on.
class WatchedCursor final : public TraceCursor {
  public:
    WatchedCursor(std::unique_ptr<TraceCursor> inner, const std::function<Result<void>()>& proceed)
        : inner_(std::move(inner)), proceed_(proceed) {}

    Result<EventBatch> next() override {
        if (proceed_)
            TM_TRY(proceed_());
        return inner_->next();
    }

  private:
    std::unique_ptr<TraceCursor> inner_;
    const std::function<Result<void>()>& proceed_;
};

// A real device may take a minute between two reports of progress by the engine.
std::function<void(std::uint64_t)> report_more(const RunListeners& listeners, bool real) {
    if (!real || !listeners.progress)
        return {};
    return [&listeners](std::uint64_t event) {
        if (event % kEventsPerProgress == 0)
            listeners.progress(event);
    };
}

// What the engine and the machine found out, once the replay has ended.
void conclude(Run& run, const TraceInfo& info, Machine& machine, const Parts& parts) {
    if (run.summary.retired > 0 && !run.as_recorded)
        run.warnings.push_back(
            fmt::format("{} waited for other streams: each completes as many events after it was "
                        "requested as in the recording",
                        format_counted(run.summary.retired, "free")));
    for (std::string& limit : model_limits(info, {&run.scenario.policy, 1}))
        run.warnings.push_back(std::move(limit));
    if (info.begins_inside && !info.is_state())
        run.warnings.emplace_back(run.measurement("peak_reserved_time_ns").whole == 0
                                      ? "reserved memory is at its peak where the recording "
                                        "starts: the program may have reserved more before"
                                      : "the recording starts in the middle of the run: it does "
                                        "not contain an earlier peak");
    run.device_name = machine.device_name();
    if (!parts.device.real)
        run.scenario.memory = simulated_memory(
            run.scenario, info.devices.empty() ? TraceDevice{} : info.devices.front(),
            parts.profile);
    run.scenario.limit = run.limit;
    run.scenario.policy = parts.policy.text();
    run.policy_name = parts.policy.policy->name;
    const auto options = parts.policy.options.all();
    run.policy_options.assign(options.begin(), options.end());
    const Options& wrappers = parts.policy.wrappers;
    for (const auto& [first, second] :
         {std::pair("defer_frees", "defer_share"), std::pair("threads", "thread_cache")})
        if (wrappers.count(first) != 0)
            for (const auto& option : wrappers.all())
                if (option.first == first || option.first == second)
                    run.policy_options.push_back(option);
    run.profile_hash = parts.device.real ? 0 : parts.profile.hash();
    machine.finish(run);
}

}  // namespace

Result<Run> run(const Trace& trace, const Scenario& scenario, const RunListeners& listeners) {
    TM_ASSIGN(const Scale scale, Scale::of(scenario.scale));
    std::optional<ScaledTrace> scaled;
    if (scale.changes())
        scaled.emplace(trace, scale);
    const Trace& replayed = scaled ? *scaled : trace;
    const TraceInfo& info = replayed.info();

    Run result;
    result.scenario = scenario;
    result.trace_hash = trace.recorded_hash();
    if (scenario.memory == 0)
        result.scenario.overhead = 0;
    else if (!scenario.overhead)
        result.scenario.overhead = card_overhead(trace, scenario.memory);
    TM_ASSIGN(const Parts parts, find_parts(info, result.scenario, result.warnings));
    if (scaled)
        result.warnings.push_back(info.warnings.back());
    DecisionLog decisions(listeners.decisions);
    MachineSetup setup{.device = parts.device,
                       .policy = parts.policy,
                       .limits = find_limits(result, replayed, parts.policy),
                       .record = recorded_run(replayed, result.scenario, parts, listeners),
                       .profile = &parts.profile,
                       .memory = memory_of_devices(info, result.scenario, parts),
                       .held = result.scenario.held(),
                       .check = scenario.check,
                       .touch = scenario.touch,
                       .decisions = listeners.decisions ? &decisions : nullptr,
                       .observer = listeners.memory};
    result.as_recorded = setup.record != nullptr;
    TM_ASSIGN(Machine machine, Machine::build(replayed, setup));

    Watchers watchers(info, listeners.observer);
    WatchedCursor cursor(replayed.cursor(), listeners.proceed);
    ReplayLimits limits{.stop_at_refusal = scenario.stop_at_refusal,
                        .stop_at_probe = scenario.stop_at_refusal,
                        .progress = listeners.progress,
                        .before_event = report_more(listeners, parts.device.real),
                        .begun = [&](const std::uint64_t& event) {
                            if (listeners.begun)
                                listeners.begun(machine.contexts(), event);
                        }};
    Result<ReplaySummary> replay =
        machine.replay(info, cursor, watchers.observers(), std::move(limits));
    if (listeners.ended)
        listeners.ended();
    TM_ASSIGN(result.summary, std::move(replay));
    if (listeners.decisions) {
        decisions.end();
        result.decisions = DecisionDigest{decisions.count(), decisions.hash()};
    }
    TM_TRY(machine.check_alive());
    if (scenario.check) {
        TM_ASSIGN(const UnorderedFrees frees, find_unordered_frees(replayed));
        if (std::string text = to_text(frees); !text.empty())
            result.warnings.push_back(std::move(text));
    }
    watchers.report_to(result, machine.contexts());
    if (!result.as_recorded)
        TM_TRY(check_counts(*parts.policy.policy, result.measurement("peak_reserved_bytes").whole,
                            result.measurement("peak_allocated_bytes").whole));
    conclude(result, info, machine, parts);
    return result;
}

}  // namespace tidemark
