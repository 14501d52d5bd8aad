// Loads a session only to write its figures.
#include "viz/app/figures_file.h"

#include "replay/cli_support/front.h"
#include "traces/io/output_file.h"
#include "viz/app/still_loading.h"
#include "viz/model/figures/session_figures.h"

namespace tidemark::viz {

Result<ExitCode> write_figures_file(const ViewCommand& command) {
    Session session;
    Loader loader(session);
    LiveRuns living(session);
    ViewCommand unadvised = command;
    unadvised.load.advises = false;  // `tidemark advise --json` has them
    TM_TRY(load_all(unadvised, session, loader, living));
    TM_ASSIGN(const auto file, OutputFile::create(command.figures));
    TM_TRY(file->write(session_figures(session)));
    TM_TRY(file->commit());
    return ExitCode::yes;
}

}  // namespace tidemark::viz
