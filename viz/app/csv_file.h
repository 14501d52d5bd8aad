// `tidemark-view FILE --view NAME --csv OUT.csv`: all rows of a table, without a window.
#pragma once

#include "core/base/result.h"
#include "replay/cli_support/exit_codes.h"
#include "viz/app/view_command.h"

namespace tidemark::viz {

// Errors: those of loading; bad_option (the view has no table); io.
Result<ExitCode> write_csv_file(const ViewCommand& command);

}  // namespace tidemark::viz
