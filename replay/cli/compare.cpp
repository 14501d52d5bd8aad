// tidemark compare: several policies on the same traces, side by side; or several victim policies
// and sizes of GPU memory over the tiers of a machine.
#include "replay/analysis/compare.h"

#include <algorithm>
#include <array>

#include "replay/cli/machine_options.h"
#include "replay/cli/tier_options.h"
#include "replay/cli/trace_input.h"
#include "replay/report/json.h"
#include "replay/report/text.h"
#include "replay/report/tier_report.h"
#include "replay/scenario/recorded_policy.h"

namespace tidemark::commands {
namespace {

using Traces = std::vector<std::unique_ptr<Trace>>;

// What belongs to allocator policies.
constexpr std::array<ForeignOption, 6> kForeign{{
    {"--policy", "over tiers, --spill names the victim policies"},
    {"--memory", "over tiers, --gpu-memory lists the sizes"},
    {"--limit", "over tiers, --gpu-memory lists the sizes"},
    {"--device", "over tiers, --machine names what to simulate"},
    {"--profile", "over tiers, costs are those of the links of --machine"},
    {"--check", "leave it out"},
}};

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
        tiers_.declare(arguments, true);
        arguments.flag({"--no-bound", "", "leave out the least that any policy must move"},
                       no_bound_);
    }

    Result<ExitCode> run(Context& context) override {
        if (std::count(paths_.begin(), paths_.end(), "-") > 1)
            return fail(ErrorCode::bad_option, "can be read once only", "-");
        if (tiers_.wanted())
            return run_over_tiers(context);
        if (no_bound_)
            return fail(ErrorCode::bad_option, "is for comparisons over tiers", "--no-bound",
                        "leave it out, or give --gpu-memory");
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
        return {};
    }

    Result<ExitCode> run_over_tiers(Context& context) {
        TM_TRY(tiers_.refuse(kForeign));
        TM_ASSIGN(const std::vector<std::string> policies, tiers_.policies());
        TM_ASSIGN(const std::vector<GpuMemory> memories, tiers_.memories());
        TM_ASSIGN(const TierScenario scenario, tiers_.scenario());
        TM_ASSIGN(const MachineSpec machine, tiers_.machine());
        std::vector<TierProgram> programs;
        for (const std::string& path : paths_) {
            TM_ASSIGN(const std::unique_ptr<Trace> trace, input_.open(context, path));
            TM_ASSIGN(TierProgram program, tier_program(*trace, machine_.scale(), path));
            programs.push_back(std::move(program));
        }
        std::vector<NamedProgram> named;
        for (std::size_t i = 0; i < paths_.size(); ++i)
            named.push_back({trace_name(paths_[i]), &programs[i]});

        Progress progress(context.terminal(), "comparing");
        const TierCompareOptions options{
            .threads = threads_,
            .bound = !no_bound_,
            .progress = [&progress](std::uint64_t done, std::uint64_t total) {
                progress.show_events(done, total);
            }};
        const TierQuestion question{named, &machine, policies, memories, scenario};
        TM_ASSIGN(const TierComparison comparison, compare_tiers(question, options));
        progress.clear();
        context.print(json_ ? tier_comparison_json(comparison, context.provenance())
                            : tier_comparison_text(comparison, emphasis(context.terminal())));
        return ExitCode::yes;
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
    TierOptions tiers_;
    bool no_bound_ = false;
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
            "  tidemark compare run.tmk --memory 80GiB --markdown >> issue.md\n"
            "  tidemark compare uses.jsonl --gpu-memory 80%,60%,40%,20%     all victim policies\n"
            "  tidemark compare a.jsonl b.jsonl --machine my-node.json --spill lru --spill "
            "belady\n",
        .make = []() -> std::unique_ptr<Command> { return std::make_unique<Compare>(); },
    };
}

}  // namespace tidemark::commands
