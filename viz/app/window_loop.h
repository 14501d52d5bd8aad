// The window's lifetime: loads, draws when something changes and not otherwise, until it is closed.
#pragma once

#include "replay/cli_support/exit_codes.h"
#include "viz/app/view_command.h"

namespace tidemark::viz {

// Errors: no window; a log or picture that cannot be written; wrong locations and views.
Result<ExitCode> run_window(const ViewCommand& command);

}  // namespace tidemark::viz
