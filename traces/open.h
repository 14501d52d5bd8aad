// open_trace: any file of any format, compressed or not, as a Trace. The only folder that knows
// both the catalogue of formats and .tmk.
#pragma once

#include <memory>
#include <string>

#include "core/base/result.h"
#include "traces/io/byte_source.h"
#include "traces/io/output_target.h"
#include "traces/model/trace.h"

namespace tidemark {

// `path`, "-" for standard input, or "generate:NAME:options" (traces/generators). It is opened
// once, be it a file or a pipe. Of a .tmk file chunks are read when they are wanted; everything
// else is read once and kept encoded in memory (some 8 bytes an event). Errors: those of the
// reader; bad_input for a format that nobody recognises, with the list of those that are.
// Thread-safe, but for standard input; O(bytes), a .tmk O(names).
Result<std::unique_ptr<Trace>> open_trace(const std::string& path, const ReadOptions& options = {});

// The same of a source of which nothing has been consumed.
Result<std::unique_ptr<Trace>> open_trace(std::unique_ptr<ByteSource> source,
                                          const ReadOptions& options = {});

// Whether `path` is a plain file in a format that open_trace reads, by its first bytes. False for
// what cannot be read.
bool is_trace_file(const std::string& path);

// Reads `path` and writes it as .tmk to `target` ("-" = standard output), whole or not at all.
// Returns the information about the trace. Errors: those of open_trace and of OutputFile. Streams:
// memory O(chunk) + the reader's own.
Result<TraceInfo> import_trace(const std::string& path, const OutputTarget& target,
                               const ReadOptions& options = {});

// The same to a file that isn't there yet.
inline Result<TraceInfo> import_trace(const std::string& path, const std::string& target,
                                      const ReadOptions& options = {}) {
    return import_trace(path, OutputTarget{.path = target, .kind = FileKind::recording}, options);
}

}  // namespace tidemark
