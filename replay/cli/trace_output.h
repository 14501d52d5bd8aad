// Writing a trace that a command made: to .tmk or in the form that the file's ending names.
#pragma once

#include <functional>
#include <string>

#include "core/base/result.h"
#include "traces/io/output_target.h"
#include "traces/model/trace.h"
#include "traces/writers/writer.h"

namespace tidemark {

// A file that traces can be written to.
struct TraceTarget {
    const WriterInfo* writer = nullptr;  // null: .tmk

    std::string format() const { return writer == nullptr ? "tmk" : std::string(writer->name); }
};

// The kind of a file of that name, by its ending.
FileKind trace_kind(const std::string& path);

// By the ending; "-" takes .tmk. Errors (bad_option): no form has that ending.
Result<TraceTarget> find_target(const std::string& path);

// What became of a trace.
struct TraceOutput {
    TraceInfo info;
    WriteSummary summary;
};

// Writes what `pour` gives to the sink (and returns the information about) to the file `to`, whole
// or not at all. Memory O(encoded trace). Errors: those of `pour` and of OutputFile.
Result<TraceOutput> write_trace(const TraceTarget& target, const OutputTarget& to,
                                const std::function<Result<TraceInfo>(TraceSink& sink)>& pour);

}  // namespace tidemark
