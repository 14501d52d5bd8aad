// tidemark info: what is in a trace; of several, a row each.
#include <algorithm>

#include <fmt/format.h>

#include "replay/analysis/trace/drift.h"
#include "replay/analysis/trace/trace_summary.h"
#include "replay/cli/trace_input.h"
#include "replay/report/runs/drift_report.h"
#include "replay/report/runs/json.h"
#include "replay/report/runs/ranks_report.h"
#include "replay/report/runs/text.h"

namespace tidemark::commands {
namespace {

class Info final : public Command {
  public:
    void declare(Arguments& arguments) override {
        arguments.inputs(
            {"TRACE", "", "traces of any format, folders, or - for standard input", true}, paths_);
        arguments.flag({"--drift", "", "do the iterations of a trace differ, and where first?"},
                       drift_);
        arguments.report(json_);
        input_.declare(arguments);
        input_.declare_inference(arguments);
    }

    Result<ExitCode> run(Context& context) override {
        TM_ASSIGN(paths_, expand_traces(paths_));
        if (drift_)
            return look_for_drift(context);
        const std::vector<std::string> names = trace_names(paths_);
        std::vector<std::unique_ptr<Trace>> traces;
        std::vector<SummarizedTrace> summaries;
        for (std::size_t i = 0; i < paths_.size(); ++i) {
            TM_ASSIGN(std::unique_ptr<Trace> trace, input_.open(context, paths_[i]));
            TM_ASSIGN(TraceSummary summary, look_at(context, names[i], *trace));
            TM_TRY(infer_pools(context, paths_[i], *trace, summary));
            summaries.push_back({names[i], trace.get(), std::move(summary)});
            traces.push_back(std::move(trace));
        }
        if (summaries.size() == 1) {
            const auto& [name, trace, summary] = summaries.front();
            context.print(json_ ? trace_json(name, *trace, summary, context.provenance())
                                : trace_text(name, trace->info(), summary));
            return ExitCode::yes;
        }
        TM_ASSIGN(const std::optional<RankReport> ranks, find_ranks(summaries));
        TM_ASSIGN(const std::vector<NamedJoin> joins, join_levels(summaries));
        context.print(json_ ? traces_json(summaries, ranks, joins, context.provenance())
                            : traces_text(summaries, ranks, joins));
        const bool all_match = std::ranges::all_of(
            joins, [](const NamedJoin& each) { return each.join.unmatched.empty(); });
        return all_match ? ExitCode::yes : ExitCode::no;
    }

  private:
    Result<ExitCode> look_for_drift(Context& context) {
        if (paths_.size() != 1)
            return fail(ErrorCode::bad_option, fmt::format("{} traces are given", paths_.size()),
                        "--drift", "it looks at one");
        const std::string name = trace_name(paths_.front());
        TM_ASSIGN(const std::unique_ptr<Trace> trace, input_.open(context, paths_.front()));
        TM_ASSIGN(const DriftReport report, find_drift(*trace).map_error(in_trace(paths_.front())));
        context.print(json_ ? drift_json(name, *trace, report, context.provenance())
                            : drift_text(name, report));
        return ExitCode::yes;
    }

    // Which pool a request went to is not in every file, but can be inferred.
    Result<void> infer_pools(const Context& context, const std::string& path, const Trace& trace,
                             TraceSummary& summary) {
        if (trace.info().pools.size() <= 1)
            return {};
        TM_ASSIGN(const std::unique_ptr<Trace> explained, input_.open_inferred(context, path));
        TM_ASSIGN(TraceSummary inferred, summarize(*explained));
        summary.pools = std::move(inferred.pools);
        return {};
    }

    static Result<TraceSummary> look_at(const Context& context, const std::string& name,
                                        const Trace& trace) {
        Progress progress(context.front(), "looking at " + name);
        return summarize(trace, progress.listener(trace.info().event_count));
    }

    static Result<std::optional<RankReport>> find_ranks(const std::vector<SummarizedTrace>& all) {
        std::vector<NamedTrace> named;
        std::vector<RankRow> rows;
        for (const SummarizedTrace& each : all) {
            named.push_back({each.name, each.trace});
            rows.push_back({.name = each.name,
                            .peak_requested = each.summary.requested.value,
                            .peak_reserved = each.summary.has_recorded_reserved
                                                 ? each.summary.recorded_reserved.value
                                                 : 0});
        }
        if (!are_ranks(named))
            return std::optional<RankReport>();
        TM_ASSIGN(RankReport report, compare_ranks(named, std::move(rows)));
        return std::optional(std::move(report));
    }

    // Of each process that is here at both levels: its driver's calls and PyTorch's allocator.
    Result<std::vector<NamedJoin>> join_levels(std::span<const SummarizedTrace> all) const {
        std::vector<NamedJoin> joins;
        for (std::size_t i = 0; i < all.size(); ++i) {
            for (std::size_t j = 0; all[i].trace->info().from_driver() && j < all.size(); ++j) {
                if (!all[j].trace->info().from_torch() || !are_of_one_process(paths_[i], paths_[j]))
                    continue;
                TM_ASSIGN(RecordingJoin join, join_recordings(paths_[i], paths_[j]));
                joins.push_back({all[i].name, all[j].name, std::move(join)});
            }
        }
        return joins;
    }

    std::vector<std::string> paths_;
    bool drift_ = false;
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
            "  tidemark snapshot.pickle                       the same\n"
            "  tidemark info rank*/snapshot.pickle            a row each, and where the ranks "
            "diverge\n"
            "  tidemark info run/                             PyTorch's recording and its driver's "
            "together\n"
            "  tidemark info log.csv --drift                  does each iteration do the same?\n"
            "  tidemark info snapshot.pickle --json | jq .peak_requested.value\n",
        .make = []() -> std::unique_ptr<Command> { return std::make_unique<Info>(); },
        .tables = "traces,aspects",
    };
}

}  // namespace tidemark::commands
