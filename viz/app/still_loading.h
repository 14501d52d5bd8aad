// What files of pictures and tables share: everything is loaded before anything is drawn.
#pragma once

#include "core/base/result.h"
#include "viz/app/view_command.h"
#include "viz/headless/still.h"
#include "viz/live/attach.h"
#include "viz/model/navigation/loader.h"

namespace tidemark::viz {

// Waits until the loader has finished, and shows its progress on the terminal.
void load(Loader& loader, const Session& session);

// Fails if nothing could be loaded; reports the other failures.
Result<void> check_loaded(const Session& session);

// Files and live programs of the command. Errors: those of check_loaded; no such program.
Result<void> load_all(const ViewCommand& command, Session& session, Loader& loader,
                      LiveRuns& living);

StillOptions still_options(const ViewCommand& command);

}  // namespace tidemark::viz
