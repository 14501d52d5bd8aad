// `--png`: the views as a picture in a file, without a display.
#pragma once

#include "replay/cli_support/exit_codes.h"
#include "viz/app/view_command.h"

namespace tidemark::viz {

// Loads all there is, draws once, writes. Says on standard error which runs failed and goes on if
// at least one has something to show. Errors: that of the first run, if none has; wrong places;
// a file that cannot be written.
Result<ExitCode> write_image_file(const ViewCommand& command);

}  // namespace tidemark::viz
