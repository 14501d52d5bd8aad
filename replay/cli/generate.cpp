// tidemark generate: a seeded trace of a program that never ran.
#include <fmt/format.h>

#include "replay/cli/written_files.h"
#include "replay/report/runs/json.h"
#include "replay/report/runs/text.h"
#include "traces/generators/generators.h"
#include "traces/open.h"

namespace tidemark::commands {
namespace {

class Generate final : public Command {
  public:
    void declare(Arguments& arguments) override {
        arguments.text({"SPEC", "", "NAME:key=value,...; without it: list the generators"}, spec_);
        arguments.file({"-o,--output", "OUT", "the .tmk file to write, or - for standard output"},
                       FileKind::recording, output_);
        arguments.report(json_, "print one JSON object about what was written");
    }

    Result<ExitCode> run(Context& context) override {
        if (spec_.empty()) {
            context.print(json_ ? generators_json(all_generators(), context.provenance())
                                : generators_text(all_generators()));
            return ExitCode::yes;
        }
        if (!output_.wanted())
            return fail(ErrorCode::bad_option, "is required with a generator's name", "--output",
                        fmt::format("tidemark generate {} -o OUT.tmk", spec_));
        TM_TRY(allow_report(output_.path, json_));
        const std::string source = "generate:" + spec_;
        ReadOptions options;
        options.cancelled = context.front().cancelled();
        TM_ASSIGN(TraceInfo info, import_trace(source, output_, options));
        const std::uint64_t events = info.event_count;
        WrittenFile file{.source = source,
                         .target = output_.path,
                         .format = "tmk",
                         .info = std::move(info),
                         .events = events};
        report_written(context, {&file, 1}, json_);
        return ExitCode::yes;
    }

  private:
    std::string spec_;
    OutputTarget output_;
    bool json_ = false;
};

}  // namespace

CommandInfo generate_command() {
    return {
        .name = "generate",
        .summary = "make a seeded trace of a program that never ran",
        .examples =
            "  tidemark generate                              the generators and their options\n"
            "  tidemark generate mix:seed=7 -o mix.tmk\n"
            "  tidemark gen query:tasks=500,streams=8 -o q.tmk\n"
            "  tidemark replay generate:mix:seed=7            without a file\n",
        .make = []() -> std::unique_ptr<Command> { return std::make_unique<Generate>(); },
        .also = "gen",
        .tables = "files,generators",
    };
}

}  // namespace tidemark::commands
