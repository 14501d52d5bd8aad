// `tidemark report` of a sweep's results in place of a trace.
#pragma once

#include <string>

#include "replay/cli/command.h"
#include "replay/cli/trace_input.h"
#include "traces/io/output_target.h"

namespace tidemark {

// Whether `path` is a folder of units, or a file or pipe of them as `tidemark sweep --lines` writes
// it.
bool is_swept(const Context& context, TraceInput& input, const std::string& path);

// What the command was given.
struct SweepReportOptions {
    std::string path;
    OutputTarget output;
    std::string title;
    std::string across;  // an axis of the heat map; "": found
    std::string down;
    std::size_t top = 0;
    bool text = false;
    bool json = false;
};

// Reads, draws and writes. Errors: those of read_sweep, make_heat_map, and of files.
Result<ExitCode> report_sweep(Context& context, TraceInput& input,
                              const SweepReportOptions& options);

}  // namespace tidemark
