// record_history: a run with a history's observer in addition to the metrics, or the kept history
// of an earlier run.
#include "replay/scenario/record_history.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "backends/sim/costs.h"
#include "core/allocator/spec.h"
#include "replay/record/explained_record.h"
#include "replay/record/recorded_policy.h"
#include "replay/scenario/device_name.h"
#include "replay/scenario/history_store.h"
#include "replay/scenario/machine.h"
#include "replay/scenario/policy_identity.h"
#include "replay/timeline/history_builder.h"
#include "replay/timeline/history_observer.h"
#include "replay/timeline/history_relay.h"

namespace tidemark {
namespace {

// The observers of a run that build its history.
class Recorder final : public Observer {
  public:
    Recorder(HistoryBuilder& builder, const TraceInfo& info, const RecordHistoryOptions& options)
        : observer_(builder, info), relay_(observer_), options_(options) {
        for (std::size_t i = 0; i < std::max<std::size_t>(info.devices.size(), 1); ++i)
            devices_.push_back(
                std::make_unique<DeviceListener>(*this, static_cast<std::uint16_t>(i)));
    }

    RunListeners listeners() {
        return {.progress = options_.progress,
                .observer = this,
                .memory = [this](std::size_t device) { return devices_[device].get(); },
                .begun =
                    [this](std::span<const DeviceContext> contexts, const std::uint64_t& event) {
                        contexts_ = contexts;
                        event_ = &event;
                    },
                .ended = [this] { end(); },
                .proceed = [this] { return proceed(); }};
    }

    void on_events(const EventBatch& events, const OutcomeBatch& outcomes) override {
        look_for_retries();
        relay_.on_events(events, outcomes);
    }

    void on_refusal(const Refusal& refusal) override {
        for (const std::uint64_t counted = count_retries(); retries_ + 1 < counted; ++retries_)
            relay_.on_retry(changed_);
        changed_ = refusal.event;  // the last one was for the request that is refused
        look_for_retries();
        relay_.on_refusal(refusal);
    }

    Result<void> proceed() const {
        if (options_.cancel != nullptr && options_.cancel->load(std::memory_order_relaxed))
            return fail(ErrorCode::cancelled, "the run was cancelled");
        if (relay_.failed())
            return fail(ErrorCode::io, "the history cannot be written");
        return {};
    }

    // Everything has been added. Errors: the builder's, whatever the result of the run.
    Result<void> finish() {
        relay_.finish();
        if (observer_.error())
            return tl::make_unexpected(*observer_.error());
        return {};
    }

  private:
    // Observes one device's memory.
    class DeviceListener final : public MemoryObserver {
      public:
        DeviceListener(Recorder& recorder, std::uint16_t device)
            : recorder_(recorder), device_(device) {}

        void on_segment(SegmentChange change, Range range, StreamId stream, Address home) override {
            recorder_.change({.range = range,
                              .home = home,
                              .stream = stream,
                              .device = device_,
                              .change = change});
        }

      private:
        Recorder& recorder_;
        std::uint16_t device_;
    };

    // Memory that allocators release when they are destroyed does not belong to the run.
    void end() {
        look_for_retries();
        contexts_ = {};
        event_ = nullptr;
        ended_ = true;
    }

    void change(SegmentStep step) {
        if (ended_)
            return;
        look_for_retries();
        changed_ = event_ != nullptr ? *event_ : 0;
        step.event = changed_;
        relay_.on_segment(step);
    }

    std::uint64_t count_retries() const {
        std::uint64_t retries = 0;
        for (const DeviceContext& context : contexts_)
            retries += context.allocator->stats().retries;
        return retries;
    }

    // An allocator that empties its caches changes a device's memory before it counts a retry, or
    // refuses after it: so what has been counted since was at the event of the last change.
    void look_for_retries() {
        for (const std::uint64_t counted = count_retries(); retries_ < counted; ++retries_)
            relay_.on_retry(changed_);
    }

    HistoryObserver observer_;
    HistoryRelay relay_;
    const RecordHistoryOptions& options_;
    std::vector<std::unique_ptr<DeviceListener>> devices_;
    std::span<const DeviceContext> contexts_;
    const std::uint64_t* event_ = nullptr;  // the current one
    bool ended_ = false;
    std::uint64_t changed_ = 0;  // the event at which memory came or went last
    std::uint64_t retries_ = 0;
};

// The limit that a run of `scenario` has, as far as it is known beforehand; 0 = none, as on another
// card than the recorded one.
Bytes limit_of(const Trace& trace, const Scenario& scenario) {
    const ExplainedRecord* const record = explained_record(trace);
    const bool as_recorded = record != nullptr && scenario.memory == 0;
    return scenario.limit.value_or(as_recorded ? record->limit() : 0);
}

// The names that a history of this scenario has; a capacity only if the trace or the scenario
// states it: that of the card whose costs are simulated is not the program's.
Result<HistoryNames> names_of(const TraceInfo& info, const Scenario& scenario, Bytes limit) {
    HistoryNames names;
    if (!info.streams.empty())
        names.streams = info.streams;
    if (!info.pools.empty())
        names.pools = info.pools;
    const std::size_t devices = std::max<std::size_t>(info.devices.size(), 1);
    names.devices.resize(devices);
    names.limit = limit;
    TM_ASSIGN(const DeviceName device, parse_device_name(scenario.device));
    if (device.real)
        return names;
    TM_ASSIGN(const CostProfile profile,
              load_profile(device.profile.empty() ? scenario.profile : device.profile));
    bool is_known = true;
    for (std::size_t i = 0; i < devices; ++i) {
        const TraceDevice recorded = i < info.devices.size() ? info.devices[i] : TraceDevice{};
        names.devices[i] = recorded.name;
        if (i >= std::max<std::size_t>(info.gpus(), 1))
            continue;
        names.capacity += simulated_memory(scenario, recorded, profile);
        is_known = is_known && (scenario.memory > 0 || recorded.total_memory > 0);
    }
    if (!is_known)
        names.capacity = 0;
    return names;
}

// A trace of a system that no policy models is shown under a policy that many programs use.
Scenario with_policy(const TraceInfo& info, Scenario scenario, std::vector<std::string>& warnings) {
    if (!scenario.policy.empty() || recorded_policy(info))
        return scenario;
    scenario.policy = "torch";
    warnings.push_back(
        "the trace names no allocator that Tidemark has: it is shown under the policy 'torch'");
    return scenario;
}

// A text that two scenarios share only if their results are the same; empty where each run must be
// made: on real hardware, and where the run itself is checked.
Result<std::optional<HistoryKey>> key_of(const Trace& trace, const Scenario& scenario) {
    TM_ASSIGN(const DeviceName device, parse_device_name(scenario.device));
    if (device.real || scenario.check || scenario.touch)
        return std::optional<HistoryKey>();
    std::string policy = scenario.policy;
    if (policy.empty()) {
        TM_ASSIGN(RecordedPolicy recorded, recorded_policy(trace.info()));
        policy = std::move(recorded.text);
    }
    TM_ASSIGN(const PolicySpec plain, parse_policy(policy));
    TM_ASSIGN(const PolicySpec spec, plain.with_limit(scenario.limit.value_or(0)));
    TM_ASSIGN(const std::string identity, policy_identity(spec));
    TM_ASSIGN(const CostProfile profile,
              load_profile(device.profile.empty() ? scenario.profile : device.profile));
    HistoryKey key;
    key.trace_hash = trace.hash();
    key.file_hash = trace.file_hash();
    const Bytes overhead =
        scenario.memory > 0 ? scenario.overhead.value_or(card_overhead(trace, scenario.memory)) : 0;
    key.scenario = fmt::format(
        "{} explained:{} as recorded:{} simulated:{} profile:{:016x} scale:{} memory:{} "
        "overhead:{} "
        "limit:{} {}",
        identity, explained_record(trace) != nullptr, scenario.policy.empty(), scenario.simulated,
        profile.hash(), scenario.scale, scenario.memory, overhead, limit_of(trace, scenario),
        scenario.stop_at_refusal ? "to the first out of memory" : "to the end");
    return std::optional(std::move(key));
}

// Whether histories of this path are kept: a file that isn't a .tmk file is read again anyway.
bool is_kept_of(const std::string& path) {
    std::error_code error;
    return path.ends_with(".tmk") && std::filesystem::is_regular_file(path, error);
}

// Bytes of files that a history may need, generously.
Bytes room_for(const TraceInfo& info) {
    return info.event_count * 40;
}

std::string not_kept(const Error& error) {
    return "the history is not kept: " + to_text(error);
}

// One attempt: a run, with the columns in the draft's folder or in files without names.
Result<RecordedRun> record(const Trace& trace, const Scenario& scenario,
                           const RecordHistoryOptions& options, HistoryDraft* draft,
                           const HistoryKey& key, std::vector<std::string> warnings) {
    RecordedRun recorded;
    TM_ASSIGN(HistoryNames names, names_of(trace.info(), scenario, limit_of(trace, scenario)));
    TM_ASSIGN(const std::unique_ptr<HistoryBuilder> builder,
              HistoryBuilder::create(draft != nullptr ? draft->folder().descriptor() : -1,
                                     trace.info().event_count));
    Recorder recorder(*builder, trace.info(), options);
    builder->set_names(std::move(names));
    recorded.history = builder->history();
    if (options.begun)
        options.begun(recorded.history);
    Result<Run> done = run(trace, scenario, recorder.listeners());
    TM_TRY(recorder.finish());
    TM_ASSIGN(recorded.run, std::move(done));
    TM_TRY(builder->finish());
    std::vector<std::string>& all = recorded.run.warnings;
    if (draft != nullptr) {
        if (const Result<void> kept = draft->keep(key, builder->columns(), recorded.run); !kept)
            warnings.push_back(not_kept(kept.error()));
    }
    all.insert(all.end(), warnings.begin(), warnings.end());
    return recorded;
}

}  // namespace

Result<RecordedRun> record_history(const Trace& trace, const Scenario& scenario,
                                   const RecordHistoryOptions& options) {
    std::vector<std::string> warnings;
    const Scenario chosen = with_policy(trace.info(), scenario, warnings);
    std::optional<HistoryKey> key;
    if (options.keep && is_kept_of(scenario.trace)) {
        TM_ASSIGN(key, key_of(trace, chosen));
    }
    if (!key)
        return record(trace, chosen, options, nullptr, {}, warnings);
    const Result<HistoryStore> store = HistoryStore::of_user();
    if (auto kept = store ? store->open(*key, options.cancel) : std::nullopt) {
        kept->run.warnings.insert(kept->run.warnings.end(), warnings.begin(), warnings.end());
        kept->run.scenario.trace = scenario.trace;
        if (options.begun)
            options.begun(kept->history);
        return RecordedRun{std::move(kept->history), std::move(kept->run), true};
    }
    auto draft = store.and_then(
        [&](const HistoryStore& open) { return open.begin(*key, room_for(trace.info())); });
    if (draft) {
        Result<RecordedRun> recorded = record(trace, chosen, options, draft->get(), *key, warnings);
        if (recorded || recorded.error().code != ErrorCode::io)
            return recorded;
        draft->reset();  // its disk is full: there may be room elsewhere
        warnings.push_back(not_kept(recorded.error()));
    } else {
        warnings.push_back(not_kept(draft.error()));
    }
    return record(trace, chosen, options, nullptr, {}, warnings);
}

}  // namespace tidemark
