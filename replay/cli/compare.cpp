// tidemark compare: several policies on the same traces, side by side; or several victim policies
// and sizes of GPU memory over the tiers of a machine.
#include "replay/analysis/compare/compare.h"

#include <algorithm>
#include <array>

#include "replay/analysis/advise/advise.h"
#include "replay/analysis/trace/offered_policies.h"
#include "replay/cli/machine_options.h"
#include "replay/cli/tier_options.h"
#include "replay/cli/trace_input.h"
#include "replay/cli/written_files.h"
#include "replay/cli_support/interrupt.h"
#include "replay/facts/missing_history.h"
#include "replay/record/recorded_policy.h"
#include "replay/report/runs/json.h"
#include "replay/report/runs/text.h"
#include "replay/report/tiers/tier_report.h"

namespace tidemark::commands {
namespace {

using Traces = std::vector<std::unique_ptr<Trace>>;

// What belongs to allocator policies.
constexpr std::array<ForeignOption, 8> kCompareForeign{{
    {"--policy", "over tiers, --spill names the victim policies"},
    {"--memory", "over tiers, --gpu-memory lists the sizes"},
    {"--limit", "over tiers, --gpu-memory lists the sizes"},
    {"--device", "over tiers, --machine names what to simulate"},
    {"--profile", "over tiers, costs are those of the links of --machine"},
    {"--check", "leave it out"},
    {"--plot", "over tiers, --json has the figures"},
    {"--jitter", "leave it out"},
}};

constexpr std::uint64_t kSearched =
    10'000'000;                              // events, for settings other than the recorded ones
constexpr std::uint64_t kMostSearched = 60;  // settings
constexpr std::uint64_t kLeastSearched = 20;

// The recorded system's own policy, if all traces agree on one.
std::vector<std::string> agreed_policy(const Traces& traces) {
    std::vector<std::string> chosen;
    for (const auto& trace : traces) {
        const Result<RecordedPolicy> recorded = recorded_policy(trace->info());
        if (!recorded || (!chosen.empty() && chosen.front() != recorded->text)) {
            chosen.clear();
            break;
        }
        chosen = {recorded->text};
    }
    return chosen;
}

class Compare final : public Command {
  public:
    void declare(Arguments& arguments) override {
        arguments.inputs({"TRACE", "", "traces of any format, - for stdin, or generate:SPEC", true},
                         paths_);
        arguments.policies({"-p,--policy", "P[:k=v,...]",
                            "a policy; the first is the baseline (default: recorded and better)"},
                           policies_);
        machine_.declare(arguments);
        arguments.count(
            rarely({"-j,--threads", "N", "run at most N replays at a time (default: all cores)"}),
            threads_);
        arguments.count(
            rarely({"--spread", "N",
                    "with several streams: replay each setting N times with other timings, for the "
                    "range of peaks (default: by length; 0: no range)"}),
            spread_);
        arguments.count(
            rarely({"--jitter", "N",
                    "is the ranking luck? Replay each policy on N variants of the trace, with "
                    "sizes changed by up to 0.4 % and streams interleaved in another order"}),
            jitter_);
        arguments.file({"--plot", "FILE", "draw the peaks as bars, as .svg or .png"}, plot_kind,
                       plot_);
        arguments.flag({"--all", "", "also compare the other allocators of the catalogue"}, all_);
        arguments.flag({"--markdown", "", "print Markdown, the best in **bold**"}, markdown_);
        arguments.report(json_);
        input_.declare(arguments);
        input_.declare_inference(arguments);
        tiers_.declare(arguments, true);
        arguments.flag(
            rarely({"--no-bound", "", "over tiers: skip the least traffic that any policy needs"}),
            no_bound_);
    }

    Result<ExitCode> run(Context& context) override {
        TM_ASSIGN(paths_, expand_traces(paths_));
        if (std::ranges::count(paths_, "-") > 1)
            return fail(ErrorCode::bad_option, "can be read only once", "-");
        if (tiers_.wanted())
            return run_over_tiers(context);
        if (no_bound_)
            return fail(ErrorCode::bad_option, "is for comparisons over tiers", "--no-bound",
                        "leave it out, or give --gpu-memory");
        TM_TRY(check_arguments());
        TM_TRY(check_plot(plot_.path));
        const std::vector<std::string> names = trace_names(paths_);
        Traces traces;
        std::vector<NamedTrace> named;
        for (const std::string& path : paths_) {
            TM_ASSIGN(std::unique_ptr<Trace> trace, input_.open_inferred(context, path));
            TM_TRY(facts::need_history(trace->info()).map_error(in_trace(path)));
            named.push_back({names[traces.size()], trace.get()});
            traces.push_back(std::move(trace));
        }
        const Interrupt interrupt(context.front().owns_process());
        std::vector<Scenario> scenarios;
        std::vector<std::string> policies = policies_;
        if (policies.empty()) {
            TM_ASSIGN(policies, default_policies(context, traces));
        }
        for (const std::string& policy : policies) {
            TM_ASSIGN(Scenario scenario, machine_.scenario({}, policy));
            scenarios.push_back(std::move(scenario));
        }

        Progress progress(context.front(), "comparing");
        CompareOptions options;
        options.threads = machine_.is_real() ? 1 : threads_;
        options.settings_first = policies_.empty();
        options.stop = context.front().stop();
        options.spread = spread_;
        options.jitter = jitter_;
        options.progress = progress.listener();
        TM_ASSIGN(const Comparison comparison, tidemark::compare(named, scenarios, options));
        progress.clear();
        TM_TRY(write_plot(plot_, [&] { return comparison_plot(comparison); }));
        context.print(json_ ? comparison_json(comparison, context.provenance())
                            : comparison_text(comparison, emphasis(context.terminal())));
        if (comparison.interrupted)
            return ExitCode::interrupted;
        return hazards(comparison) ? ExitCode::no : ExitCode::yes;
    }

  private:
    // What to compare with when nobody says: the recorded system's own policy, if all traces agree
    // on one, then what its user can choose: of PyTorch expandable segments, and the best setting
    // that a short search finds; of others their list (policy_offers); then our own. With --all,
    // and where nobody knows whose recording it is, every policy with tried_unasked.
    Result<std::vector<std::string>> default_policies(Context& context,
                                                      const Traces& traces) const {
        std::vector<std::string> chosen = agreed_policy(traces);
        const bool torch = !chosen.empty() && chosen.front().starts_with("torch");
        const auto add = [&chosen](const std::string& policy) {
            if (std::ranges::find(chosen, policy) == chosen.end())
                chosen.push_back(policy);
        };
        if (torch) {
            add("torch:expandable_segments=true");
            TM_ASSIGN(const std::string found, short_search(context, traces));
            if (!found.empty())
                add(found);
        }
        TM_ASSIGN(const std::vector<std::string> offered, offered_policies(*traces.front()));
        for (const std::string& policy : offered)
            add(policy);
        if (!chosen.empty())
            add("extent");
        if (!all_ && !chosen.empty())
            return chosen;
        for (const PolicyInfo& policy : all_policies())
            if (policy.tried_unasked)
                add(std::string(policy.name));
        return chosen;
    }

    // The best setting that a few replays find; "" if there is none, or they would take long.
    Result<std::string> short_search(Context& context, const Traces& traces) const {
        const std::uint64_t events = std::max<std::uint64_t>(traces.front()->info().event_count, 1);
        AdviseOptions options;
        options.budget = static_cast<std::size_t>(std::min(kSearched / events, kMostSearched));
        if (traces.size() > 1 || machine_.is_real() || machine_.scale() != 1 ||
            options.budget < kLeastSearched)
            return std::string();
        TM_ASSIGN(const Scenario scenario, machine_.scenario({}, {}));
        options.memory = scenario.memory;
        options.limit = scenario.limit;
        options.profile = scenario.profile;
        options.threads = threads_;
        options.settings_only = true;
        options.stop = context.front().stop();
        Progress progress(context.front(), "trying settings");
        options.progress = progress.listener();
        TM_ASSIGN(const Advice advice, tidemark::advise(*traces.front(), options));
        return advice.search.improves ? advice.search.best.policy.text() : std::string();
    }

    // Wrong arguments are errors before long files are read.
    Result<void> check_arguments() const {
        for (const std::string& policy : policies_)
            TM_TRY(parse_policy(policy));
        TM_TRY(machine_.scenario({}, {}));
        return {};
    }

    Result<ExitCode> run_over_tiers(Context& context) {
        TM_TRY(tiers_.refuse(kCompareForeign));
        TM_ASSIGN(const std::vector<std::string> policies, tiers_.policies());
        TM_ASSIGN(const std::vector<GpuMemory> memories, tiers_.memories(context.front()));
        TM_ASSIGN(const TierScenario scenario, tiers_.scenario());
        TM_ASSIGN(const MachineSpec machine, tiers_.machine());
        std::vector<TierProgram> programs;
        for (const std::string& path : paths_) {
            TM_ASSIGN(const std::unique_ptr<Trace> trace, input_.open(context, path));
            TM_ASSIGN(TierProgram program, tier_program(*trace, machine_.scale(), path));
            programs.push_back(std::move(program));
        }
        const std::vector<std::string> names = trace_names(paths_);
        std::vector<NamedProgram> named;
        for (std::size_t i = 0; i < paths_.size(); ++i)
            named.push_back({names[i], &programs[i]});

        Progress progress(context.front(), "comparing");
        const TierCompareOptions options{.threads = threads_,
                                         .bound = !no_bound_,
                                         .progress = progress.listener(),
                                         .cancelled = context.front().cancelled()};
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
    unsigned spread_ = 0;
    unsigned jitter_ = 0;
    OutputTarget plot_;
    bool markdown_ = false;
    bool all_ = false;
    bool json_ = false;
    TraceInput input_;
    TierOptions tiers_;
    bool no_bound_ = false;
};

}  // namespace

CommandInfo compare_command() {
    return {
        .name = "compare",
        .summary = "run traces under several policies, and say which is best and why",
        .examples =
            "  tidemark compare snapshot.pickle               the recorded settings and better "
            "ones\n"
            "  tidemark compare rank*/snapshot.pickle         one row a rank, and where they "
            "diverge\n"
            "  tidemark compare run.tmk -p torch -p torch:max_split_size_mb=128\n"
            "  tidemark compare *.pickle -p torch -p vpmm     how sure the ranking is, over all "
            "traces\n"
            "  tidemark compare run.tmk --memory 80GiB --markdown >> issue.md\n"
            "  tidemark compare uses.jsonl --gpu-memory 80%,60%,40%,20%     spilled to host and "
            "disk\n",
        .make = []() -> std::unique_ptr<Command> { return std::make_unique<Compare>(); },
        .tables = "runs",
    };
}

}  // namespace tidemark::commands
