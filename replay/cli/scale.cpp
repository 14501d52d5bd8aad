// tidemark scale: the run with a larger batch or length, and the largest that a card holds.
#include "replay/analysis/scale/scale.h"

#include <charconv>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "replay/analysis/scale/scale_ranks.h"
#include "replay/cli/trace_input.h"
#include "replay/cli/trace_output.h"
#include "replay/cli/written_files.h"
#include "replay/cli_support/interrupt.h"
#include "replay/cli_support/trace_files.h"
#include "replay/facts/missing_history.h"
#include "replay/report/scale/scale_report.h"

namespace tidemark::commands {
namespace {

constexpr std::string_view kAxes[] = {"batch", "length"};

// The number that `text` is, above 0; 0: it is none.
double positive(std::string_view text) {
    double value = 0;
    const char* const end = text.data() + text.size();
    return std::from_chars(text.data(), end, value).ptr == end && value > 0 ? value : 0;
}

// "x2", "x1.5", "24/16" (24 instead of 16), or 24, which is instead of `recorded`, if that is known
// (0: it isn't); 1 of nothing.
Result<double> parse_growth(std::string_view text, std::int64_t recorded, const char* option) {
    if (text.empty())
        return 1.0;
    const std::size_t slash = text.find('/');
    const double now = positive(text.substr(text.starts_with('x') ? 1 : 0, slash));
    const double before = slash == std::string_view::npos ? 0 : positive(text.substr(slash + 1));
    if (text.starts_with('x') && slash == std::string_view::npos && now > 0)
        return now;
    if (!text.starts_with('x') && now > 0 && before > 0)
        return now / before;
    if (slash == std::string_view::npos && now > 0 && recorded > 0)
        return now / static_cast<double>(recorded);
    return fail(ErrorCode::bad_option,
                now > 0 && slash == std::string_view::npos
                    ? fmt::format("'{}' instead of what? This recording doesn't say", text)
                    : fmt::format("'{}' is not a growth", text),
                option,
                "how many times what was recorded, such as x2 or x1.5; or 24/16 for 24 instead of "
                "16; or 24 where the recording has shapes");
}

class Scale final : public Command {
  public:
    void declare(Arguments& arguments) override {
        arguments.inputs(
            {"TRACE", "", "a recording of several steps of different sizes; one per rank", true},
            paths_);
        arguments.text(
            {"--tokens", "xN", "steps with more tokens: x2, or 24/16 for 24 instead of 16"},
            tokens_);
        arguments.text({"--batch", "N", "steps with a larger batch: x2, 24/16, or 24"}, batch_);
        arguments.text({"--length", "N", "longer sequences or larger images: x2, or 1024/512"},
                       length_);
        arguments.count({"--steps", "N", "a run of N steps, with its leaks and caches"},
                        question_.run.steps);
        arguments.flag(
            rarely({"--one-more", "",
                    "with --fit and -o: keep the recorded steps, and add one that grows"}),
            question_.run.one_more);
        arguments.bytes({"--fit", "SIZE", "the largest growth that fits a card of SIZE"},
                        question_.memory);
        arguments.limit(rarely({"--overhead", "SIZE",
                                "with --fit: what others than the allocator hold of the card"}),
                        question_.overhead);
        arguments.choice(
            rarely({"--along", "AXIS", "with --fit: what grows: batch (default) or length"}), kAxes,
            along_);
        arguments.policies(
            {"-p,--policy", "P[:k=v,...]", "also under this policy; may be repeated"},
            question_.policies);
        arguments.input(rarely({"--profile", "NAME",
                                "costs of simulated device calls: h200 (default), or a file that "
                                "`tidemark calibrate` wrote"}),
                        question_.profile);
        arguments.count(
            rarely({"-j,--jobs", "N", "run at most N replays at a time (default: all cores)"}),
            question_.threads);
        arguments.file({"-o,--output", "OUT", "write the grown run as a trace: .tmk or .jsonl"},
                       trace_kind, output_);
        arguments.report(json_);
        input_.declare(arguments);
        input_.declare_inference(arguments);
    }

    Result<ExitCode> run(Context& context) override {
        TM_TRY(allow_report(output_.path, json_));
        for (const std::string& policy : question_.policies)
            TM_TRY(parse_policy(policy));  // an error before long files are read
        TM_TRY(check_growth());
        std::optional<TraceTarget> target;
        if (output_.wanted()) {
            TM_ASSIGN(target, find_target(output_.path));
        }
        TM_ASSIGN(paths_, expand_traces(paths_));
        if (target && paths_.size() > 1)
            return fail(ErrorCode::bad_option, "is for one recording at a time", "--output");
        const Interrupt interrupt(context.front().owns_process());
        question_.stop = context.front().stop();
        std::vector<std::string> names;
        std::vector<ScaleReport> reports;
        std::optional<ScaleModel> first;
        for (const std::string& path : paths_) {
            TM_ASSIGN(const std::unique_ptr<Trace> trace, input_.open_inferred(context, path));
            TM_ASSIGN(ScaleModel model, find_model(*trace).map_error(in_trace(path)));
            TM_TRY(read_growth(model.laws.reference_shape).map_error(in_trace(path)));
            names.push_back(trace_name(path));
            Progress progress(context.front(), "scaling " + names.back());
            question_.progress = [&](std::size_t done, std::size_t total) {
                progress.show_work(done, total, "replay");
            };
            TM_ASSIGN(ScaleReport report,
                      scale(*trace, model, question_).map_error(in_trace(path)));
            progress.clear();
            reports.push_back(std::move(report));
            if (target)
                TM_TRY(write(*trace, model, *target));
            if (!first)
                first = std::move(model);
        }
        const ScaleReport report = over_ranks(reports);
        if (output_.path != "-")
            context.print(json_ ? scale_json(names, *first, report, context.provenance())
                                : scale_text(names, *first, report));
        return ExitCode::yes;
    }

  private:
    static Result<ScaleModel> find_model(const Trace& trace) {
        TM_TRY(facts::need_history(trace.info()));
        return find_scale(trace);
    }

    Result<void> check_growth() {
        if (!tokens_.empty() && (!batch_.empty() || !length_.empty()))
            return fail(ErrorCode::bad_option, "contradicts --batch and --length", "--tokens",
                        "tokens are what batch and length make together");
        TM_TRY(read_growth({1, 1}));  // an error before long files are read
        question_.along = along_ == kAxes[1] ? Axis::length : Axis::batch;
        const bool grows = !tokens_.empty() || !batch_.empty() || !length_.empty();
        if (!grows && question_.run.steps == 0 && question_.memory == 0)
            return fail(ErrorCode::bad_option, "no growth is given", "scale",
                        "give --tokens x2, --batch x2, --length x2, --steps 1000, or --fit 80GiB");
        if (question_.memory == 0 && (question_.overhead || !along_.empty()))
            return fail(ErrorCode::bad_option, "needs --fit",
                        question_.overhead ? "--overhead" : "--along", "give --fit 80GiB as well");
        if (question_.run.one_more && question_.run.steps > 0)
            return fail(ErrorCode::bad_option, "contradicts --steps", "--one-more");
        if (question_.run.one_more && question_.memory == 0 && !output_.wanted())
            return fail(ErrorCode::bad_option, "needs --fit and -o", "--one-more",
                        "the peak with one step more is in its own column");
        return {};
    }

    Result<void> read_growth(const BatchShape& recorded) {
        TM_ASSIGN(const double tokens,
                  parse_growth(tokens_, recorded.batch * recorded.length, "--tokens"));
        TM_ASSIGN(const double batch, parse_growth(batch_, recorded.batch, "--batch"));
        TM_ASSIGN(question_.run.growth.length, parse_growth(length_, recorded.length, "--length"));
        question_.run.growth.batch = tokens * batch;
        return {};
    }

    Result<void> write(const Trace& trace, const ScaleModel& model, const TraceTarget& target) {
        TM_ASSIGN(GrowthPlan plan, plan_growth(model, question_.run));
        const GrownTrace grown(trace, model.requests, model.laws, model.steps, std::move(plan));
        return write_trace(target, output_, [&](TraceSink& sink) { return grown.write(sink); })
            .map([](const TraceOutput&) {});
    }

    std::vector<std::string> paths_;
    std::string tokens_, batch_, length_;
    std::string along_;
    ScaleQuestion question_;
    OutputTarget output_;
    bool json_ = false;
    TraceInput input_;
};

}  // namespace

CommandInfo scale_command() {
    return {
        .name = "scale",
        .summary = "say what larger or more steps would need, and what fits a card",
        .examples =
            "  tidemark scale run.tml --tokens x2\n"
            "  tidemark scale run.tml --batch 24/16           24 instead of the recorded 16\n"
            "  tidemark scale run.tml --fit 80GiB             the largest batch, in each setting\n"
            "  tidemark scale rank*.tml --fit 80GiB           the largest batch that fits on all "
            "ranks\n"
            "  tidemark scale run.tml --steps 1000            with its leaks and caches\n"
            "  tidemark scale run.tml --batch x2 -o twice.tmk     for advise, compare, view, ...\n",
        .make = []() -> std::unique_ptr<Command> { return std::make_unique<Scale>(); },
        .tables = "rows",
    };
}

}  // namespace tidemark::commands
