// tidemark fit: would it run on that card, and what is the smallest on which it would?
#include "replay/analysis/fit/fit.h"

#include "replay/cli/trace_input.h"
#include "replay/cli_support/interrupt.h"
#include "replay/cli_support/memory_options.h"
#include "replay/facts/missing_history.h"
#include "replay/report/advise/fit_report.h"

namespace tidemark::commands {
namespace {

class Fit final : public Command {
  public:
    void declare(Arguments& arguments) override {
        arguments.input(
            {"TRACE", "", "a trace of any format, a folder, - for stdin, or generate:SPEC", true},
            path_);
        memory_.declare(arguments);
        arguments.policies({"-p,--policy", "P[:k=v,...]",
                            "also try this policy (default: usual settings of PyTorch)"},
                           question_.policies);
        arguments.input(rarely({"--profile", "NAME",
                                "costs of simulated device calls: h200 (default), or a file that "
                                "`tidemark calibrate` wrote"}),
                        question_.profile);
        arguments.count(
            rarely({"-j,--jobs", "N", "run at most N replays at a time (default: all cores)"}),
            question_.threads);
        arguments.count(
            rarely({"--spread", "N",
                    "with several streams: replay each setting N times with other timings, for the "
                    "range of peaks (default: by length; 0: no range)"}),
            question_.spread);
        arguments.flag({"--exit-code", "",
                        "exit with 1 if the recorded settings (or all -p) run out of memory"},
                       exit_code_);
        arguments.flag(rarely({"--bound", "",
                               "also search for the offline bound, as `tidemark bound` does; this "
                               "can take minutes"}),
                       question_.bound);
        arguments.flag({"--markdown", "", "print Markdown"}, markdown_);
        arguments.report(json_);
        input_.declare(arguments);
        input_.declare_inference(arguments);
    }

    Result<ExitCode> run(Context& context) override {
        for (const std::string& policy : question_.policies)
            TM_TRY(parse_policy(policy));  // an error before long files are read
        question_.memory = memory_.memory;
        question_.overhead = memory_.overhead;
        question_.limit = memory_.limit;
        TM_ASSIGN(path_, expand_trace(path_));
        TM_ASSIGN(const std::unique_ptr<Trace> trace, input_.open_inferred(context, path_));
        TM_TRY(facts::need_history(trace->info()).map_error(in_trace(path_)));
        const std::string name = trace_name(path_);
        Progress progress(context.front(), "fitting " + name);
        const std::uint64_t events = trace->info().event_count;
        question_.progress = [&](std::uint64_t done, std::uint64_t total) {
            progress.show_events(done * events, total * events);
        };
        const Interrupt interrupt(context.front().owns_process());
        question_.stop = context.front().stop();
        TM_ASSIGN(const FitReport report,
                  tidemark::fit(*trace, question_).map_error(in_trace(path_)));
        progress.clear();
        if (exit_code_ && !report.requested())
            return fail(ErrorCode::bad_option, "nothing is asked", "--exit-code",
                        "give --memory or --limit");
        context.print(json_ ? fit_json(name, *trace, report, context.provenance())
                            : fit_text(name, trace->info(), report, emphasis(context.terminal())));
        if (report.interrupted)
            return ExitCode::interrupted;
        const bool no = exit_code_ && !report.rows[report.answer].survives;
        return no ? ExitCode::no : ExitCode::yes;
    }

  private:
    Emphasis emphasis(const Terminal& terminal) const {
        if (markdown_)
            return Emphasis::markdown;
        return terminal.colour ? Emphasis::terminal : Emphasis::none;
    }

    std::string path_;
    MemoryOptions memory_;
    FitQuestion question_;
    bool exit_code_ = false;
    bool markdown_ = false;
    bool json_ = false;
    TraceInput input_;
};

}  // namespace

CommandInfo fit_command() {
    return {
        .name = "fit",
        .summary = "say whether a run fits a card, and the smallest card it fits",
        .examples =
            "  tidemark fit snapshot.pickle --memory 80GiB\n"
            "  tidemark fit snapshot.pickle --memory 40GB -p torch:expandable_segments:True\n"
            "  tidemark fit snapshot.pickle --limit 20GiB     under a memory fraction\n"
            "  tidemark fit snapshot.pickle                   the smallest memory of each setting\n"
            "  tidemark fit snapshot.pickle --memory 24GiB --exit-code || echo 'too large'\n",
        .make = []() -> std::unique_ptr<Command> { return std::make_unique<Fit>(); },
        .tables = "candidates",
    };
}

}  // namespace tidemark::commands
