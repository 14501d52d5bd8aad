// Loading, drawing, writing.
#include "viz/app/image_file.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "replay/cli_support/front.h"
#include "replay/cli_support/terminal.h"
#include "viz/headless/animation.h"
#include "viz/headless/png.h"
#include "viz/headless/still.h"
#include "viz/live/attach.h"

namespace tidemark::viz {
namespace {

constexpr std::chrono::milliseconds kImageFilePause{5};

void load(Loader& loader, const Session& session) {
    TerminalFront front;
    Progress progress(front, "loading");
    while (loader.running()) {
        loader.poll();
        double share = 0;
        for (const ViewedRun& run : session.runs)
            share += run.state.share / static_cast<double>(session.runs.size());
        progress.show_share(share);
        std::this_thread::sleep_for(kImageFilePause);
    }
    loader.wait();
}

Result<void> check_loaded(const Session& session) {
    const auto failed = [](const ViewedRun& run) {
        return run.state.phase == LoadState::Phase::failed;
    };
    if (std::all_of(session.runs.begin(), session.runs.end(), failed) && !session.runs.empty())
        return tl::make_unexpected(session.runs.front().state.error);
    for (const ViewedRun& run : session.runs)
        if (failed(run))
            print_error(to_text(run.state.error));
    return {};
}

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
    if (!command.load.files.empty())
        loader.add(command.load);
    for (const std::string& program : command.attach)
        TM_TRY(living.attach(program));
    load(loader, session);
    living.wait();
    TM_TRY(check_loaded(session));
    if (std::ranges::find(command.views, "side-by-side") != command.views.end())
        TM_TRY(add_suggested(loader, session));
    StillOptions options;
    options.screen.width = command.width;
    options.screen.height = command.height;
    options.screen.scale = command.scale > 0 ? command.scale : 1;
    options.screen.fonts = command.built_in_font ? FontChoice::built_in : FontChoice::system;
    options.dark = command.dark;
    options.views = command.views;
    options.location = command.location;
    options.find = command.find;
    if (!command.png.empty()) {
        TM_ASSIGN(const Bitmap bitmap, draw_still(session, options));
        TM_TRY(write_png(bitmap, command.png));
    }
    if (!command.animate.empty())
        TM_TRY(write_animation(session, {.still = options}, command.animate));
    return ExitCode::yes;
}

}  // namespace tidemark::viz
