// Opens files and replays open ones under other policies: asks the program for it, and shows the
// results.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/base/text.h"
#include "replay/report/forms/wording.h"
#include "viz/shell/shell_parts.h"

namespace tidemark::viz {
namespace {

constexpr std::string_view kOnlyGiven = "No further files can be opened from here.";

// Why the run can't be replayed under a policy; empty if it can.
std::string why_not_replayed(const ShellParts& parts) {
    if (!parts.host.replay)
        return "Nothing can be replayed from here.";
    const ViewedRun* const run = parts.run();
    if (run == nullptr)
        return "Nothing is open that could be replayed.";
    if (run->tiers)
        return fmt::format(
            "{} runs over GPU, host and disk: policies are for one memory. Open its trace without "
            "--gpu-memory, --spill and --machine to replay it under one.",
            run->label);
    if (run->live)
        return fmt::format("{} is a program, not a recording: `tidemark record` makes a recording.",
                           run->label);
    if (run->state.phase == LoadState::Phase::failed && !run->history)
        return fmt::format("{} could not be opened, so it can't be replayed.", run->label);
    return {};
}

// "run.tmk", "3 files".
std::string what_is_opened(const std::vector<std::string>& paths) {
    if (paths.size() > 1)
        return format_counted(paths.size(), "file");
    const std::string_view path = paths.front();
    return one_line(path.substr(path.rfind('/') + 1));
}

bool has_begun(const ViewedRun& run) {
    return run.history || run.tiers;
}

}  // namespace

void open_paths(ShellParts& parts, const std::vector<std::string>& paths) {
    if (paths.empty())
        return;
    if (!parts.host.open)
        return parts.say(std::string(kOnlyGiven));
    const std::size_t before = parts.session.runs.size();
    const Result<void> opened = parts.host.open(paths);
    if (!opened) {
        parts.notices.push_back(opened.error());
        return;
    }
    for (std::size_t run = before; run < parts.session.runs.size(); ++run)
        parts.opened.push_back(run);
    parts.shows_opened = true;
    parts.say(fmt::format("Opening {}{}", what_is_opened(paths),
                          before == 0 ? "" : "; what is open stays"));
}

void follow_opened(ShellParts& parts) {
    if (parts.shown_notices && parts.popup != Popup::notice)
        parts.notices.clear();
    const auto settled = [&](std::size_t index) {
        const ViewedRun& run = parts.session.runs[index];
        if (has_begun(run)) {
            if (std::exchange(parts.shows_opened, false))
                show_whole_run(parts, index);
            return true;
        }
        if (run.state.phase != LoadState::Phase::failed)
            return false;
        // The page of the run that is shown reports it already.
        const bool is_said =
            index == parts.selection.run || run.state.error.code == ErrorCode::cancelled;
        if (!is_said)
            parts.notices.push_back(run.state.error);
        return true;
    };
    std::erase_if(parts.opened, settled);
    if (parts.popup == Popup::none && !parts.notices.empty())
        parts.popup = Popup::notice;
    parts.shown_notices = parts.popup == Popup::notice;
}

void choose_file(ShellParts& parts) {
    if (!parts.host.open)
        return parts.say(std::string(kOnlyGiven));
    if (parts.host.choose_files)
        return parts.host.choose_files();
    parts.popup = Popup::file;
    parts.file_chooser.begin();
}

void choose_policy(ShellParts& parts) {
    if (std::string why = why_not_replayed(parts); !why.empty())
        return parts.say(std::move(why));
    parts.popup = Popup::replay;
    parts.replay_chooser.begin();
}

void replay_beside(ShellParts& parts, const std::string& policy, std::string_view view) {
    if (std::string why = why_not_replayed(parts); !why.empty())
        return parts.say(std::move(why));
    const std::size_t run = parts.selection.run;
    const std::size_t before = parts.session.runs.size();
    const auto made = parts.host.replay(run, policy);
    if (!made)
        return parts.say(to_text(made.error()));
    if (*made == run)
        return parts.say(fmt::format("Already shown: {}", policy));
    parts.selection.compared_first = run;
    parts.selection.compared_second = *made;
    const auto compares = [](std::size_t shown) {
        const std::string_view name = all_views()[shown].name;
        return name == "compare" || name == "side-by-side";
    };
    if (std::ranges::none_of(parts.main, compares)) {
        if (const auto shown = show_views(parts, view); !shown)
            return parts.say(to_text(shown.error()));
    }
    parts.say((*made < before ? "Already open: " : "Replaying under ") + policy);
}

}  // namespace tidemark::viz
