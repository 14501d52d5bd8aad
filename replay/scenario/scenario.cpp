// scenario: builds what a scenario names (policy, simulated devices, observers), lets the engine
// run, and gathers the figures.
#include "replay/scenario/scenario.h"

#include <algorithm>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "backends/sim/costs.h"
#include "backends/sim/sim_device.h"
#include "backends/wrap/checked.h"
#include "core/base/check.h"
#include "core/base/text.h"
#include "replay/scenario/recorded_policy.h"
#include "replay/scenario/trial.h"

namespace tidemark {
namespace {

constexpr std::size_t kRefusalsKept = 16;
constexpr std::size_t kHazardsKept = 16;

// Keeps the first few refusals whole, but for those that the recorded program met too.
class RefusalLog final : public Observer {
  public:
    void on_events(const EventBatch& /*events*/, const OutcomeBatch& /*outcomes*/) override {}

    void on_refusal(const Refusal& refusal) override {
        if (refusal.what.kind != EventKind::out_of_memory && refusals_.size() < kRefusalsKept)
            refusals_.push_back(refusal);
    }

    std::vector<Refusal> take() { return std::move(refusals_); }

  private:
    std::vector<Refusal> refusals_;
};

// Everybody who watches a run.
class Watchers {
  public:
    explicit Watchers(const TraceInfo& info) {
        for (const MetricInfo& metric : all_metrics())
            metrics_.push_back(metric.make(info));
        for (const auto& metric : metrics_)
            observers_.push_back(metric.get());
        observers_.push_back(&timeline_);
        observers_.push_back(&refusals_);
    }

    std::span<Observer* const> observers() const { return observers_; }

    void tell(Run& run, std::span<const Lane> lanes) {
        for (const auto& metric : metrics_) {
            for (const Measurement& measurement : metric->results(lanes))
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
// the policy takes one. Notes what cannot be followed in `warnings`.
Result<PolicySpec> choose_policy(const TraceInfo& info, const Scenario& scenario,
                                 std::vector<std::string>& warnings) {
    std::string text = scenario.policy;
    if (text.empty()) {
        TM_ASSIGN(RecordedPolicy recorded, recorded_policy(info));
        text = std::move(recorded.text);
        warnings = std::move(recorded.warnings);
    }
    TM_ASSIGN(const PolicySpec spec, parse_policy(text));
    return spec.with_limit(scenario.limit);
}

// Bytes of the simulated device: as asked, else as recorded, else the profile's.
Bytes device_memory(const Scenario& scenario, const TraceDevice& recorded,
                    const CostProfile& profile) {
    if (scenario.memory > 0)
        return scenario.memory;
    const Bytes memory = recorded.total_memory > 0 ? recorded.total_memory : profile.memory;
    return std::min(memory, SimDevice::kLargestCapacity);
}

// One device of the trace with its allocator; the parts between them only with --check. Destroyed
// from the last to the first: the allocator while its device is there.
struct Stand {
    std::unique_ptr<SimDevice> device;
    std::unique_ptr<Checker> checker;
    std::unique_ptr<CheckedDevice> checked;
    std::unique_ptr<Allocator> allocator;

    Device& face() { return checked ? static_cast<Device&>(*checked) : *device; }

    Lane lane() { return {&face(), allocator.get(), device->replay_clock()}; }
};

// The machine of a run: a stand for each device of the trace.
class Machine {
  public:
    static Result<Machine> build(const TraceInfo& info, const Scenario& scenario,
                                 const PolicySpec& spec, const CostProfile& profile) {
        Machine machine;
        const std::size_t count = std::max<std::size_t>(info.devices.size(), 1);
        for (std::size_t i = 0; i < count; ++i) {
            const TraceDevice recorded = i < info.devices.size() ? info.devices[i] : TraceDevice{};
            Bytes capacity = device_memory(scenario, recorded, profile);
            if (scenario.limit > 0 && !spec.keeps_limit())
                capacity = std::min(capacity, scenario.limit);
            Stand stand;
            stand.device = std::make_unique<SimDevice>(SimConfig{.capacity = capacity,
                                                                 .granularity = profile.granularity,
                                                                 .profile = &profile,
                                                                 .placement = placement_for(spec)});
            if (scenario.check) {
                stand.checker = std::make_unique<Checker>();
                stand.checked = std::make_unique<CheckedDevice>(*stand.device, *stand.checker);
            }
            TM_ASSIGN(stand.allocator, spec.make(stand.face()));
            if (scenario.check)
                stand.allocator =
                    std::make_unique<CheckedAllocator>(std::move(stand.allocator), *stand.checker);
            machine.lanes_.push_back(stand.lane());
            machine.stands_.push_back(std::move(stand));
        }
        return machine;
    }

    // Tells the checkers which event is at hand.
    void set_event(std::uint64_t event) {
        for (Stand& stand : stands_)
            stand.checker->set_event(event);
    }

    // Looks for leaks and says what the checkers found. Counters are no longer those of the run.
    void tell_hazards(Run& run) {
        for (Stand& stand : stands_) {
            if (!stand.checker)
                continue;
            find_leaks(stand, run);
            run.hazard_count += stand.checker->count();
            for (const Hazard& hazard : stand.checker->hazards())
                run.hazards.push_back({std::string(to_text(hazard.kind)), hazard.what,
                                       hazard.first_event, hazard.second_event});
        }
        std::stable_sort(run.hazards.begin(), run.hazards.end(),
                         [](const HazardText& a, const HazardText& b) {
                             return a.second_event < b.second_event;
                         });
        if (run.hazards.size() > kHazardsKept)
            run.hazards.resize(kHazardsKept);
    }

    std::span<const Lane> lanes() const { return lanes_; }

  private:
    // A trace may end with allocations alive. If none is, an allocator that was asked to give back
    // all it can must hold nothing; if some are, no more than it says.
    static void find_leaks(Stand& stand, Run& run) {
        stand.allocator->trim(TrimLevel::all);
        if (stand.allocator->usage().active == 0) {
            stand.allocator.reset();
            stand.checker->finish();
            return;
        }
        const MemoryInfo memory = stand.device->memory();
        const Bytes held = memory.total - memory.free;
        const Bytes known = stand.allocator->usage().reserved;
        if (held <= known)
            return;
        const std::uint64_t last = std::max<std::uint64_t>(run.summary.events, 1) - 1;
        ++run.hazard_count;
        run.hazards.push_back({std::string(to_text(HazardKind::leak)),
                               fmt::format("at the end the device has lent {} bytes, of which the "
                                           "allocator knows {}",
                                           held, known),
                               last, last});
    }

    std::vector<Stand> stands_;
    std::vector<Lane> lanes_;
};

}  // namespace

const Measurement& Run::measurement(std::string_view name) const {
    const auto found =
        std::find_if(measurements.begin(), measurements.end(),
                     [name](const Measurement& candidate) { return candidate.name == name; });
    TM_CHECK(found != measurements.end());
    return *found;
}

Result<Run> run(const Trace& trace, const Scenario& scenario,
                const std::function<void(std::uint64_t events_done)>& progress) {
    const TraceInfo& info = trace.info();
    if (scenario.memory > SimDevice::kLargestCapacity)
        return fail(
            ErrorCode::bad_option,
            fmt::format("{} is more than a simulated device can have ({})",
                        format_bytes(scenario.memory), format_bytes(SimDevice::kLargestCapacity)),
            "--memory");
    Run result;
    TM_ASSIGN(const PolicySpec spec, choose_policy(info, scenario, result.warnings));
    TM_ASSIGN(const CostProfile profile, load_profile(scenario.profile));
    TM_ASSIGN(Machine machine, Machine::build(info, scenario, spec, profile));

    Watchers watchers(info);
    ReplayEngine engine(machine.lanes(), watchers.observers());
    const std::unique_ptr<TraceCursor> cursor = trace.cursor();
    ReplayLimits limits{.stop_at_refusal = scenario.stop_at_refusal, .progress = progress};
    if (scenario.check)
        limits.before_event = [&machine](std::uint64_t event) { machine.set_event(event); };
    TM_ASSIGN(result.summary, engine.run(info, *cursor, limits));
    watchers.tell(result, machine.lanes());
    if (result.summary.retired > 0)
        result.warnings.push_back(fmt::format(
            "{} frees waited for other streams: each completes as many events after its "
            "request as it did when recorded",
            format_count(result.summary.retired)));
    machine.tell_hazards(result);

    result.scenario = scenario;
    result.scenario.policy = spec.text();
    result.scenario.memory = device_memory(
        scenario, info.devices.empty() ? TraceDevice{} : info.devices.front(), profile);
    result.policy_name = spec.policy->name;
    const auto options = spec.options.all();
    result.policy_options.assign(options.begin(), options.end());
    result.trace_hash = trace.hash();
    result.profile_hash = profile.hash();
    return result;
}

}  // namespace tidemark
