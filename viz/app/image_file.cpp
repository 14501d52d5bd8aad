// Loading, drawing, writing.
#include "viz/app/image_file.h"

#include <algorithm>

#include "replay/cli_support/terminal.h"
#include "viz/app/still_loading.h"
#include "viz/headless/animation.h"
#include "viz/headless/png.h"
#include "viz/headless/still.h"

namespace tidemark::viz {
namespace {

// One run alone stands beside the setting that its findings suggest, if there is one.
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

}  // namespace

Result<ExitCode> write_image_file(const ViewCommand& command) {
    Session session;
    Loader loader(session);
    LiveRuns living(session);
    TM_TRY(load_all(command, session, loader, living));
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
