// tidemark gate: budgets of a run's figures for continuous integration, against an earlier run.
#include "replay/analysis/gate/gate.h"

#include <fmt/format.h>

#include "backends/sim/description_file.h"
#include "replay/cli/machine_options.h"
#include "replay/cli/trace_input.h"
#include "replay/cli/written_files.h"
#include "replay/facts/missing_history.h"
#include "replay/report/gate/baseline.h"
#include "replay/report/gate/gate_report.h"
#include "replay/report/runs/json.h"

namespace tidemark::commands {
namespace {

constexpr DescriptionKind kBaselineFile{"baseline", "baselines", "no baseline"};

class Gate final : public Command {
  public:
    void declare(Arguments& arguments) override {
        arguments.input(
            {"TRACE", "", "a trace of any format, a folder, - for stdin, or generate:SPEC", true},
            path_);
        arguments.policy({"-p,--policy", "P[:k=v,...]", "the policy (default: the recorded one)"},
                         policy_);
        arguments.input({"--baseline", "FILE", "an earlier run, for values such as +2%"},
                        baseline_path_);
        arguments.input({"--before", "TRACE", "the baseline's trace, to list what grew since"},
                        before_path_);
        arguments.list(
            {"--fail-if", "CONDITION", "a budget: exit with 1 if this holds; may be repeated"},
            fail_if_);
        arguments.file({"--write-baseline", "FILE", "write this run as a baseline for later ones"},
                       FileKind::baseline, write_baseline_);
        arguments.file({"--junit", "FILE", "write JUnit XML, a test case for each budget"},
                       FileKind::junit, junit_);
        arguments.flag({"--markdown", "", "print a Markdown table of all budgets"}, markdown_);
        machine_.declare(arguments);
        arguments.report(json_);
        input_.declare(arguments);
        input_.declare_inference(arguments);
    }

    Result<ExitCode> run(Context& context) override {
        TM_ASSIGN(path_, expand_trace(path_));
        TM_ASSIGN(Scenario scenario, machine_.scenario(trace_name(path_), policy_));
        if (!policy_.empty())
            TM_TRY(parse_policy(policy_));  // an error before a long file is read
        TM_ASSIGN(const std::vector<BudgetCondition> conditions, read_conditions(context));
        TM_ASSIGN(const std::optional<Baseline> baseline, find_baseline());
        const Baseline* const before = baseline ? &*baseline : nullptr;
        TM_TRY(tidemark::gate(prototype(), conditions, before));
        TM_ASSIGN(const std::unique_ptr<Trace> trace, input_.open_inferred(context, path_));
        TM_TRY(facts::need_history(trace->info()).map_error(in_trace(path_)));
        const std::string name = trace_name(path_);
        Progress progress(context.front(), "replaying " + name);
        RunListeners listeners;
        listeners.progress = progress.listener(trace->info().event_count);
        TM_ASSIGN(Run run, tidemark::run(*trace, scenario, listeners));
        progress.clear();
        run.summary.elapsed = 0;  // wall time: the same run writes the same baseline
        run.summary.elapsed_total = 0;
        TM_ASSIGN(const GateReport report, tidemark::gate(run, conditions, before));
        TM_ASSIGN(const std::optional<GateGrowth> growth, find_growth(context, *trace, report));
        if (write_baseline_.wanted())
            TM_TRY(
                write_whole(write_baseline_, run_json(run, trace->info(), context.provenance())));
        if (junit_.wanted())
            TM_TRY(write_whole(junit_, gate_junit(name, run, report)));
        if (markdown_)  // the table goes to a file, this stays in the log
            for (const std::string& line : broken_lines(report))
                context.front().note(line);
        const GateGrowth* const grown = growth ? &*growth : nullptr;
        context.print(json_       ? gate_json(run, report, before, context.provenance(), grown)
                      : markdown_ ? gate_markdown(name, run, report, grown)
                                  : gate_text(name, run, report, grown));
        return report.broken() > 0 ? ExitCode::no : ExitCode::yes;
    }

  private:
    // What grew since `before_path_`, where that is given and a budget is broken.
    Result<std::optional<GateGrowth>> find_growth(Context& context, const Trace& after,
                                                  const GateReport& report) {
        constexpr std::size_t kTopOfGateGrowth = 10;
        if (before_path_.empty() || report.broken() == 0)
            return std::optional<GateGrowth>();
        TM_ASSIGN(const std::string path, expand_trace(before_path_));
        TM_ASSIGN(const std::unique_ptr<Trace> before, input_.open_inferred(context, path));
        const std::vector<std::string> paths{path, path_};
        const std::vector<std::string> names = trace_names(paths);
        TM_ASSIGN(Growth growth, tidemark::find_growth(*before, after, kTopOfGateGrowth));
        return std::optional(GateGrowth{names[0], names[1], std::move(growth)});
    }

    // A run without values: what is wrong with conditions and baseline shows before the replay.
    static Run prototype() {
        Run run;
        run.measurements = gate_figures();
        return run;
    }

    Result<std::vector<BudgetCondition>> read_conditions(Context& context) const {
        if (fail_if_.empty() && !write_baseline_.wanted())
            return fail(ErrorCode::bad_option, "there is no budget", "--fail-if",
                        "give one such as --fail-if 'peak_reserved > +2%', or --write-baseline");
        const std::vector<Measurement> figures = gate_figures();
        std::vector<BudgetCondition> conditions;
        for (const std::string& text : fail_if_) {
            TM_ASSIGN(BudgetCondition condition,
                      parse_budget(text, figures).map_error([](Error error) {
                          error.where = "--fail-if";
                          return error;
                      }));
            if (!condition.note.empty())
                context.front().note(fmt::format("note: {}", condition.note));
            conditions.push_back(std::move(condition));
        }
        return conditions;
    }

    Result<std::optional<Baseline>> find_baseline() const {
        if (baseline_path_.empty())
            return std::nullopt;
        TM_ASSIGN(const std::string text,
                  read_description(baseline_path_, {}, kBaselineFile).map_error([](Error error) {
                      if (error.code == ErrorCode::not_found)
                          error.hint = "`tidemark gate TRACE --write-baseline FILE` writes one";
                      return error;
                  }));
        TM_ASSIGN(Baseline baseline, read_baseline(text, baseline_path_));
        return baseline;
    }

    std::string path_;
    std::string policy_;
    std::string baseline_path_;
    std::string before_path_;
    std::vector<std::string> fail_if_;
    OutputTarget write_baseline_;
    OutputTarget junit_;
    bool markdown_ = false;
    MachineOptions machine_;
    bool json_ = false;
    TraceInput input_;
};

}  // namespace

CommandInfo gate_command() {
    return {
        .name = "gate",
        .summary = "check a trace against budgets, for CI: exit code 1 if one is broken",
        .examples =
            "  tidemark gate main.pickle --write-baseline baseline.json      once, on main\n"
            "  tidemark gate new.pickle --baseline baseline.json --fail-if 'peak_reserved > +2%'\n"
            "  tidemark gate new.pickle --fail-if 'peak_reserved > 70GiB' --fail-if 'retries > 0'\n"
            "  tidemark gate new.pickle --baseline baseline.json --before main.pickle \\\n"
            "      --fail-if 'peak_reserved > +2%'                    and what grew\n"
            "  tidemark gate new.pickle --baseline baseline.json --fail-if 'driver > +50ms' \\\n"
            "      --junit gate.xml --markdown >> \"$GITHUB_STEP_SUMMARY\"\n",
        .make = []() -> std::unique_ptr<Command> { return std::make_unique<Gate>(); },
        .tables = "budgets",
    };
}

}  // namespace tidemark::commands
