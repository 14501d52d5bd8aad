// TraceInput: how every command opens a trace: the same options, the same progress, the same names.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "core/base/result.h"
#include "replay/cli/command.h"
#include "replay/cli_support/trace_files.h"
#include "traces/io/byte_source.h"
#include "traces/model/trace.h"

namespace tidemark {

// Opens a file of any format, "-" or "generate:NAME:options"; all that reads the trace ends when
// the front says so (Front::cancelled), which must outlive it. Errors: those of open_trace;
// bad_option if the options contradict each other.
Result<std::unique_ptr<Trace>> open_recording(Front& front, const std::string& path,
                                              const TraceReading& reading);

// As above, of a source that is open already; null: `path` is opened.
Result<std::unique_ptr<Trace>> open_recording(Front& front, const std::string& path,
                                              std::unique_ptr<ByteSource> source,
                                              const TraceReading& reading);

// As above, for replays: with what the recording leaves out put in where it can be inferred
// (replay/record/infer_missing_events.h), unless it is to be as recorded.
Result<std::unique_ptr<Trace>> open_inferred_recording(Front& front, const std::string& path,
                                                       const TraceReading& reading);

// The second half of that: `trace` as open_recording gave it, with what can be inferred.
Result<std::unique_ptr<Trace>> with_inferred(Front& front, const std::string& path,
                                             std::unique_ptr<Trace> trace);

class TraceInput {
  public:
    // Adds --gpu, --strict and --lenient.
    void declare(Arguments& arguments);

    // Adds --as-recorded, for commands that call open_inferred.
    void declare_inference(Arguments& arguments);

    // open_recording as the options say. What can't be read twice (a pipe, standard input) is kept,
    // and opened again from there: this must outlive the trace.
    Result<std::unique_ptr<Trace>> open(const Context& context, const std::string& path);

    // The same with open_inferred_recording.
    Result<std::unique_ptr<Trace>> open_inferred(const Context& context, const std::string& path);

    // The first bytes of a file or pipe (unpacked), at most `most`, without taking them: what is
    // then opened begins with them. "" for a recording that the front has open. Errors: those of
    // open_bytes.
    Result<std::string> look(const Context& context, const std::string& path, std::size_t most);

    // All of its bytes, unpacked. Errors: io, and of a broken compressed stream.
    Result<std::string> read_all(const std::string& path);

    // As open(), read from `path` and written to `target` as .tmk.
    Result<TraceInfo> import(const Context& context, const std::string& path,
                             const OutputTarget& target) const;

  private:
    bool is_open(const Context& context, const std::string& path) const;
    Result<std::unique_ptr<ByteSource>> take_source(const std::string& path);
    Result<std::unique_ptr<Trace>> open_as(const Context& context, const std::string& path,
                                           const TraceReading& reading);

    // Cut down to --gpu, if it is given.
    Result<std::unique_ptr<Trace>> of_gpu(std::unique_ptr<Trace> trace) const;

    TraceReading reading_;
    std::optional<unsigned> gpu_;
    std::map<std::string, std::unique_ptr<ByteSource>> looked_at_;
    std::map<std::string, std::unique_ptr<Trace>> kept_;  // of pipes
};

// For map_error: an error that a later step met in the trace, with the trace's name in front of its
// position.
std::function<Error(Error)> in_trace(const std::string& path);

}  // namespace tidemark
