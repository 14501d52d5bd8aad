// Opening traces for commands.
#include "replay/cli/trace_input.h"

#include <fmt/format.h>

#include "replay/record/infer_missing_events.h"
#include "traces/model/cancellable_trace.h"
#include "traces/open.h"

namespace tidemark {
namespace {

Result<ReadOptions> read_options(Front& front, const TraceReading& reading) {
    if (reading.strict && reading.lenient)
        return fail(ErrorCode::bad_option, "contradicts --lenient", "--strict", "give one of them");
    ReadOptions options;
    options.strict = reading.strict;
    options.lenient = reading.lenient;
    options.cancelled = front.cancelled();
    return options;
}

}  // namespace

void TraceInput::declare(Arguments& arguments) {
    arguments.flag({"--strict", "", "fail at the first oddity in the trace instead of counting it"},
                   reading_.strict);
    arguments.flag({"--lenient", "", "skip and count malformed records instead of failing"},
                   reading_.lenient);
}

void TraceInput::declare_inference(Arguments& arguments) {
    arguments.flag({"--as-recorded", "",
                    "infer nothing that the recording leaves out: emptied caches, pools, limits"},
                   reading_.as_recorded);
}

Result<std::unique_ptr<Trace>> open_recording(Front& front, const std::string& path,
                                              const TraceReading& reading) {
    TM_ASSIGN(ReadOptions options, read_options(front, reading));
    if (const Trace* const opened = front.opened(path, reading, true); opened != nullptr)
        return std::make_unique<CancellableTrace>(*opened, options.cancelled);
    Progress progress(front, "reading " + trace_name(path));
    options.progress = [&progress](std::uint64_t done) { progress.show_bytes(done); };
    TM_ASSIGN(std::unique_ptr<Trace> trace, open_trace(path, options));
    if (!options.cancelled)
        return trace;
    return std::make_unique<CancellableTrace>(std::move(trace), options.cancelled);
}

Result<std::unique_ptr<Trace>> open_inferred_recording(Front& front, const std::string& path,
                                                       const TraceReading& reading) {
    if (reading.as_recorded)
        return open_recording(front, path, reading);
    if (const Trace* const opened = front.opened(path, reading, false); opened != nullptr)
        return std::make_unique<CancellableTrace>(*opened, front.cancelled());
    TM_ASSIGN(std::unique_ptr<Trace> trace, open_recording(front, path, reading));
    return with_inferred(front, path, std::move(trace));
}

Result<std::unique_ptr<Trace>> with_inferred(Front& front, const std::string& path,
                                             std::unique_ptr<Trace> trace) {
    const std::uint64_t events = trace->info().event_count;
    Progress progress(front, "inferring what is missing in " + trace_name(path));
    return infer_missing_events(std::move(trace), progress.listener(events));
}

Result<TraceInfo> TraceInput::import(const Context& context, const std::string& path,
                                     const std::string& target) const {
    TM_ASSIGN(ReadOptions options, read_options(context.front(), reading_));
    Progress progress(context.front(), "importing " + trace_name(path));
    options.progress = [&progress](std::uint64_t done) { progress.show_bytes(done); };
    return import_trace(path, target, options);
}

std::function<Error(Error)> in_trace(const std::string& path) {
    return [name = path == "-" ? trace_name(path) : path](Error error) {
        if (error.where.empty())
            error.where = name;
        else if (error.code != ErrorCode::bad_option && error.where.find(name) == std::string::npos)
            error.where = fmt::format("{}: {}", name, error.where);
        return error;
    };
}

}  // namespace tidemark
