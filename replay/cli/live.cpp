// tidemark live: which programs publish what they do to memory, here and now, and the recordings
// that are left of others.
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "core/base/text.h"
#include "replay/cli/command.h"
#include "replay/report/forms/wording.h"
#include "replay/report/runs/live_report.h"
#include "traces/live/programs.h"
#include "traces/live/remainder.h"
#include "traces/live/runtime_folder.h"

namespace tidemark::commands {
namespace {

// "90m", "12h", "7d": a number of a unit.
Result<Nanoseconds> parse_age(std::string_view text) {
    constexpr std::string_view kAgeUnits = "smhd";
    constexpr std::array<std::uint64_t, 4> kSeconds{1, 60, 3600, 86'400};
    constexpr std::uint64_t kMostSeconds = 100 * 365 * kSeconds[3];
    std::uint64_t count = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), count);
    const auto unit = static_cast<std::size_t>(end - text.data()) + 1 == text.size()
                          ? kAgeUnits.find(*end)
                          : std::string_view::npos;
    if (code != std::errc() || unit == std::string_view::npos ||
        count > kMostSeconds / kSeconds.at(unit))
        return fail(ErrorCode::bad_option, "expected a time such as 90m, 12h or 7d",
                    "--older-than");
    return static_cast<Nanoseconds>(count * kSeconds.at(unit)) * 1'000'000'000;
}

class Live final : public Command {
  public:
    void declare(Arguments& arguments) override {
        arguments.flag({"--recover", "", "complete the recordings of programs that were killed"},
                       recover_);
        arguments.flag({"--recordings", "", "list the folder of recordings"}, lists_recordings_);
        arguments.flag({"--clean", "", "remove recordings that have ended from that folder"},
                       cleans_);
        arguments.text(
            {"--older-than", "TIME", "with --clean: only those older than this: 12h, 7d"},
            older_than_);
        arguments.report(json_);
    }

    Result<ExitCode> run(Context& context) override {
        if (!older_than_.empty() && !cleans_)
            return fail(ErrorCode::bad_option, "needs --clean", "--older-than");
        const ExitCode recovered = recover_ ? recover(context) : ExitCode::yes;
        std::vector<Error> skipped;
        const std::vector<live::LiveProgram> programs = live::list_programs(&skipped);
        note(context, skipped);
        if (lists_recordings_ || cleans_)
            TM_TRY(show_recordings(context, programs));
        else
            context.print(json_ ? live_json(programs, context.provenance()) : live_text(programs));
        return recovered;
    }

  private:
    static void note(Context& context, std::span<const Error> skipped) {
        for (const Error& error : skipped)
            context.front().note("skipped: " + to_text(error));
    }

    Result<void> show_recordings(Context& context,
                                 std::span<const live::LiveProgram> programs) const {
        const std::string folder = live::recordings_folder();
        const Result<OwnFolder> own = live::open_live_folder(folder);
        if (!own && own.error().code != ErrorCode::not_found)
            return tl::make_unexpected(own.error());
        Nanoseconds oldest = 0;
        if (!older_than_.empty()) {
            TM_ASSIGN(oldest, parse_age(older_than_));
        }
        std::vector<Error> skipped;
        std::vector<ListedRecording> recordings;
        for (live::KeptRecording& recording : live::list_recordings(folder, programs, &skipped)) {
            bool removed = false;
            if (cleans_ && own && recording.age >= oldest) {
                TM_ASSIGN(removed, live::remove_recording(*own, recording));
            }
            recordings.push_back({std::move(recording), removed});
        }
        note(context, skipped);
        if (json_)
            context.print(recordings_json(recordings, folder, context.provenance()));
        else
            context.print(cleans_ ? removed_text(recordings, folder)
                                  : recordings_text(recordings, folder));
        return {};
    }

    // All of them, whatever keeps one from it.
    ExitCode recover(Context& context) const {
        ExitCode code = ExitCode::yes;
        for (const live::LiveProgram& program : live::list_programs()) {
            if (program.alive)
                continue;
            const Result<live::Remainder> rest = live::recover(program);
            if (!rest) {
                context.front().note("not recovered: " + to_text(rest.error()));
                code = exit_code_of(rest.error().code);
            } else if (!json_) {
                context.print(fmt::format(
                    "{} ({}): {} put into {}\n", one_line(program.name()), program.process(),
                    format_counted(rest->events, "event"),
                    printable(live::segment_path(program.header, program.counters.last_segment))));
            }
        }
        return code;
    }

    bool recover_ = false;
    bool lists_recordings_ = false;
    bool cleans_ = false;
    std::string older_than_;
    bool json_ = false;
};

}  // namespace

CommandInfo live_command() {
    return {
        .name = "live",
        .summary = "list running programs that can be watched, and their recordings",
        .examples =
            "  tidemark live\n"
            "  tidemark live --json | jq '.programs[].name'\n"
            "  tidemark live --recover                        complete the recordings of killed "
            "programs\n"
            "  tidemark live --recordings                     which recordings there are, and "
            "their sizes\n"
            "  tidemark live --clean --older-than 7d\n"
            "  tidemark view --attach trainer                 look at one of them\n",
        .make = []() -> std::unique_ptr<Command> { return std::make_unique<Live>(); },
        .tables = "programs,recordings",
        .interactive = true,
    };
}

}  // namespace tidemark::commands
