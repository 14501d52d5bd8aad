// tidemark bound: the least memory with which a run could have done, had an allocator known it all.
#include "replay/analysis/bound/bound.h"

#include <bit>
#include <utility>

#include <fmt/format.h>

#include "core/base/stopwatch.h"
#include "core/capture/packing_csv.h"
#include "replay/analysis/bound/trace_intervals.h"
#include "replay/analysis/trace/trace_summary.h"
#include "replay/cli/trace_input.h"
#include "replay/cli/written_files.h"
#include "replay/cli_support/interrupt.h"
#include "replay/facts/missing_history.h"
#include "replay/report/bound/bound_report.h"

namespace tidemark::commands {
namespace {

constexpr std::uint64_t kUntilTime = std::uint64_t{1} << 40U;  // iterations: the time ends it first

struct Part {
    std::size_t device = 0;
    NamedIntervals named;
    std::optional<Bytes> recorded;
};

class BoundCommand final : public Command {
  public:
    void declare(Arguments& arguments) override {
        arguments.input(
            {"TRACE", "", "a trace of any format, or a CSV file: id,lower,upper,size", true},
            path_);
        arguments.bytes(
            {"--capacity", "SIZE", "does it fit in SIZE? exit code 1 if no packing is found"},
            capacity_);
        arguments.bytes(rarely({"--alignment", "SIZE",
                                "round the sizes of a trace up to this (default: 512 bytes)"}),
                        alignment_);
        arguments.real(
            {"--time", "SECONDS", "search for at most this long (default: by iterations)"}, time_);
        arguments.count(rarely({"--iterations", "N",
                                "improve the packing N times (default: by the trace's length)"}),
                        iterations_);
        arguments.count(rarely({"--seed", "N", "seed of the random search (default: 1)"}), seed_);
        arguments.count(rarely({"-j,--jobs", "N", "use at most N threads (default: all cores)"}),
                        threads_);
        arguments.file({"-o,--output", "OUT", "write the packing: id,lower,upper,size,offset"},
                       FileKind::unknown, output_);
        arguments.report(json_);
        input_.declare(arguments);
    }

    Result<ExitCode> run(Context& context) override {
        if (!std::has_single_bit(alignment_))
            return fail(ErrorCode::bad_option, "is not a power of two", "--alignment");
        TM_TRY(allow_report(output_.path, json_));
        TM_ASSIGN(path_, expand_trace(path_));
        TM_ASSIGN(const std::vector<Part> parts, read(context));
        if (output_.wanted() && parts.size() != 1)
            return fail(ErrorCode::bad_option,
                        fmt::format("a plan is of one device, this has {}", parts.size()), "-o");
        BoundReport report;
        report.name = trace_name(path_);
        report.capacity = capacity_;
        report.seed = seed_;
        TM_TRY(pack(context, parts, report));
        if (output_.wanted())
            TM_TRY(write_whole(output_,
                               packing_csv(parts.front().named.ids, parts.front().named.intervals,
                                           report.rows.front().bound.packing.offsets)));
        if (output_.path != "-")
            context.print(json_ ? bound_json(report, context.provenance()) : bound_text(report));
        if (capacity_ > 0 && report.fits() == true)
            return ExitCode::yes;
        if (report.interrupted)
            return ExitCode::interrupted;
        return capacity_ > 0 ? ExitCode::no : ExitCode::yes;
    }

  private:
    Result<bool> are_intervals(const Context& context) {
        constexpr std::size_t kBegin = 4096;
        if (path_.starts_with("generate:"))
            return false;
        TM_ASSIGN(const std::string begin, input_.look(context, path_, kBegin));
        return is_packing_csv(begin);
    }

    Result<std::vector<Part>> read(Context& context) {
        std::vector<Part> parts;
        TM_ASSIGN(const bool is_csv, are_intervals(context));
        if (is_csv) {
            TM_ASSIGN(const std::string csv, input_.read_all(path_));
            TM_ASSIGN(NamedIntervals named, read_packing_csv(csv, path_));
            parts.push_back({.device = 0, .named = std::move(named), .recorded = {}});
            return parts;
        }
        TM_ASSIGN(const std::unique_ptr<Trace> trace, input_.open(context, path_));
        TM_TRY(facts::need_history(trace->info()).map_error(in_trace(path_)));
        TM_ASSIGN(const TraceSummary summary, summarize(*trace).map_error(in_trace(path_)));
        TM_ASSIGN(std::vector<DeviceIntervals> devices,
                  trace_intervals(*trace, alignment_).map_error(in_trace(path_)));
        for (DeviceIntervals& device : devices) {
            Part part{.device = device.device,
                      .named = {.ids = {}, .intervals = std::move(device.intervals)},
                      .recorded = {}};
            for (const std::uint64_t event : device.events)
                part.named.ids.push_back(std::to_string(event));
            if (summary.has_recorded_reserved)
                part.recorded = summary.devices[device.device].recorded_reserved.value;
            parts.push_back(std::move(part));
        }
        return parts;
    }

    Result<void> pack(Context& context, const std::vector<Part>& parts, BoundReport& report) {
        Progress progress(context.front(), "packing " + report.name);
        const Interrupt interrupt(context.front().owns_process());
        const std::function<bool()> ended = context.front().stop();
        const Stopwatch watch;
        BoundQuestion question{.capacity = capacity_, .seed = seed_, .threads = threads_};
        if (iterations_)
            question.iterations = *iterations_;
        else if (time_ > 0)
            question.iterations = kUntilTime;
        const auto late = [&] {
            return time_ > 0 && static_cast<double>(watch.elapsed()) > time_ * 1e9;
        };
        question.stop = [&] { return (ended && ended()) || late(); };
        question.progress = [&](std::uint64_t done, std::uint64_t total, const Packing&) {
            if (total < kUntilTime)
                progress.show_events(done, total);
        };
        for (const Part& part : parts) {
            TM_ASSIGN(Bound bound,
                      find_bound(part.named.intervals, question).map_error(in_trace(path_)));
            report.rows.push_back(
                {part.device, part.named.intervals.size(), std::move(bound), part.recorded});
        }
        report.interrupted = ended && ended();
        return {};
    }

    std::string path_;
    Bytes capacity_ = 0;
    Bytes alignment_ = kUsualAlignment;
    double time_ = 0;
    std::optional<unsigned> iterations_;
    unsigned seed_ = 1;
    unsigned threads_ = 0;
    OutputTarget output_;
    bool json_ = false;
    TraceInput input_;
};

}  // namespace

CommandInfo bound_command() {
    return {
        .name = "bound",
        .summary = "find the least memory that any allocator could need",
        .examples =
            "  tidemark bound snapshot.pickle\n"
            "  tidemark bound snapshot.pickle --time 60 -o plan.csv\n"
            "  tidemark bound intervals.csv --capacity 1048576 || echo 'no packing found'\n",
        .make = []() -> std::unique_ptr<Command> { return std::make_unique<BoundCommand>(); },
        .tables = "devices",
    };
}

}  // namespace tidemark::commands
