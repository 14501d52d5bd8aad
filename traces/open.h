// open_trace: any file of any format, compressed or not, as a Trace. Only this folder knows both
// the catalogue of formats and .tmk.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "core/base/result.h"
#include "traces/io/byte_source.h"
#include "traces/io/output_target.h"
#include "traces/model/trace.h"

namespace tidemark {

// `path`, "-" for standard input, or "generate:NAME:options" (traces/generators). "path#1" is the
// second recording of a file that holds several, unless a file has exactly that name. It is opened
// once, whether it is a file or a pipe. Chunks of a .tmk file are read when they are needed;
// everything else is read once and kept encoded in memory (about 8 bytes an event). Errors: those
// of the reader; bad_input for a format that no reader recognises, with the list of known formats.
// Thread-safe, except for standard input; O(bytes), for a .tmk O(names).
Result<std::unique_ptr<Trace>> open_trace(const std::string& path, const ReadOptions& options = {});

// The same for a source of which nothing has been consumed.
Result<std::unique_ptr<Trace>> open_trace(std::unique_ptr<ByteSource> source,
                                          const ReadOptions& options = {});

// A file's name, and which of its recordings is meant.
struct NamedPart {
    std::string path;
    std::optional<std::size_t> part;
};

// What `name` means: "a.pickle#1" is {"a.pickle", 1}, unless that is a file's whole name.
NamedPart named_part(const std::string& name);

// How many recordings the plain file `path` holds; 1 for anything that isn't a plain file or can't
// be read: opening it reports why. Reads the whole file if its format allows for several.
std::size_t count_recordings(const std::string& path);

// Whether `path` is a plain file in a format that open_trace reads, by its first bytes. False for
// what cannot be read.
bool is_trace_file(const std::string& path);

// Reads `path` and writes it as .tmk to `target` ("-" = standard output), completely or not at all.
// Returns the information about the trace. Errors: those of open_trace and of OutputFile. Streams:
// memory O(chunk) + the reader's own.
Result<TraceInfo> import_trace(const std::string& path, const OutputTarget& target,
                               const ReadOptions& options = {});

// The same, to a file that doesn't exist yet.
inline Result<TraceInfo> import_trace(const std::string& path, const std::string& target,
                                      const ReadOptions& options = {}) {
    return import_trace(path, OutputTarget{.path = target, .kind = FileKind::recording}, options);
}

}  // namespace tidemark
