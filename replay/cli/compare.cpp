// tidemark compare: several policies on the same traces, side by side.
#include "replay/analysis/compare.h"

#include <algorithm>

#include "replay/cli/machine_options.h"
#include "replay/cli/trace_input.h"
#include "replay/report/json.h"
#include "replay/report/text.h"
#include "replay/scenario/recorded_policy.h"

namespace tidemark::commands {
namespace {

using Traces = std::vector<std::unique_ptr<Trace>>;

// What to compare with when nobody says: the recorded system's own policy, if all traces agree on
// one, then every other policy as it comes.
std::vector<std::string> default_policies(const Traces& traces) {
    std::vector<std::string> chosen;
    for (const auto& trace : traces) {
        const Result<RecordedPolicy> recorded = recorded_policy(trace->info());
        if (!recorded || (!chosen.empty() && chosen.front() != recorded->text)) {
            chosen.clear();
            break;
        }
        chosen = {recorded->text};
    }
    for (const PolicyInfo& policy : all_policies())
        if (chosen.empty() || chosen.front() != policy.name)
            chosen.emplace_back(policy.name);
    return chosen;
}

class Compare final : public Command {
  public:
    void declare(Arguments& arguments) override {
        arguments.list({"TRACE", "", "traces of any format, - or generate:NAME:options", true},
                       paths_);
        arguments.list(
            {"-p,--policy", "P[:k=v,...]",
             "a policy; the first is the baseline (default: the recorded one, then all)"},
            policies_);
        machine_.declare(arguments);
        arguments.count({"-j,--threads", "N", "at most so many at once (default: all cores)"},
                        threads_);
        arguments.flag({"--markdown", "", "print Markdown, the best in **bold**"}, markdown_);
        arguments.flag({"--json", "", "print one JSON object"}, json_);
        input_.declare(arguments);
    }

    Result<ExitCode> run(Context& context) override {
        TM_TRY(check_words());
        Traces traces;
        std::vector<NamedTrace> named;
        for (const std::string& path : paths_) {
            TM_ASSIGN(std::unique_ptr<Trace> trace, input_.open_explained(context, path));
            named.push_back({trace_name(path), trace.get()});
            traces.push_back(std::move(trace));
        }
        std::vector<Scenario> scenarios;
        for (const std::string& policy : policies_.empty() ? default_policies(traces) : policies_) {
            TM_ASSIGN(Scenario scenario, machine_.scenario({}, policy));
            scenarios.push_back(std::move(scenario));
        }

        Progress progress(context.terminal(), "comparing");
        CompareOptions options;
        options.threads = machine_.is_real() ? 1 : threads_;
        options.progress = [&progress](std::uint64_t done, std::uint64_t total) {
            progress.show_events(done, total);
        };
        TM_ASSIGN(const Comparison comparison, tidemark::compare(named, scenarios, options));
        progress.clear();
        context.print(json_ ? comparison_json(comparison, context.provenance())
                            : comparison_text(comparison, emphasis(context.terminal())));
        return hazards(comparison) ? ExitCode::no : ExitCode::yes;
    }

  private:
    // Wrong words are told before long files are read.
    Result<void> check_words() const {
        for (const std::string& policy : policies_)
            TM_TRY(parse_policy(policy));
        TM_TRY(machine_.scenario({}, {}));
        if (std::count(paths_.begin(), paths_.end(), "-") > 1)
            return fail(ErrorCode::bad_option, "can be read once only", "-");
        return {};
    }

    static bool hazards(const Comparison& comparison) {
        for (const TraceComparison& trace : comparison.traces)
            for (const ComparisonRow& row : trace.rows)
                if (row.run.hazard_count > 0)
                    return true;
        return false;
    }

    Emphasis emphasis(const Terminal& terminal) const {
        if (markdown_)
            return Emphasis::markdown;
        return terminal.colour ? Emphasis::terminal : Emphasis::none;
    }

    std::vector<std::string> paths_;
    std::vector<std::string> policies_;
    MachineOptions machine_;
    unsigned threads_ = 0;
    bool markdown_ = false;
    bool json_ = false;
    TraceInput input_;
};

}  // namespace

CommandInfo compare_command() {
    return {
        .name = "compare",
        .summary = "run traces under several policies and say which is best, and by how much",
        .examples =
            "  tidemark compare snapshot.pickle\n"
            "  tidemark compare a.pickle b.csv -p torch -p best-fit -p buddy\n"
            "  tidemark compare run.tmk -p torch -p torch:max_split_size_mb=128\n"
            "  tidemark compare run.tmk --memory 80GiB --markdown >> issue.md\n",
        .make = []() -> std::unique_ptr<Command> { return std::make_unique<Compare>(); },
    };
}

}  // namespace tidemark::commands
