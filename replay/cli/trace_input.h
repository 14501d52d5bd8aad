// TraceInput: how every command opens a trace: the same options, the same progress, the same names.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/base/result.h"
#include "replay/cli/command.h"
#include "replay/cli_support/trace_files.h"
#include "traces/model/trace.h"

namespace tidemark {

// How a recording is opened.
struct TraceReading {
    bool strict = false;
    bool lenient = false;
    bool as_recorded = false;
};

// Opens a file of any format, "-" or "generate:NAME:options"; all that reads the trace ends when
// the front says so (Front::cancelled), which must outlive it. Errors: those of open_trace;
// bad_option if the options contradict each other.
Result<std::unique_ptr<Trace>> open_recording(Front& front, const std::string& path,
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
    // Adds --strict and --lenient.
    void declare(Arguments& arguments);

    // Adds --as-recorded, for commands that call open_inferred.
    void declare_inference(Arguments& arguments);

    // open_recording as the options say.
    Result<std::unique_ptr<Trace>> open(const Context& context, const std::string& path) const {
        return open_recording(context.front(), path, reading_);
    }

    // The same with open_inferred_recording.
    Result<std::unique_ptr<Trace>> open_inferred(const Context& context,
                                                 const std::string& path) const {
        return open_inferred_recording(context.front(), path, reading_);
    }

    // As open(), read from `path` and written to `target` as .tmk.
    Result<TraceInfo> import(const Context& context, const std::string& path,
                             const std::string& target) const;

  private:
    TraceReading reading_;
};

// For map_error: an error that a later step met in the trace, with the trace's name in front of its
// position.
std::function<Error(Error)> in_trace(const std::string& path);

}  // namespace tidemark
