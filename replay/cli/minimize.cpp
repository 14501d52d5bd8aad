// tidemark minimize: the smallest trace that still shows something, for a bug report.
#include "replay/analysis/minimize/minimize.h"

#include <cstdint>
#include <filesystem>

#include <fmt/format.h>

#include "core/base/stopwatch.h"
#include "core/base/text.h"
#include "replay/analysis/condition/condition.h"
#include "replay/cli/program.h"
#include "replay/cli/trace_input.h"
#include "replay/cli/trace_output.h"
#include "replay/cli/unchecked_file.h"
#include "replay/cli/written_files.h"
#include "replay/cli_support/interrupt.h"
#include "replay/cli_support/memory_options.h"
#include "replay/facts/missing_history.h"
#include "replay/report/forms/wording.h"
#include "replay/report/minimize/minimize_report.h"

namespace tidemark::commands {
namespace {

class Minimize final : public Command {
  public:
    void declare(Arguments& arguments) override {
        arguments.input(
            {"TRACE", "", "a trace of any format, a folder, - for stdin, or generate:SPEC", true},
            path_);
        arguments.text(
            {"--keep", "CONDITION", "what the trace must still show, in figures of `replay`", true},
            keep_);
        arguments.policy({"-p,--policy", "P[:k=v,...]", "the policy (default: the recorded one)"},
                         policy_);
        memory_.declare(arguments);
        arguments.real({"--time", "SECONDS", "search for at most this long (default: to the end)"},
                       time_);
        arguments.count(
            rarely({"-j,--jobs", "N", "run at most N replays at a time (default: all cores)"}),
            threads_);
        arguments.file(
            {"-o,--output", "OUT", "the file to write: .jsonl, .tmk or .csv (an RMM log)", true},
            trace_kind, output_);
        arguments.report(json_);
        input_.declare(arguments);
        input_.declare_inference(arguments);
    }

    Result<ExitCode> run(Context& context) override {
        TM_ASSIGN(condition_, parse_condition(keep_, "--keep"));
        if (!policy_.empty())
            TM_TRY(parse_policy(policy_));  // an error before a long file is read
        TM_ASSIGN(target_, find_target(output_.path));
        if (output_.path == "-")
            return fail(ErrorCode::bad_option, "the result is replayed before it is there", "-o -",
                        "name a file");
        TM_ASSIGN(path_, expand_trace(path_));
        TM_ASSIGN(const std::unique_ptr<Trace> trace, input_.open_inferred(context, path_));
        TM_TRY(facts::need_history(trace->info()).map_error(in_trace(path_)));

        RunListeners listeners;
        if (const auto cancelled = context.front().cancelled())
            listeners.proceed = [cancelled]() -> Result<void> {
                if (cancelled())
                    return fail(ErrorCode::cancelled, "the trace is no longer wanted");
                return {};
            };
        TM_ASSIGN(const Run whole, tidemark::run(*trace, scenario(), listeners));
        if (!condition_.holds(whole.measurements))
            return not_shown(whole);
        const Scenario as_before = candidate_scenario(whole);
        TM_ASSIGN(MinimizedTrace small, search(context, *trace, as_before, listeners));

        small.info.metadata.emplace_back("shows", condition_.text());
        small.info.metadata.emplace_back("replay", command("FILE", as_before));
        TM_ASSIGN(const UncheckedFile file, UncheckedFile::beside(output_.path));
        TM_TRY(write_trace(target_, {.path = file.path()}, [&small](TraceSink& sink) {
            return sink.append(small.events).map([&small] { return small.info; });
        }));
        TM_ASSIGN(const Run after, check(context, file.path(), as_before, listeners));
        TM_TRY(file.become(output_));
        report(context, whole, after, small);
        return interrupted_ ? ExitCode::interrupted : ExitCode::yes;
    }

  private:
    Scenario scenario() const {
        Scenario scenario;
        scenario.trace = path_;
        scenario.policy = policy_;
        memory_.apply(scenario);
        return scenario;
    }

    // That of the whole trace, with what the recording says of policy and limit written out.
    Scenario candidate_scenario(const Run& whole) const {
        Scenario candidate = scenario();
        if (policy_.empty())
            candidate.policy = whole.scenario.policy;
        candidate.limit = whole.limit;
        candidate.overhead = whole.scenario.overhead;  // a smaller file tells less of the card
        return candidate;
    }

    Result<MinimizedTrace> search(const Context& context, const Trace& trace,
                                  const Scenario& scenario, const RunListeners& listeners) {
        const Interrupt interrupt(context.front().owns_process());
        Progress progress(context.front(), "minimizing " + trace_name(path_));
        const Stopwatch stopwatch;
        const auto stop = context.front().stop();
        const auto shown = [&](const Trace& candidate) -> Result<bool> {
            TM_ASSIGN(const Run run, tidemark::run(candidate, scenario, listeners));
            return condition_.holds(run.measurements);
        };
        const auto enough = [&] {
            return stop() || (time_ > 0 && static_cast<double>(stopwatch.elapsed()) > time_ * 1e9);
        };
        Result<MinimizedTrace> small = minimize_trace(
            trace, shown, {.threads = threads_, .stop = enough, .progress = progress.listener()});
        interrupted_ = stop();
        return small.map_error(in_trace(path_));
    }

    // The file as whoever gets it replays it.
    Result<Run> check(const Context& context, const std::string& path, const Scenario& scenario,
                      const RunListeners& listeners) const {
        TM_ASSIGN(const std::unique_ptr<Trace> trace,
                  open_inferred_recording(context.front(), path, {}));
        TM_ASSIGN(Run run, tidemark::run(*trace, scenario, listeners));
        if (!condition_.holds(run.measurements))
            return fail(ErrorCode::unsupported,
                        "what was found doesn't show it any more in this file's format", "-o",
                        "write .tmk or .jsonl");
        return run;
    }

    Result<ExitCode> not_shown(const Run& whole) const {
        std::string figures;
        for (const BudgetCondition& each : condition_.all)
            figures += fmt::format("{}{} is {}", figures.empty() ? "" : ", ", each.metric,
                                   figure_text(whole.measurement(each.metric)));
        return fail(ErrorCode::bad_option,
                    fmt::format("the whole trace doesn't show it under {}: {}",
                                whole.scenario.policy, figures),
                    "--keep", "ask for less, or name another policy or --memory");
    }

    // The replay of `file` that shows it.
    static std::string command(const std::string& file, const Scenario& scenario) {
        std::vector<std::string> arguments{"replay", file, "-p", scenario.policy};
        const auto add = [&arguments](const char* option, Bytes bytes) {
            arguments.insert(arguments.end(), {option, fmt::format("{}", bytes)});
        };
        if (scenario.limit.value_or(0) > 0)
            add("--limit", *scenario.limit);
        if (scenario.memory > 0) {
            add("--memory", scenario.memory);
            add("--overhead", scenario.held());
        }
        return command_line(arguments);
    }

    void report(Context& context, const Run& whole, const Run& after,
                const MinimizedTrace& small) const {
        MinimizeReport report{.name = trace_name(path_),
                              .target = output_.path,
                              .format = target_.format(),
                              .condition = condition_.text(),
                              .policy = after.scenario.policy,
                              .before = small.before,
                              .after = small.after,
                              .replays = small.replays,
                              .complete = small.complete,
                              .again = command(output_.path, candidate_scenario(whole))};
        std::error_code failed;
        const auto bytes = std::filesystem::file_size(output_.path, failed);
        report.bytes = failed ? 0 : bytes;
        for (const BudgetCondition& each : condition_.all)
            report.figures.push_back(
                {whole.measurement(each.metric), after.measurement(each.metric)});
        context.print(json_ ? minimize_json(report, context.provenance()) : minimize_text(report));
    }

    std::string path_;
    std::string keep_;
    std::string policy_;
    MemoryOptions memory_;
    double time_ = 0;
    unsigned threads_ = 0;
    OutputTarget output_;
    Condition condition_;
    TraceTarget target_;
    bool json_ = false;
    bool interrupted_ = false;
    TraceInput input_;
};

}  // namespace

CommandInfo minimize_command() {
    return {
        .name = "minimize",
        .summary = "write the smallest trace that still shows a fault, for a bug report",
        .examples =
            "  tidemark minimize snapshot.pickle --keep 'reserved > 70GiB' -o small.jsonl\n"
            "  tidemark minimize run.tmk -p best-fit --keep out_of_memory --memory 40GiB -o "
            "oom.jsonl\n"
            "  tidemark minimize run.tmk -p torch --keep 'retries >= 3' --time 60 -o small.jsonl\n",
        .make = []() -> std::unique_ptr<Command> { return std::make_unique<Minimize>(); },
        .tables = "figures",
    };
}

}  // namespace tidemark::commands
