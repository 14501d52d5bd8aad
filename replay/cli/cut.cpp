// tidemark cut: a window of a trace as a trace of its own.
#include "replay/analysis/cut/cut.h"

#include <bit>
#include <optional>

#include <fmt/format.h>

#include "core/base/text.h"
#include "replay/analysis/condition/events_until.h"
#include "replay/cli/trace_input.h"
#include "replay/cli/trace_output.h"
#include "replay/cli/written_files.h"
#include "replay/cli_support/memory_options.h"

namespace tidemark::commands {
namespace {

// "#1000" is an event, "1.5s", "300ms" a time since the trace's first event.
Result<CutPoint> parse_point(std::string_view text, const char* option) {
    const auto at = [option](Error error) {
        error.where = option;
        return error;
    };
    if (text.starts_with('#')) {
        TM_ASSIGN(const std::uint64_t event, parse_count(text.substr(1)).map_error(at));
        return CutPoint{.event = event};
    }
    const Result<Nanoseconds> time = parse_duration(text);
    if (!time)
        return fail(ErrorCode::bad_option, fmt::format("'{}' is not a position in a trace", text),
                    option, "a time such as 1.5s or 300ms, or an event such as #1000");
    return CutPoint{.time = *time};
}

class Cut final : public Command {
  public:
    void declare(Arguments& arguments) override {
        arguments.input({"TRACE", "", "a trace of any format, or - for standard input", true},
                        path_);
        arguments.text({"--from", "PLACE", "a time (1.5s) or an event (#1000); default: the start"},
                       from_);
        arguments.text({"--to", "PLACE", "the same; this event is excluded; default: the end"},
                       to_);
        arguments.text({"--step", "N[..M]", "these steps, as the trace's ranges number them"},
                       step_);
        arguments.text({"--range", "NAME", "the first range of this name"}, range_);
        arguments.text(
            {"--until", "CONDITION", "instead of --to: end where a replay first shows CONDITION"},
            until_);
        arguments.policy({"-p,--policy", "P[:k=v,...]",
                          "the policy of --until's replay (default: the recorded one)"},
                         policy_);
        memory_.declare(arguments);
        arguments.file(
            {"-o,--output", "OUT", "the file to write: .tmk, .jsonl or .csv (an RMM log)", true},
            trace_kind, output_);
        arguments.report(json_, "print one JSON object about what was written");
        input_.declare(arguments);
    }

    Result<ExitCode> run(Context& context) override {
        TM_TRY(allow_report(output_.path, json_));
        TM_ASSIGN(path_, expand_trace(path_));
        const int ways = (from_.empty() && to_.empty() && until_.empty() ? 0 : 1) +
                         (step_.empty() ? 0 : 1) + (range_.empty() ? 0 : 1) +
                         (to_.empty() || until_.empty() ? 0 : 1);
        if (ways != 1)
            return fail(ErrorCode::bad_option,
                        ways == 0 ? "says no window" : "says several windows", "cut",
                        "give --from and --to or --until, or --step, or --range");
        std::optional<Condition> until;
        if (!until_.empty()) {
            TM_ASSIGN(until, parse_condition(until_, "--until"));
        }
        if (!policy_.empty())
            TM_TRY(parse_policy(policy_));  // an error before a long file is read
        TM_ASSIGN(const TraceTarget target, find_target(output_.path));
        TM_ASSIGN(const std::unique_ptr<Trace> trace, input_.open(context, path_));
        TM_ASSIGN(CutEvents events, find(*trace));
        if (until) {
            TM_ASSIGN(events.end, find_end(context, *trace, *until));
            if (events.end <= events.begin)
                return fail(ErrorCode::bad_option,
                            fmt::format("holds from event #{} on, before --from", events.end - 1),
                            "--until");
        }
        TM_ASSIGN(TraceOutput output, write_trace(target, output_, [&](TraceSink& sink) {
                      return cut_trace(*trace, events, sink);
                  }));
        WrittenFile file{.source = path_,
                         .target = output_.path,
                         .format = target.format(),
                         .info = std::move(output.info),
                         .events = output.summary.written,
                         .left_out_truth = output.summary.left_out_truth,
                         .left_out_events = output.summary.left_out_events};
        report_written(context, {&file, 1}, json_);
        return ExitCode::yes;
    }

  private:
    // The first event that is left out.
    Result<std::uint64_t> find_end(Context& context, const Trace& trace,
                                   const Condition& until) const {
        Scenario scenario{.trace = path_, .policy = policy_};
        memory_.apply(scenario);
        Progress progress(context.front(), "looking for the event");
        TM_ASSIGN(const std::optional<std::uint64_t> end,
                  events_until(trace, scenario, until, {}, [&](std::uint64_t done) {
                      progress.show_work(
                          done,
                          2 * static_cast<std::uint64_t>(std::bit_width(trace.info().event_count)),
                          "replay");
                  }).map_error(in_trace(path_)));
        if (!end)
            return fail(ErrorCode::bad_option, "never holds", "--until",
                        "`tidemark replay` shows the figures of the whole trace; ask for less, or "
                        "name another policy or --memory");
        return *end;
    }

    Result<CutEvents> find(const Trace& trace) const {
        if (!range_.empty())
            return find_range(trace, range_);
        if (!step_.empty()) {
            const auto at = [](Error error) {
                error.where = "--step";
                return error;
            };
            const std::size_t dots = step_.find("..");
            TM_ASSIGN(const std::uint64_t first, parse_count(step_.substr(0, dots)).map_error(at));
            std::uint64_t last = first;
            if (dots != std::string::npos) {
                TM_ASSIGN(last, parse_count(step_.substr(dots + 2)).map_error(at));
            }
            return find_steps(trace, first, last);
        }
        CutWindow window;
        if (!from_.empty()) {
            TM_ASSIGN(window.from, parse_point(from_, "--from"));
        }
        if (!to_.empty()) {
            TM_ASSIGN(window.to, parse_point(to_, "--to"));
        }
        return find_events(trace, window);
    }

    std::string path_;
    std::string from_;
    std::string to_;
    std::string step_;
    std::string range_;
    std::string until_;
    std::string policy_;
    MemoryOptions memory_;
    OutputTarget output_;
    bool json_ = false;
    TraceInput input_;
};

}  // namespace

CommandInfo cut_command() {
    return {
        .name = "cut",
        .summary = "write a window of a trace as a trace of its own",
        .examples =
            "  tidemark cut run.tmk --from 1.5s --to 2s -o part.tmk\n"
            "  tidemark cut snapshot.pickle --from '#100000' -o end.tmk     from that event\n"
            "  tidemark cut run.tmk --step 10..12 -o steps.jsonl\n"
            "  tidemark cut run.tmk --until 'reserved > 70GiB' -o filling.tmk\n"
            "  tidemark cut run.tmk --until 'retries >= 3 and fragmentation > 20%' -o retries.tmk\n"
            "Blocks that were live at the window's start are kept.\n",
        .make = []() -> std::unique_ptr<Command> { return std::make_unique<Cut>(); },
        .tables = "files",
    };
}

}  // namespace tidemark::commands
