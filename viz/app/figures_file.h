// `tidemark-view FILE --figures OUT.json`: the figures that the views show of each run, without a
// window. For scripts, and to check the viewer against the other commands.
#pragma once

#include "core/base/result.h"
#include "replay/cli_support/exit_codes.h"
#include "viz/app/view_command.h"

namespace tidemark::viz {

// Errors: those of loading; io.
Result<ExitCode> write_figures_file(const ViewCommand& command);

}  // namespace tidemark::viz
