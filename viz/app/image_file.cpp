// Loads, draws, writes.
#include "viz/app/image_file.h"

#include <algorithm>

#include <fmt/format.h>

#include "replay/cli_support/terminal.h"
#include "viz/app/still_loading.h"
#include "viz/headless/animation.h"
#include "viz/headless/png.h"
#include "viz/headless/still.h"
#include "viz/views/view.h"

namespace tidemark::viz {
namespace {

// Puts a single run next to the setting that its findings suggest, if there is one.
Result<void> add_suggested(Loader& loader, Session& session) {
    if (session.runs.size() != 1)
        return {};
    const std::vector<Finding>& findings = session.runs.front().findings;
    const auto found =
        std::ranges::find_if(findings, [](const Finding& each) { return !each.policy.empty(); });
    if (found == findings.end()) {
        print_error("no finding suggests another setting: name one with --policy");
        return {};
    }
    TM_TRY(loader.replay(0, found->policy));
    load(loader, session);
    return check_loaded(session);
}

// Without a name the overview is shown. "a+b" names two views.
bool shows_advice(const ViewCommand& command) {
    const auto is_shown = [&](const ViewInfo& view) {
        return view.shows_advice &&
               std::ranges::any_of(command.views, [&](const std::string& names) {
                   return ("+" + names + "+").find(fmt::format("+{}+", view.name)) !=
                          std::string::npos;
               });
    };
    return command.views.empty() || std::ranges::any_of(all_views(), is_shown);
}

}  // namespace

Result<ExitCode> write_image_file(const ViewCommand& command) {
    Session session;
    Loader loader(session);
    LiveRuns living(session);
    ViewCommand waited_for = command;
    if (!shows_advice(command))
        waited_for.load.most_advised_events = 0;
    TM_TRY(load_all(waited_for, session, loader, living));
    if (std::ranges::find(command.views, "side-by-side") != command.views.end())
        TM_TRY(add_suggested(loader, session));
    const StillOptions options = still_options(command);
    if (command.png.wanted()) {
        TM_ASSIGN(const Bitmap bitmap, draw_still(session, options));
        TM_TRY(write_png(bitmap, command.png));
    }
    if (command.animate.wanted())
        TM_TRY(write_animation(session, {.still = options}, command.animate));
    return ExitCode::yes;
}

}  // namespace tidemark::viz
