// tidemark report: what came of a run, of several, or of a sweep, as one page for any browser, or
// as text; or the viewer's page with the traces inside.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/text.h"
#include "replay/analysis/advise/advise.h"
#include "replay/analysis/compare/ranks.h"
#include "replay/analysis/spread/spread.h"
#include "replay/cli/machine_options.h"
#include "replay/cli/sweep_report.h"
#include "replay/cli/trace_input.h"
#include "replay/cli/viewer_page.h"
#include "replay/cli/written_files.h"
#include "replay/cli_support/memory_options.h"
#include "replay/record/recorded_policy.h"
#include "replay/report/forms/json_values.h"
#include "replay/report/page/html_report.h"

namespace tidemark::commands {
namespace {

class Report final : public Command {
  public:
    void declare(Arguments& arguments) override {
        arguments.inputs(
            {"RUN", "", "traces of any format, or a folder that `tidemark sweep` wrote", true},
            paths_);
        arguments.file({"-o,--output", "FILE", "the page; - is standard output"}, FileKind::report,
                       output_);
        arguments.policies({"-p,--policy", "P[:k=v,...]",
                            "a policy; the first is the baseline (default: recorded)"},
                           policies_);
        memory_.declare(arguments);
        arguments.input(rarely({"--profile", "NAME",
                                "costs of simulated device calls: h200 (default), or a file that "
                                "`tidemark calibrate` wrote"}),
                        profile_);
        arguments.text({"--title", "TEXT", "the page's title (default: the traces' names)"},
                       title_);
        arguments.flag({"--no-advise", "", "skip the findings of `advise`, which take longest"},
                       no_advise_);
        arguments.count(
            rarely({"--spread", "N",
                    "with several streams: replay each setting N times with other timings, for the "
                    "range of peaks (default: by length; 0: no range)"}),
            spread_.runs);
        arguments.flag(rarely({"--bound", "",
                               "also search for the offline bound, as `tidemark bound` does; this "
                               "can take minutes"}),
                       bound_);
        arguments.text(
            rarely(
                {"--across", "OPTION",
                 "of a sweep: the option along the heat map (default: the one with most values)"}),
            across_);
        arguments.text(rarely({"--down", "OPTION", "of a sweep: the option down the heat map"}),
                       down_);
        arguments.count(
            rarely({"--top", "N", "of a sweep: list at most N settings (default: 50; 0: all)"}),
            top_);
        arguments.flag({"--interactive", "", "write the viewer with the traces inside"},
                       interactive_);
        arguments.flag({"--text", "", "print the report as text"}, text_);
        arguments.report(json_, "print one JSON object about what was written");
        input_.declare(arguments);
        input_.declare_inference(arguments);
    }

    Result<ExitCode> run(Context& context) override {
        if (const auto swept = std::ranges::find_if(
                paths_, [&](const std::string& path) { return is_swept(context, input_, path); });
            swept != paths_.end()) {
            TM_TRY(check_arguments());
            if (paths_.size() > 1)
                return fail(ErrorCode::bad_option, "is a sweep, and is reported alone", *swept);
            if (interactive_)
                return fail(ErrorCode::bad_option, "is for traces, not for a sweep",
                            "--interactive");
            return report_sweep(context, input_,
                                {.path = *swept,
                                 .output = output_,
                                 .title = title_,
                                 .across = across_,
                                 .down = down_,
                                 .top = top_,
                                 .text = text_,
                                 .json = json_});
        }
        if (!across_.empty() || !down_.empty())
            return fail(ErrorCode::bad_option, "is for the results of a sweep",
                        across_.empty() ? "--down" : "--across",
                        "give the folder that `tidemark sweep` wrote to");
        TM_ASSIGN(paths_, expand_traces(paths_));
        TM_TRY(check_arguments());
        if (interactive_)
            return write_page(context, input_,
                              {.paths = paths_,
                               .title = title_.empty() ? names(trace_names(paths_)) : title_,
                               .location = "peak"},
                              output_, json_);
        const std::vector<std::string> labels = trace_names(paths_);
        std::vector<std::unique_ptr<Trace>> traces;
        ReportInput report;
        report.provenance = context.provenance();
        report.cancelled = context.front().cancelled();
        for (const std::string& path : paths_) {
            TM_ASSIGN(std::unique_ptr<Trace> trace, input_.open_inferred(context, path));
            report.traces.push_back({labels[traces.size()], trace.get(), std::nullopt});
            traces.push_back(std::move(trace));
        }
        report.title = title_.empty() ? names(labels) : title_;
        for (std::size_t i = 0; i < traces.size(); ++i)
            TM_TRY(add_runs(context, report, i));
        for (std::size_t i = 0; i < traces.size(); ++i) {
            if (!no_advise_)
                TM_TRY(add_advice(context, report, i));
            TM_TRY(add_bound(report.traces[i]));
        }
        TM_ASSIGN(report.ranks, find_ranks(report));
        return write(context, report);
    }

  private:
    // Wrong arguments are errors before long files are read.
    Result<void> check_arguments() const {
        if (std::ranges::count(paths_, "-") > 1)
            return fail(ErrorCode::bad_option, "can be read only once", "-");
        for (const std::string& policy : policies_)
            TM_TRY(parse_policy(policy));
        if (text_ && output_.wanted())
            return fail(ErrorCode::bad_option, "--text prints and writes no page", "--output",
                        "give one of them");
        if (text_ && json_)
            return fail(ErrorCode::bad_option, "--text prints no object", "--json",
                        "give one of them");
        if (const std::string_view still = still_option(); interactive_ && !still.empty())
            return fail(ErrorCode::bad_option, "is for the still report", std::string(still),
                        "the interactive page can replay under any policy");
        if (!text_ && !output_.wanted())
            return fail(ErrorCode::bad_option, "says where the page goes", "--output",
                        "-o report.html; or --text to read it here");
        return allow_report(output_.path, json_);
    }

    // The first option that the interactive page has no use for; "" if none was given.
    std::string_view still_option() const {
        const std::pair<bool, std::string_view> still[] = {
            {text_, "--text"},
            {!policies_.empty(), "--policy"},
            {memory_.memory != 0, "--memory"},
            {memory_.limit.has_value(), "--limit"},
            {memory_.overhead.has_value(), "--overhead"},
            {!profile_.empty(), "--profile"},
            {no_advise_, "--no-advise"},
            {bound_, "--bound"}};
        const auto given =
            std::ranges::find(still, true, &std::pair<bool, std::string_view>::first);
        return given == std::end(still) ? std::string_view() : given->second;
    }

    // What each needed in its first run, if the traces are ranks.
    static Result<std::optional<RankReport>> find_ranks(const ReportInput& report) {
        std::vector<NamedTrace> named;
        std::vector<RankRow> rows;
        for (std::size_t i = 0; i < report.traces.size(); ++i) {
            const auto first = std::ranges::find(report.runs, i, &ReportedRun::trace);
            const Run& run = first->recorded.run;
            named.push_back({report.traces[i].name, report.traces[i].trace});
            rows.push_back({.name = report.traces[i].name,
                            .peak_requested = run.measurement("peak_requested_bytes").whole,
                            .peak_reserved = run.measurement("peak_reserved_bytes").whole});
        }
        if (!are_ranks(named))
            return std::optional<RankReport>();
        TM_ASSIGN(RankReport found, compare_ranks(named, std::move(rows)));
        return std::optional(std::move(found));
    }

    static std::string names(const std::vector<std::string>& labels) {
        return fmt::format("{}", fmt::join(labels, ", "));
    }

    Scenario scenario(const std::string& path, const std::string& policy) const {
        Scenario scenario;
        scenario.trace = path;
        scenario.policy = policy;
        memory_.apply(scenario);
        if (!profile_.empty())
            scenario.profile = profile_;
        return scenario;
    }

    Result<void> add_runs(Context& context, ReportInput& report, std::size_t index) const {
        const Trace& trace = *report.traces[index].trace;
        const std::string& name = report.traces[index].name;
        const std::vector<std::string> recorded{""};
        for (const std::string& policy : policies_.empty() ? recorded : policies_) {
            Progress progress(context.front(), "replaying " + name);
            RecordHistoryOptions options;
            options.keep = false;  // a report leaves nothing but itself
            options.progress = progress.listener(trace.info().event_count);
            TM_ASSIGN(RecordedRun run,
                      record_history(trace, scenario(paths_[index], policy), options)
                          .map_error(in_trace(paths_[index])));
            TM_TRY(spread_runs(trace, {&run.run, 1}, spread_));
            std::string label = policy.empty() ? run.run.scenario.policy : policy;
            if (report.traces.size() > 1)
                label = name + ", " + label;
            report.runs.push_back({index, std::move(label), std::move(run)});
        }
        return {};
    }

    Result<void> add_advice(Context& context, ReportInput& report, std::size_t index) const {
        ReportedTrace& trace = report.traces[index];
        Progress progress(context.front(), "trying settings on " + trace.name);
        AdviseOptions options;
        options.memory = memory_.memory;
        options.overhead = memory_.overhead;
        options.limit = memory_.limit;
        options.bound = bound_;
        if (!profile_.empty())
            options.profile = profile_;
        options.progress = progress.listener();
        TM_ASSIGN(trace.advice,
                  tidemark::advise(*trace.trace, options).map_error(in_trace(paths_[index])));
        return {};
    }

    Result<void> add_bound(ReportedTrace& trace) const {
        if (trace.advice) {
            trace.offline = trace.advice->offline;
            return {};
        }
        if (trace.trace->info().is_state()) {  // which has no course that could be packed
            trace.offline = OfflineBound{};
            return {};
        }
        TM_ASSIGN(trace.offline, offline_bound(*trace.trace, {.search = bound_}));
        return {};
    }

    Result<ExitCode> write(Context& context, const ReportInput& report) const {
        if (text_) {
            context.print(text_report(report));
            return ExitCode::yes;
        }
        const std::string page = html_report(report);
        if (report.cancelled && report.cancelled())
            return fail(ErrorCode::cancelled, "the page is no longer wanted", output_.path);
        TM_TRY(write_whole(output_, page));
        if (json_)
            context.print(summary_json(context, report, page.size()));
        else if (output_.path != "-")
            context.print(fmt::format("{}: {} of {} in {}\n", printable(output_.path),
                                      format_counted(report.runs.size(), "run"),
                                      printable(names(trace_names(paths_))),
                                      format_bytes(page.size())));
        return ExitCode::yes;
    }

    std::string summary_json(const Context& context, const ReportInput& report,
                             std::size_t size) const {
        report::Json runs =
            report::list_of(report.runs, [&](const ReportedRun& each) -> report::Json {
                const Run& run = each.recorded.run;
                const OfflineBound& offline = *report.traces[each.trace].offline;
                return {{"trace", report.traces[each.trace].name},
                        {"policy", run.scenario.policy},
                        {"events", run.summary.events},
                        {"peak_reserved_bytes", run.measurement("peak_reserved_bytes").whole},
                        {"out_of_memory", run.measurement("out_of_memory").whole},
                        {"offline_bound_bytes", report::or_null(offline.packed)},
                        {"offline_lower_bytes", report::or_null(offline.lower)}};
            });
        return report::text_of({{"target", output_.path},
                                {"bytes", size},
                                {"title", report.title},
                                {"advised", !no_advise_},
                                {"runs", std::move(runs)},
                                {"provenance", report::provenance_of(context.provenance())}});
    }

    std::vector<std::string> paths_;
    OutputTarget output_;
    std::vector<std::string> policies_;
    MemoryOptions memory_;
    std::string profile_;
    std::string title_;
    SpreadOptions spread_;
    bool no_advise_ = false;
    bool bound_ = false;
    std::string across_;
    std::string down_;
    unsigned top_ = 50;
    bool interactive_ = false;
    bool text_ = false;
    bool json_ = false;
    TraceInput input_;
};

}  // namespace

CommandInfo report_command() {
    return {
        .name = "report",
        .summary = "write one page about a run or a sweep, for browser, paper and mail",
        .examples =
            "  tidemark report snapshot.pickle -o report.html\n"
            "  tidemark report run.tmk -p torch -p best-fit -p buddy -o policies.html\n"
            "  tidemark report run.tmk --limit 40GiB --title 'at 40 GiB' -o - > report.html\n"
            "  tidemark report snapshot.pickle --interactive -o run.html    with the viewer "
            "inside\n"
            "  tidemark report snapshot.pickle --text                       the same as text\n"
            "  tidemark report sweep-out -o sweep.html --across max_split_size_mb     of a sweep\n",
        .make = []() -> std::unique_ptr<Command> { return std::make_unique<Report>(); },
        .tables = "files",
    };
}

}  // namespace tidemark::commands
