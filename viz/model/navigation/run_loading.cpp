// Opening and replaying for the viewer.
#include "viz/model/navigation/run_loading.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "backends/machines/machine_json.h"
#include "core/allocator/spec.h"
#include "core/base/text.h"
#include "replay/analysis/tiers/compare_tiers.h"
#include "replay/analysis/trace/gpus.h"
#include "replay/record/infer_missing_events.h"
#include "replay/record/recorded_policy.h"
#include "replay/tiers/tier_program.h"
#include "traces/model/device_trace.h"
#include "traces/model/scaled_trace.h"
#include "traces/open.h"

namespace tidemark::viz {
namespace {

constexpr double kRead = 0.2;  // share of a run that reading its file takes; after that, inference
constexpr std::string_view kDefaultPolicy = "torch";
constexpr std::string_view kDefaultMachine = "h200-node";

// At most 1: a file may grow while it is read.
double done_share(std::uint64_t done, std::uint64_t total) {
    return std::min(1.0, share_of(done, total));
}

std::uint64_t file_size(const std::string& path) {
    std::error_code error;
    const auto size = std::filesystem::file_size(path, error);
    return error ? 0 : size;
}

tl::unexpected<Error> was_cancelled(const std::string& path) {
    return fail(ErrorCode::cancelled, "was cancelled", file_label(path));
}

// Puts the file in front of an error, unless it names it already or is about an option.
auto in_file(const std::string& path) {
    return [&path](Error error) {
        if (error.where.empty())
            error.where = path;
        else if (error.code != ErrorCode::bad_option && error.where.find(path) == std::string::npos)
            error.where = fmt::format("{}: {}", path, error.where);
        return error;
    };
}

Result<TierScenario> tier_scenario(const LoadRequest& request, const std::string& path,
                                   const TierChoice& choice) {
    TierScenario scenario;
    if (!choice.gpu_memory.empty()) {
        TM_ASSIGN(const GpuMemory memory, parse_gpu_memory(choice.gpu_memory));
        scenario.gpu_memory = memory.bytes;
        scenario.gpu_fraction = memory.share;
    }
    if (!choice.spill.empty())
        scenario.spill = choice.spill;
    scenario.host_memory = request.tiers.host_memory;
    scenario.trace = path;
    scenario.timeline = true;
    return scenario;
}

Result<OpenedForView> of_gpu(std::unique_ptr<Trace> trace, const LoadRequest& request) {
    OpenedForView opened{.trace = std::move(trace), .gpu = 0, .gpus = 1};
    if (opened.trace->info().gpus() < 2 && !request.gpu)
        return opened;
    TM_ASSIGN(const Gpus gpus, find_gpus(*opened.trace, request.gpu));
    opened.gpu = gpus.chosen;
    opened.gpus = gpus.rows.size();
    if (opened.gpus > 1 && !request.tiers.wanted())
        opened.trace = std::make_shared<DeviceTrace>(opened.trace, opened.gpu);
    return opened;
}

Result<MachineSpec> machine_of(const TierRequest& request) {
    return open_machine(request.machine.empty() ? kDefaultMachine : request.machine);
}

}  // namespace

std::string file_label(const std::string& path) {
    if (path == "-")
        return "standard input";
    if (path.starts_with("generate:"))
        return path.substr(std::string_view("generate:").size());
    return std::filesystem::path(path).filename().string();
}

Result<OpenedForView> open_for_view(const std::string& path, const LoadRequest& request,
                                    const ReportProgress& report, const Cancelled& cancelled) {
    ReadOptions options;
    options.strict = request.strict;
    options.lenient = request.lenient;
    const std::uint64_t size = file_size(path);
    const std::string name = file_label(path);
    options.progress = [&](std::uint64_t done) {
        report(kRead * done_share(done, size),
               fmt::format("reading {}, {} of {}", name, format_bytes(done), format_bytes(size)));
    };
    report(0, "reading " + name);
    TM_ASSIGN(std::unique_ptr<Trace> trace, open_trace(path, options).map_error(in_file(path)));
    if (cancelled.load())
        return was_cancelled(path);
    if (request.as_recorded)
        return of_gpu(std::move(trace), request);
    const std::uint64_t events = trace->info().event_count;
    const std::string activity = "finding what " + name + " leaves out";
    report(kRead, activity);
    const auto progress = [&](std::uint64_t done) {
        report(kRead + (kOpened - kRead) * done_share(done, events), activity);
    };
    TM_ASSIGN(trace, infer_missing_events(std::move(trace), progress).map_error(in_file(path)));
    if (cancelled.load())
        return was_cancelled(path);
    return of_gpu(std::move(trace), request);
}

Result<RecordedRun> record_for_view(const Trace& trace, const LoadRequest& request,
                                    const std::string& path, const std::string& policy,
                                    const HistoryBegun& begun, const ReportProgress& report,
                                    const Cancelled& cancelled) {
    Scenario scenario = request.scenario;
    scenario.trace = path;
    scenario.policy = policy;
    const bool is_unknown = policy.empty() && !recorded_policy(trace.info());
    if (is_unknown)
        scenario.policy = kDefaultPolicy;
    RecordHistoryOptions options;
    options.keep = request.keep;
    options.begun = begun;
    options.cancel = &cancelled;
    const std::uint64_t events = trace.info().event_count;
    const std::string activity =
        policy.empty() ? fmt::format("replaying {}", file_label(path))
                       : fmt::format("replaying {} under {}", file_label(path), policy);
    options.progress = [&](std::uint64_t done) {
        report(kOpened + (1 - kOpened) * done_share(done, events), activity);
    };
    report(kOpened, activity);
    TM_ASSIGN(RecordedRun recorded,
              record_history(trace, scenario, options).map_error(in_file(path)));
    if (recorded.from_cache)
        recorded.history->bring_in(cancelled);  // somebody looks at it already
    if (is_unknown) {
        recorded.run.warnings.push_back(fmt::format(
            "the file doesn't name the allocator it was recorded under: this shows {} with its "
            "defaults; --policy names another",
            kDefaultPolicy));
    }
    return recorded;
}

bool has_assumed_policy(const TraceInfo& info, const std::string& policy) {
    const auto recorded = recorded_policy(info);
    return policy.empty() && (!recorded || !recorded->assumed.empty());
}

std::vector<TierChoice> tier_choices(const TierRequest& request) {
    const std::vector<std::string> any(1);
    std::vector<TierChoice> choices;
    for (const std::string& spill : request.spill.empty() ? any : request.spill)
        for (const std::string& memory : request.gpu_memory.empty() ? any : request.gpu_memory)
            choices.push_back({memory, spill});
    return choices;
}

Result<void> check_policy(const std::string& policy) {
    if (!policy.empty())
        TM_TRY(parse_policy(policy));
    return {};
}

Result<void> check_tiers(const TierRequest& request, const TierChoice& choice) {
    if (!choice.spill.empty())
        TM_TRY(parse_victim_policy(choice.spill));
    if (!choice.gpu_memory.empty())
        TM_TRY(parse_gpu_memory(choice.gpu_memory));
    TM_TRY(machine_of(request));
    return {};
}

Result<TierRun> tiers_for_view(const Trace& trace, const LoadRequest& request,
                               const std::string& path, const TierChoice& choice,
                               const ReportProgress& report) {
    TM_ASSIGN(const TierScenario scenario, tier_scenario(request, path, choice));
    TM_ASSIGN(const MachineSpec machine, machine_of(request.tiers));
    TM_ASSIGN(const Scale factor, Scale::of(request.scenario.scale));
    const std::string activity = "replaying " + file_label(path) + " over tiers";
    report(kOpened, activity);
    TM_ASSIGN(const TierProgram program,
              (factor.changes() ? make_tier_program(ScaledTrace(trace, factor))
                                : make_tier_program(trace))
                  .map_error(in_file(path)));
    const std::uint64_t steps = program.steps.size();
    TierListeners listeners;
    listeners.progress = [&](std::uint64_t done) {
        report(kOpened + (1 - kOpened) * done_share(done, steps), activity);
    };
    TM_ASSIGN(TierRun run,
              run_tiers(program, machine, scenario, listeners).map_error(in_file(path)));
    run.machine_hash = machine_hash(machine);
    return run;
}

}  // namespace tidemark::viz
