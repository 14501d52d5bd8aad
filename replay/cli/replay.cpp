// tidemark replay: one trace under one policy, all measurements and a chart; or over the tiers of
// a machine under a victim policy.
#include <array>

#include <fmt/format.h>

#include "backends/machines/machine_json.h"
#include "replay/analysis/advise/out_of_memory.h"
#include "replay/analysis/spread/spread.h"
#include "replay/analysis/tiers/device_tiers.h"
#include "replay/cli/machine_options.h"
#include "replay/cli/tier_options.h"
#include "replay/cli/trace_input.h"
#include "replay/cli/written_files.h"
#include "replay/facts/missing_history.h"
#include "replay/report/charts/chart.h"
#include "replay/report/export/state_dump.h"
#include "replay/report/runs/json.h"
#include "replay/report/runs/text.h"
#include "replay/report/tiers/tier_report.h"
#include "replay/report/tiers/tier_timeline_lines.h"
#include "traces/io/output_file.h"

namespace tidemark::commands {
namespace {

constexpr std::array<std::string_view, 4> kChartKinds{"auto", "unicode", "ascii", "none"};
constexpr unsigned kWidestChart = 120;

// What belongs to allocator policies.
constexpr std::array<ForeignOption, 11> kReplayForeign{{
    {"--policy", "over tiers, --spill names the victim policy"},
    {"--memory", "over tiers, --gpu-memory is the size"},
    {"--limit", "over tiers, --gpu-memory is the size"},
    {"--profile", "over tiers, costs are those of the links of --machine"},
    {"--decisions", "over tiers, --timeline FILE says what happened"},
    {"--dump-state", "over tiers, --timeline FILE says what happened"},
    {"--touch", "leave it out"},
    {"--check", "leave it out"},
    {"--until-fail", "leave it out: requests that fail are counted"},
    {"--plot", "over tiers, --timeline FILE says what happened"},
    {"--picture", "over tiers, --timeline FILE is for a picture"},
}};

class Replay final : public Command {
  public:
    void declare(Arguments& arguments) override {
        arguments.input(
            {"TRACE", "", "a trace of any format, a folder, - for stdin, or generate:SPEC", true},
            path_);
        arguments.policy({"-p,--policy", "P[:k=v,...]", "the policy (default: the recorded one)"},
                         policy_);
        machine_.declare(arguments);
        arguments.flag(
            rarely({"--touch", "",
                    "on a real GPU: write every allocation, and check it before its free"}),
            touch_);
        arguments.file(
            rarely({"--decisions", "FILE", "write each decision as a line, and a hash of them"}),
            FileKind::decisions, decisions_);
        arguments.file(
            {"--dump-state", "FILE", "write what the allocator holds: .pickle, .json or .txt"},
            FileKind::state_dump, dump_);
        arguments.count(rarely({"--spread", "N",
                                "with several streams: replay N times with other timings, for the "
                                "range of peaks"}),
                        spread_);
        arguments.flag({"--until-fail", "", "stop at the first request that runs out of memory"},
                       until_fail_);
        arguments.file({"--plot", "FILE", "draw memory over time, as .svg or .png"}, plot_kind,
                       plot_);
        arguments.choice({"--picture", "KIND", "chart in the text: auto, unicode, ascii or none"},
                         kChartKinds, chart_kind_);
        arguments.report(json_);
        input_.declare(arguments);
        input_.declare_inference(arguments);
        tiers_.declare(arguments, false);
        arguments.file(
            rarely({"--timeline", "FILE",
                    "over tiers: write what happened, a span a line; - is standard output"}),
            FileKind::tier_timeline, timeline_);
    }

    Result<ExitCode> run(Context& context) override {
        TM_ASSIGN(path_, expand_trace(path_));
        if (tiers_.wanted() || timeline_.wanted())
            return run_over_tiers(context);
        TM_ASSIGN(Scenario scenario, machine_.scenario(path_, policy_));
        scenario.stop_at_refusal = until_fail_;
        scenario.touch = touch_;
        if (!policy_.empty())
            TM_TRY(parse_policy(policy_));  // an error before a long file is read
        TM_TRY(check_ending(dump_.path, "--dump-state", {".json", ".txt", ".pickle"}));
        TM_TRY(check_plot(plot_.path));
        TM_TRY(allow_report(decisions_.path, json_));
        TM_ASSIGN(const std::unique_ptr<Trace> trace, input_.open_inferred(context, path_));
        TM_TRY(facts::need_history(trace->info()).map_error(in_trace(path_)));
        Progress progress(context.front(), "replaying " + trace_name(path_));
        RunListeners listeners;
        listeners.progress = progress.listener(trace->info().event_count);
        std::unique_ptr<OutputFile> decisions;
        Result<void> written;
        if (decisions_.wanted()) {
            TM_ASSIGN(decisions, OutputFile::create(decisions_));
            listeners.decisions = [&](std::string_view lines) {
                if (written)
                    written = decisions->write(lines);
            };
        }
        HeldStateObserver held(trace->info());
        if (dump_.wanted())
            held.listen(listeners);
        TM_ASSIGN(Run run, tidemark::run(*trace, scenario, listeners));
        if (spread_ > 0)
            TM_TRY(spread_runs(*trace, {&run, 1}, {.runs = spread_}));
        progress.clear();
        if (dump_.wanted())
            TM_TRY(write_whole(
                dump_, dump_.path.ends_with(".txt")
                           ? state_listing(held.take(), run)
                           : state_dump(held.take(), run, trace->info(), context.provenance(),
                                        !dump_.path.ends_with(".json"))));
        TM_TRY(write_plot(plot_, [&] { return run_plot(trace_name(path_), run); }));
        TM_TRY(written);
        if (decisions)
            TM_TRY(decisions->commit());
        OutOfMemoryReport failure;
        if (until_fail_ && !machine_.is_real()) {
            TM_ASSIGN(failure, explain_first(*trace, run));
        }
        context.print(json_ ? run_json(run, trace->info(), context.provenance(), failure)
                            : run_text(trace_name(path_), run, trace->info(),
                                       draw(run.timeline, style(context.terminal())), failure));
        if (run.hazard_count > 0 || (run.touch && !run.touch->clean()))
            return ExitCode::no;
        const bool stopped = until_fail_ && run.summary.refused_again > 0;
        return run.summary.refused > 0 || stopped ? ExitCode::out_of_memory : ExitCode::yes;
    }

  private:
    Result<ExitCode> run_over_tiers(Context& context) {
        TM_TRY(tiers_.refuse(kReplayForeign));
        TM_TRY(allow_report(timeline_.path, json_));
        TM_ASSIGN(const TierScenario scenario, tier_scenario(context.front()));
        TM_ASSIGN(const MachineSpec machine, tiers_.machine());
        TM_ASSIGN(const std::optional<int> device, machine_.tier_device());
        TM_ASSIGN(const std::unique_ptr<Trace> trace, input_.open(context, path_));
        TM_ASSIGN(const TierProgram program, tier_program(*trace, machine_.scale(), path_));
        Progress progress(context.front(), "replaying " + trace_name(path_));
        TierListeners listeners{.progress = progress.listener(program.steps.size()),
                                .cancelled = context.front().cancelled()};
        TM_ASSIGN(TierRun run, run_tiers(program, machine, scenario, listeners));
        std::optional<TierRun> predicted;
        if (device) {
            predicted = std::move(run);
            listeners.cancelled = {};  // copies of a real device end in their own time
            TM_ASSIGN(run,
                      run_tiers_on_gpu(program, machine, scenario, *predicted, *device, listeners));
        }
        progress.clear();
        run.machine_hash = machine_hash(machine);
        if (timeline_.wanted()) {
            TM_ASSIGN(const std::unique_ptr<OutputFile> file, OutputFile::create(timeline_));
            TM_TRY(write_timeline(run, trace->info(), context.provenance(), *file));
            TM_TRY(file->commit());
        }
        if (timeline_.path != "-")
            context.print(json_ ? tier_run_json(run, program, context.provenance(),
                                                predicted ? &*predicted : nullptr)
                                : tier_run_text(trace_name(path_), run, program, trace->info()) +
                                      (predicted ? tier_prediction_text(run, *predicted) : ""));
        if (run.wrong_bytes > 0 || run.failed_copies > 0)
            return ExitCode::no;
        return run.out_of_memory > 0 ? ExitCode::out_of_memory : ExitCode::yes;
    }

    Result<TierScenario> tier_scenario(Front& front) const {
        TM_ASSIGN(TierScenario scenario, tiers_.scenario());
        TM_ASSIGN(const auto memory, tiers_.memory(front));
        TM_ASSIGN(scenario.spill, tiers_.policy());
        scenario.trace = path_;
        scenario.gpu_memory = memory.bytes;
        scenario.gpu_fraction = memory.share;
        scenario.timeline = timeline_.wanted();
        return scenario;
    }

    ChartStyle style(const Terminal& terminal) const {
        ChartStyle style;
        style.width = std::min(terminal.width, kWidestChart);
        style.unicode = chart_kind_ == "unicode" || (chart_kind_ == "auto" && terminal.unicode);
        style.colour = terminal.colour;
        if (chart_kind_ == "none")
            style.height = 0;
        return style;
    }

    std::string path_;
    std::string policy_;
    MachineOptions machine_;
    bool touch_ = false;
    OutputTarget decisions_;
    OutputTarget dump_;
    unsigned spread_ = 0;
    bool until_fail_ = false;
    OutputTarget plot_;
    std::string chart_kind_ = "auto";
    bool json_ = false;
    TraceInput input_;
    TierOptions tiers_;
    OutputTarget timeline_;
};

}  // namespace

CommandInfo replay_command() {
    return {
        .name = "replay",
        .summary = "run a trace under one policy, or over GPU, host and disk",
        .examples =
            "  tidemark replay snapshot.pickle                as it was recorded\n"
            "  tidemark replay run.tmk -p torch:max_split_size_mb=128 --memory 80GiB\n"
            "  tidemark replay oom.pickle --until-fail --dump-state then.pickle     what was held\n"
            "  tidemark replay run.tmk -p vpmm --device cuda:0 --touch              on a real GPU\n"
            "  tidemark replay run.tmk --profile my-card.json                       see calibrate\n"
            "  tidemark replay uses.jsonl --gpu-memory 60% --spill s3fifo           what spilling "
            "costs\n",
        .make = []() -> std::unique_ptr<Command> { return std::make_unique<Replay>(); },
    };
}

}  // namespace tidemark::commands
