// `--serve`: shows the viewer in browsers, by a link that it prints.
#pragma once

#include "replay/cli_support/exit_codes.h"
#include "viz/app/view_command.h"

namespace tidemark::viz {

// Prints the link on standard output and instructions on standard error, and serves until Ctrl-C.
// Errors: those of ViewService::start; logs that cannot be written.
Result<ExitCode> run_serve(const ViewCommand& command);

}  // namespace tidemark::viz
