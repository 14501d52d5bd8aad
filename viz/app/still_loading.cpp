// Loads runs for files.
#include "viz/app/still_loading.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "replay/cli_support/front.h"
#include "replay/cli_support/terminal.h"

namespace tidemark::viz {
namespace {

constexpr std::chrono::milliseconds kLoadingPoll{5};

}  // namespace

void load(Loader& loader, const Session& session) {
    TerminalFront front;
    Progress progress(front, "loading");
    while (loader.running()) {
        loader.poll();
        double share = 0;
        for (const ViewedRun& run : session.runs)
            share += run.state.share / static_cast<double>(session.runs.size());
        progress.show_share(share);
        std::this_thread::sleep_for(kLoadingPoll);
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

Result<void> load_all(const ViewCommand& command, Session& session, Loader& loader,
                      LiveRuns& living) {
    if (!command.load.files.empty())
        loader.add(command.load);
    for (const std::string& program : command.attach)
        TM_TRY(living.attach(program));
    load(loader, session);
    living.wait();
    return check_loaded(session);
}

StillOptions still_options(const ViewCommand& command) {
    StillOptions options;
    options.screen.width = command.width;
    options.screen.height = command.height;
    options.screen.scale = command.scale > 0 ? command.scale : 1;
    options.screen.fonts = command.built_in_font ? FontChoice::built_in : FontChoice::system;
    options.dark = command.dark;
    options.views = command.views;
    options.location = command.location;
    options.find = command.find;
    return options;
}

}  // namespace tidemark::viz
