// `--png`: writes the views as a picture to a file, without a display.
#pragma once

#include "replay/cli_support/exit_codes.h"
#include "viz/app/view_command.h"

namespace tidemark::viz {

// Loads everything, draws once, writes. Reports on standard error which runs failed, and goes on if
// any of them can be shown. Errors: that of the first run, if no run can be shown; wrong
// locations; a file that cannot be written.
Result<ExitCode> write_image_file(const ViewCommand& command);

}  // namespace tidemark::viz
