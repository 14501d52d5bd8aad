// `--bench`: measures how fast the viewer is with a trace: the time until the first picture, and
// frames along a camera path from the whole run to one event and back. For scripts/bench-viewer.
#pragma once

#include "replay/cli_support/exit_codes.h"
#include "viz/app/view_command.h"

namespace tidemark::viz {

// Prints a table, or with --json the figures. Draws in memory, or with --bench-window in the real
// window. Errors: those of loading; no window.
Result<ExitCode> run_bench(const ViewCommand& command);

}  // namespace tidemark::viz
