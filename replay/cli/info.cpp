// tidemark info: what is in a trace.
#include "replay/analysis/trace_summary.h"
#include "replay/cli/trace_input.h"
#include "replay/report/json.h"
#include "replay/report/text.h"

namespace tidemark::commands {
namespace {

class Info final : public Command {
  public:
    void declare(Arguments& arguments) override {
        arguments.text({"TRACE", "", "a trace of any format, or - for standard input", true},
                       path_);
        arguments.flag({"--json", "", "print one JSON object"}, json_);
        input_.declare(arguments);
    }

    Result<ExitCode> run(Context& context) override {
        TM_ASSIGN(const std::unique_ptr<Trace> trace, input_.open(context, path_));
        Progress progress(context.terminal(), "looking at " + trace_name(path_));
        TM_ASSIGN(const TraceSummary summary, summarize(*trace, [&](std::uint64_t done) {
                      progress.show_events(done, trace->info().event_count);
                  }));
        progress.clear();
        const std::string name = trace_name(path_);
        context.print(json_ ? trace_json(name, *trace, summary, context.provenance())
                            : trace_text(name, trace->info(), summary));
        return ExitCode::yes;
    }

  private:
    std::string path_;
    bool json_ = false;
    TraceInput input_;
};

}  // namespace

CommandInfo info_command() {
    return {
        .name = "info",
        .summary = "show what is in a trace: events, sizes, lifetimes, peaks, oddities",
        .examples =
            "  tidemark info snapshot.pickle\n"
            "  xz -dc snapshot.pickle.xz | tidemark info -\n"
            "  tidemark info --json run.tmk | jq .peak_requested.value\n",
        .make = []() -> std::unique_ptr<Command> { return std::make_unique<Info>(); },
    };
}

}  // namespace tidemark::commands
