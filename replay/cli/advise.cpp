// tidemark advise: where the memory went, why, and which settings need less. With two
// traces: what grew from the first to the second.
#include "replay/analysis/advise/advise.h"

#include <array>
#include <string_view>

#include "replay/cli/trace_input.h"
#include "replay/cli_support/interrupt.h"
#include "replay/cli_support/memory_options.h"
#include "replay/report/advise/advise_report.h"

namespace tidemark::commands {
namespace {

constexpr unsigned kTopOfGrowth = 10;
constexpr unsigned kTopOfAdvice = 5;
constexpr std::array<std::string_view, 1> kWithout{"vmm"};

class Advise final : public Command {
  public:
    void declare(Arguments& arguments) override {
        arguments.inputs({"TRACE", "", "one trace of any format, or two to compare", true}, paths_);
        arguments.text({"-p,--policy", "torch[:k=v,...]",
                        "compare with these settings (default: the recorded ones)"},
                       options_.policy);
        memory_.declare(arguments);
        arguments.input(rarely({"--profile", "NAME",
                                "costs of simulated device calls: h200 (default), or a file that "
                                "`tidemark calibrate` wrote"}),
                        options_.profile);
        arguments.count(
            {"--budget", "N", "replay at most N settings (default: by the trace's length)"},
            budget_);
        arguments.count({"--top", "N", "list at most N entries (default: 5; 10 for two traces)"},
                        top_);
        arguments.count(rarely({"-j,--jobs,--threads", "N",
                                "run at most N replays at a time (default: all cores)"}),
                        options_.threads);
        arguments.count(
            rarely({"--spread", "N",
                    "with several streams: replay each setting N times with other timings, for the "
                    "range of peaks (default: by length; 0: no range)"}),
            options_.spread);
        arguments.choice({"--without", "vmm", "advise nothing that needs expandable segments"},
                         kWithout, without_);
        arguments.flag(rarely({"--bound", "",
                               "also search for the offline bound, as `tidemark bound` does; this "
                               "can take minutes"}),
                       options_.bound);
        arguments.report(json_);
        input_.declare(arguments);
        input_.declare_inference(arguments);
    }

    Result<ExitCode> run(Context& context) override {
        TM_ASSIGN(paths_, expand_traces(paths_));
        TM_TRY(check_arguments());
        options_.memory = memory_.memory;
        options_.overhead = memory_.overhead;
        options_.limit = memory_.limit;
        TM_ASSIGN(const std::unique_ptr<Trace> trace,
                  input_.open_inferred(context, paths_.front()));
        return paths_.size() == 2 ? compare(context, *trace) : advise(context, *trace);
    }

  private:
    // Wrong arguments are errors before long files are read.
    Result<void> check_arguments() const {
        if (paths_.size() > 2)
            return fail(ErrorCode::bad_option, "takes one trace, or two to compare", "advise",
                        "`tidemark compare` takes any number of traces");
        if (paths_.size() == 2 && paths_[0] == "-" && paths_[1] == "-")
            return fail(ErrorCode::bad_option, "can be read only once", "-");
        if (paths_.size() == 2 &&
            (memory_.limit || memory_.memory > 0 || budget_ > 0 || !options_.policy.empty()))
            return fail(ErrorCode::bad_option,
                        "two traces are compared by what lives in them: no settings are searched",
                        "advise", "leave out --policy, --limit, --memory and --budget");
        if (!options_.policy.empty())
            TM_TRY(parse_policy(options_.policy));
        return {};
    }

    Result<ExitCode> advise(Context& context, const Trace& trace) {
        AdviseOptions options = options_;
        options.top = top_ > 0 ? top_ : kTopOfAdvice;
        options.budget = budget_;
        Progress progress(context.front(), "trying settings on " + trace_name(paths_[0]));
        options.progress = progress.listener();
        const Interrupt interrupt(context.front().owns_process());
        options.stop = context.front().stop();
        options.without_vmm = !without_.empty();
        TM_ASSIGN(const Advice advice,
                  tidemark::advise(trace, options).map_error(in_trace(paths_[0])));
        progress.clear();
        const std::string name = trace_name(paths_[0]);
        context.print(json_ ? advice_json(name, trace, advice, context.provenance())
                            : advice_text(name, trace.info(), advice));
        return advice.search.interrupted ? ExitCode::interrupted : ExitCode::yes;
    }

    Result<ExitCode> compare(Context& context, const Trace& before) {
        TM_ASSIGN(const std::unique_ptr<Trace> after, input_.open_inferred(context, paths_[1]));
        TM_ASSIGN(const Growth growth, find_growth(before, *after, top_ > 0 ? top_ : kTopOfGrowth));
        const std::vector<std::string> names = trace_names(paths_);
        context.print(json_ ? growth_json(names[0], names[1], growth, context.provenance())
                            : growth_text(names[0], names[1], growth));
        return ExitCode::yes;
    }

    std::vector<std::string> paths_;
    MemoryOptions memory_;
    AdviseOptions options_;
    std::string without_;
    unsigned budget_ = 0;
    unsigned top_ = 0;
    bool json_ = false;
    TraceInput input_;
};

}  // namespace

CommandInfo advise_command() {
    return {
        .name = "advise",
        .summary = "say where the memory went, why, and which settings need less",
        .examples =
            "  tidemark advise snapshot.pickle\n"
            "  tidemark advise snapshot.pickle --limit 40GiB  which settings survive it?\n"
            "  tidemark advise snapshot.pickle --without vmm  on Windows, or with CUDA IPC\n"
            "  tidemark advise run.tmk -p torch:expandable_segments:True --top 20\n"
            "  tidemark advise before.pickle after.pickle     what grew, by stack\n"
            "  tidemark diff before.pickle after.pickle       the same\n",
        .make = []() -> std::unique_ptr<Command> { return std::make_unique<Advise>(); },
        .also = "diff",
        .tables = "entries",
    };
}

}  // namespace tidemark::commands
