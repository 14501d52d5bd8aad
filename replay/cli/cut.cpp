// tidemark cut: a window of a trace as a trace of its own.
#include "replay/analysis/cut/cut.h"

#include <fmt/format.h>

#include "core/base/text.h"
#include "replay/cli/trace_input.h"
#include "replay/cli/trace_output.h"
#include "replay/cli/written_files.h"

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
        return fail(ErrorCode::bad_option, fmt::format("'{}' is no place in a trace", text), option,
                    "a time such as 1.5s or 300ms, or an event such as #1000");
    return CutPoint{.time = *time};
}

class Cut final : public Command {
  public:
    void declare(Arguments& arguments) override {
        arguments.text({"TRACE", "", "a trace of any format, or - for standard input", true},
                       path_);
        arguments.text({"--from", "PLACE", "a time (1.5s) or an event (#1000); default: the begin"},
                       from_);
        arguments.text({"--to", "PLACE", "likewise; what is there is left out; default: the end"},
                       to_);
        arguments.text({"--step", "N[..M]", "these steps, as the trace's ranges number them"},
                       step_);
        arguments.text({"--range", "NAME", "the first range of that name"}, range_);
        arguments.file(
            {"-o,--output", "OUT", "the file to write: .tmk, .jsonl or .csv (as RMM's)", true},
            output_);
        arguments.report(json_, "print one JSON object about what was written");
        input_.declare(arguments);
    }

    Result<ExitCode> run(Context& context) override {
        TM_TRY(allow_report(output_, json_));
        TM_ASSIGN(path_, expand_trace(path_));
        const int ways = (from_.empty() && to_.empty() ? 0 : 1) + (step_.empty() ? 0 : 1) +
                         (range_.empty() ? 0 : 1);
        if (ways != 1)
            return fail(ErrorCode::bad_option,
                        ways == 0 ? "says no window" : "says several windows", "cut",
                        "give --from and --to, or --step, or --range");
        TM_ASSIGN(const TraceTarget target, find_target(output_));
        TM_ASSIGN(const std::unique_ptr<Trace> trace, input_.open(context, path_));
        TM_ASSIGN(const CutEvents events, find(*trace));
        TM_ASSIGN(TraceOutput output, write_trace(target, output_, [&](TraceSink& sink) {
                      return cut_trace(*trace, events, sink);
                  }));
        WrittenFile file{.source = path_,
                         .target = output_,
                         .format = target.format(),
                         .info = std::move(output.info),
                         .events = output.summary.written,
                         .left_out_truth = output.summary.left_out_truth,
                         .left_out_events = output.summary.left_out_events};
        report_written(context, {&file, 1}, json_);
        return ExitCode::yes;
    }

  private:
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
    std::string output_;
    bool json_ = false;
    TraceInput input_;
};

}  // namespace

CommandInfo cut_command() {
    return {
        .name = "cut",
        .summary = "write a window of a trace as a trace of its own, with what lived at its begin",
        .examples =
            "  tidemark cut run.tmk --from 1.5s --to 2s -o part.tmk\n"
            "  tidemark cut snapshot.pickle --from '#100000' -o end.tmk    from that event on\n"
            "  tidemark cut run.tmk --step 10..12 -o steps.jsonl\n",
        .make = []() -> std::unique_ptr<Command> { return std::make_unique<Cut>(); },
        .tables = "files",
    };
}

}  // namespace tidemark::commands
