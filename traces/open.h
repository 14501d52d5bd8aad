// open_trace: any file of any format, compressed or not, as a Trace. The only folder that knows
// both the catalogue of formats and .tmk.
#pragma once

#include <memory>
#include <string>

#include "core/base/result.h"
#include "traces/model/trace.h"

namespace tidemark {

// `path`, "-" for standard input, or "generate:NAME:options" (traces/generators). A .tmk file is
// mapped; everything else is read once and kept encoded in memory (some 8 bytes an event). Errors:
// those of the reader; bad_input for a format that nobody recognises, with the list of those that
// are. Thread-safe, but for standard input; O(bytes), a .tmk O(names).
Result<std::unique_ptr<Trace>> open_trace(const std::string& path, const ReadOptions& options = {});

// Whether `path` is a file in a format that open_trace reads, by its first bytes. False for what
// cannot be read.
bool is_trace_file(const std::string& path);

// Reads `path` and writes it as .tmk to `target` ("-" = standard output), whole or not at all.
// Returns the information about the trace. Errors: those of open_trace; io, of `target`. Streams:
// memory O(chunk) + the reader's own.
Result<TraceInfo> import_trace(const std::string& path, const std::string& target,
                               const ReadOptions& options = {});

}  // namespace tidemark
