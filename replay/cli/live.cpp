// tidemark live: which programs publish what they do to memory, here and now.
#include <fmt/format.h>

#include "core/base/text.h"
#include "replay/cli/command.h"
#include "replay/report/live_report.h"
#include "traces/live/programs.h"
#include "traces/live/remainder.h"

namespace tidemark::commands {
namespace {

class Live final : public Command {
  public:
    void declare(Arguments& arguments) override {
        arguments.flag(
            {"--recover", "", "put what dead programs left in memory into their recordings"},
            recover_);
        arguments.flag({"--json", "", "print one JSON object"}, json_);
    }

    Result<ExitCode> run(Context& context) override {
        if (recover_)
            TM_TRY(recover(context));
        const std::vector<live::LiveProgram> programs = live::list_programs();
        context.print(json_ ? live_json(programs, context.provenance()) : live_text(programs));
        return ExitCode::yes;
    }

  private:
    Result<void> recover(Context& context) const {
        for (const live::LiveProgram& program : live::list_programs()) {
            if (program.alive)
                continue;
            TM_ASSIGN(const live::Remainder rest, live::recover(program));
            if (!json_)
                context.print(
                    fmt::format("{} ({}): {} events put into {}\n", program.name(),
                                program.process(), format_count(rest.events),
                                live::segment_path(program.header, program.counters.last_segment)));
        }
        return {};
    }

    bool recover_ = false;
    bool json_ = false;
};

}  // namespace

CommandInfo live_command() {
    return {
        .name = "live",
        .summary = "list the programs that can be watched while they run",
        .examples =
            "  tidemark live\n"
            "  tidemark live --json | jq '.programs[].name'\n"
            "  tidemark live --recover            complete the recordings of killed programs\n"
            "  tidemark view --attach trainer     look at one of them\n",
        .make = []() -> std::unique_ptr<Command> { return std::make_unique<Live>(); },
    };
}

}  // namespace tidemark::commands
