// tidemark export: a trace in a format for other programs.
#include <filesystem>

#include <fmt/format.h>

#include "replay/cli/trace_input.h"
#include "replay/cli/written_files.h"
#include "traces/writers/writer.h"

namespace tidemark::commands {
namespace {

class Export final : public Command {
  public:
    void declare(Arguments& arguments) override {
        arguments.text({"IN", "", "a trace of any format, or - for standard input", true}, path_);
        arguments.text({"-o,--output", "OUT", "the file to write, or - for standard output", true},
                       output_);
        arguments.text({"-f,--format", "FORMAT", "of the output; else told by OUT's ending"},
                       format_);
        arguments.flag({"--json", "", "print one JSON object about what was written"}, json_);
        input_.declare(arguments);
    }

    Result<ExitCode> run(Context& context) override {
        TM_TRY(allow_report(output_, json_));
        const WriterInfo* writer = &all_writers().front();
        if (!format_.empty() || output_ != "-") {
            TM_ASSIGN(writer, find_writer(format_.empty() ? output_ : format_));
        }
        TM_ASSIGN(const std::unique_ptr<Trace> trace, input_.open(context, path_));
        TM_ASSIGN(const std::unique_ptr<OutputFile> output, OutputFile::create(output_));
        TM_ASSIGN(const WriteSummary summary, writer->write(*trace, *output));
        TM_TRY(output->commit());
        const WrittenFile file{.source = path_,
                               .target = output_,
                               .format = std::string(writer->name),
                               .info = trace->info(),
                               .events = summary.written,
                               .left_out_truth = summary.left_out_truth,
                               .left_out_events = summary.left_out_events,
                               .bytes = written_bytes(output_)};
        report_written(context, {&file, 1}, json_);
        return ExitCode::yes;
    }

  private:
    std::string path_;
    std::string output_;
    std::string format_;
    bool json_ = false;
    TraceInput input_;
};

}  // namespace

CommandInfo export_command() {
    return {
        .name = "export",
        .summary = "write a trace in a format for other programs",
        .examples =
            "  tidemark export run.tmk -o run.jsonl\n"
            "  tidemark export snapshot.pickle -f jsonl -o - | head\n",
        .make = []() -> std::unique_ptr<Command> { return std::make_unique<Export>(); },
    };
}

}  // namespace tidemark::commands
