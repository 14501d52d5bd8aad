// The view is drawn once, as for a picture: its table then hands over its rows.
#include "viz/app/csv_file.h"

#include <utility>

#include <fmt/format.h>

#include "replay/cli_support/front.h"
#include "replay/cli_support/terminal.h"
#include "viz/app/still_loading.h"
#include "viz/headless/still_screen.h"
#include "viz/model/blocks/table_rows.h"

namespace tidemark::viz {

Result<ExitCode> write_csv_file(const ViewCommand& command) {
    Session session;
    Loader loader(session);
    LiveRuns living(session);
    ViewCommand unadvised = command;
    unadvised.load.advises = command.views.front() == "findings";  // takes many replays
    TM_TRY(load_all(unadvised, session, loader, living));
    TM_ASSIGN(const auto screen, StillScreen::open(session, still_options(command)));
    screen->settle();
    Selection& selection = screen->shell().selection();
    selection.wanted_rows = command.views.front();
    screen->frame();
    const std::shared_ptr<TableRows> rows = std::exchange(selection.rows, {});
    if (!rows)
        return fail(ErrorCode::bad_option,
                    fmt::format("the view '{}' has no table for this trace", command.views.front()),
                    "--csv", "use blocks, events, leaks, range, findings or diff");
    TerminalFront front;
    Progress progress(front, "writing");
    const Cancelled never = false;
    TM_TRY(write_csv(
        *rows, command.csv, [&progress](double share) { progress.show_share(share); }, never));
    return ExitCode::yes;
}

}  // namespace tidemark::viz
