// tidemark verify: does our model of the recorded allocator decide as the real one did?
#include "replay/record/verify.h"

#include "replay/cli/trace_input.h"
#include "replay/record/recorded_policy.h"
#include "replay/report/runs/json.h"
#include "replay/report/runs/text.h"

namespace tidemark::commands {
namespace {

class Verify final : public Command {
  public:
    void declare(Arguments& arguments) override {
        arguments.input(
            {"TRACE", "", "a trace with recorded decisions, or - for standard input", true}, path_);
        arguments.text({"-p,--policy", "P[:k=v,...]", "the model (default: the recorded settings)"},
                       policy_);
        arguments.bytes({"--limit", "SIZE", "the limit of the process, if the program had set one"},
                        limit_);
        arguments.bytes({"--memory", "SIZE", "size of the device (default: as recorded)"}, memory_);
        arguments.report(json_);
        input_.declare(arguments);
    }

    Result<ExitCode> run(Context& context) override {
        if (!policy_.empty())
            TM_TRY(parse_policy(policy_));  // an error before a long file is read
        TM_ASSIGN(path_, expand_trace(path_));
        TM_ASSIGN(const std::unique_ptr<Trace> trace, input_.open(context, path_));
        std::vector<std::string> warnings;
        std::string policy = policy_;
        if (policy.empty()) {
            TM_ASSIGN(RecordedPolicy recorded, recorded_policy(trace->info()));
            policy = std::move(recorded.text);
            warnings = std::move(recorded.warnings);
        }
        TM_ASSIGN(const PolicySpec spec, parse_policy(policy));
        Progress progress(context.front(), "verifying " + trace_name(path_));
        VerifyOptions options;
        options.limit = limit_;
        options.memory = memory_;
        options.progress = progress.listener(trace->info().event_count);
        TM_ASSIGN(VerifyReport report, verify(*trace, spec, options).map_error(in_trace(path_)));
        progress.clear();
        report.notes.insert(report.notes.begin(), warnings.begin(), warnings.end());
        const std::string name = trace_name(path_);
        context.print(json_ ? verify_json(name, *trace, report, context.provenance())
                            : verify_text(name, report));
        if (report.mismatches > 0)
            return ExitCode::no;
        return report.compares() ? ExitCode::yes : ExitCode::nothing_to_compare;
    }

  private:
    std::string path_;
    std::string policy_;
    Bytes limit_ = 0;
    Bytes memory_ = 0;
    bool json_ = false;
    TraceInput input_;
};

}  // namespace

CommandInfo verify_command() {
    return {
        .name = "verify",
        .summary = "check our model of the recorded allocator against the recording",
        .examples =
            "  tidemark verify snapshot.pickle\n"
            "  tidemark verify churn.pickle --limit 6GiB      with the limit that the program had "
            "set\n"
            "  tidemark verify snapshot.pickle && echo 'the simulation is exact'\n"
            "Exit code 6: the trace holds no decisions to compare.\n",
        .make = []() -> std::unique_ptr<Command> { return std::make_unique<Verify>(); },
    };
}

}  // namespace tidemark::commands
