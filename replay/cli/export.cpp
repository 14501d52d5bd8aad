// tidemark export: a trace in a format for other programs.
#include <filesystem>

#include <fmt/format.h>

#include "replay/cli/trace_input.h"
#include "replay/cli/viewer_page.h"
#include "replay/cli/written_files.h"
#include "replay/report/export/chrome_trace.h"
#include "traces/writers/writer.h"

namespace tidemark::commands {
namespace {

class Export final : public Command {
  public:
    void declare(Arguments& arguments) override {
        arguments.input({"IN", "", "a trace of any format, or - for standard input", true}, path_);
        arguments.file(
            {"-o,--output", "OUT", "the file to write, or - for standard output", true},
            [this](const std::string&) { return kind(); }, output_);
        arguments.text(
            {"-f,--format", "FORMAT", "jsonl, rmm-csv, chrome or page (default: by OUT's ending)"},
            format_);
        arguments.flag(
            {"--page", "", "the same as --format page: the viewer with the trace inside"}, page_);
        arguments.policies({"-p,--policy", "P[:k=v,...]",
                            "chrome: a policy whose counters to add; may be repeated"},
                           policies_);
        arguments.report(json_, "print one JSON object about what was written");
        input_.declare(arguments);
        input_.declare_inference(arguments);
    }

    Result<ExitCode> run(Context& context) override {
        TM_TRY(allow_report(output_.path, json_));
        TM_ASSIGN(path_, expand_trace(path_));
        for (const std::string& policy : policies_)
            TM_TRY(parse_policy(policy));
        if (page_ && !format_.empty() && format_ != kPage)
            return fail(ErrorCode::bad_option, "is another format", "--page", "give one of them");
        if (is_chrome())
            return write_chrome(context);
        if (!policies_.empty())
            return fail(ErrorCode::bad_option, "only chrome traces show what policies do",
                        "--policy", "-o run.json, or -f chrome");
        if (is_page())
            return write_page(context, input_,
                              {.paths = {path_}, .title = trace_name(path_), .location = "peak"},
                              output_, json_);
        const WriterInfo* writer = &all_writers().front();
        if (!format_.empty() || output_.path != "-") {
            TM_ASSIGN(writer, find_writer(written_format()).map_error([](Error error) {
                error.hint += ", chrome (.json), page (.html)";
                return error;
            }));
        }
        TM_ASSIGN(const std::unique_ptr<Trace> trace, input_.open(context, path_));
        TM_ASSIGN(const std::unique_ptr<OutputFile> output, OutputFile::create(output_));
        TM_ASSIGN(const WriteSummary summary, writer->write(*trace, *output));
        TM_TRY(output->commit());
        report(context, std::string(writer->name), trace->info(), summary);
        return ExitCode::yes;
    }

  private:
    static constexpr std::string_view kChrome = "chrome";
    static constexpr std::string_view kPage = "page";

    const std::string& written_format() const { return format_.empty() ? output_.path : format_; }

    bool is_page() const {
        return page_ || format_ == kPage || (format_.empty() && output_.path.ends_with(".html"));
    }

    bool is_chrome() const {
        return !page_ &&
               (format_ == kChrome || (format_.empty() && output_.path.ends_with(".json")));
    }

    FileKind kind() const {
        return is_page()                             ? FileKind::report
               : is_chrome()                         ? FileKind::chrome_export
               : written_format().ends_with("jsonl") ? FileKind::jsonl_export
                                                     : FileKind::unknown;
    }

    Result<ExitCode> write_chrome(Context& context) {
        TM_ASSIGN(const std::unique_ptr<Trace> trace, input_.open_inferred(context, path_));
        std::vector<Scenario> scenarios;
        for (const std::string& policy : policies_)
            scenarios.push_back({.trace = path_, .policy = policy});
        if (scenarios.empty())
            scenarios.push_back({.trace = path_});
        TM_ASSIGN(const std::unique_ptr<OutputFile> output, OutputFile::create(output_));
        Progress progress(context.front(), "exporting " + trace_name(path_));
        const std::uint64_t all = scenarios.size() * trace->info().event_count;
        TM_ASSIGN(const ChromeSummary chrome,
                  write_chrome_trace(*trace, scenarios, context.provenance(), *output,
                                     progress.listener(all)));
        progress.clear();
        TM_TRY(output->commit());
        report(context, std::string(kChrome), trace->info(), {.written = chrome.entries},
               chrome.backwards);
        return ExitCode::yes;
    }

    void report(Context& context, const std::string& format, const TraceInfo& info,
                const WriteSummary& summary, std::uint64_t backwards = 0) const {
        WrittenFile file{.source = path_,
                         .target = output_.path,
                         .format = format,
                         .info = info,
                         .events = summary.written,
                         .left_out_truth = summary.left_out_truth,
                         .left_out_events = summary.left_out_events,
                         .backwards = backwards};
        report_written(context, {&file, 1}, json_);
    }

    std::string path_;
    OutputTarget output_;
    std::string format_;
    std::vector<std::string> policies_;
    bool page_ = false;
    bool json_ = false;
    TraceInput input_;
};

}  // namespace

CommandInfo export_command() {
    return {
        .name = "export",
        .summary = "write a trace in a format of other programs",
        .examples =
            "  tidemark export run.tmk -o run.jsonl\n"
            "  tidemark export snapshot.pickle -o trace.json  for ui.perfetto.dev\n"
            "  tidemark export run.tmk -p torch -p torch:expandable_segments:True -o both.json\n"
            "  tidemark export snapshot.pickle --page -o run.html     the viewer with the trace "
            "inside\n"
            "  tidemark export snapshot.pickle -f jsonl -o - | head\n",
        .make = []() -> std::unique_ptr<Command> { return std::make_unique<Export>(); },
        .tables = "files",
    };
}

}  // namespace tidemark::commands
