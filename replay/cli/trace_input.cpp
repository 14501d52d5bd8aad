// Opening traces for commands.
#include "replay/cli/trace_input.h"

#include <fmt/format.h>

#include "replay/record/infer_missing_events.h"
#include "traces/open.h"

namespace tidemark {

void TraceInput::declare(Arguments& arguments) {
    arguments.flag({"--strict", "", "fail at the first oddity in the trace instead of counting it"},
                   strict_);
    arguments.flag({"--lenient", "", "skip and count malformed records instead of failing"},
                   lenient_);
}

void TraceInput::declare_inference(Arguments& arguments) {
    arguments.flag({"--as-recorded", "",
                    "infer nothing that the recording leaves out: emptied caches, pools, limits"},
                   as_recorded_);
}

Result<ReadOptions> TraceInput::options() const {
    if (strict_ && lenient_)
        return fail(ErrorCode::bad_option, "contradicts --lenient", "--strict", "give one of them");
    ReadOptions options;
    options.strict = strict_;
    options.lenient = lenient_;
    return options;
}

Result<std::unique_ptr<Trace>> TraceInput::open(const Context& context,
                                                const std::string& path) const {
    TM_ASSIGN(ReadOptions options, this->options());
    Progress progress(context.terminal(), "reading " + trace_name(path));
    options.progress = [&progress](std::uint64_t done) { progress.show_bytes(done); };
    return open_trace(path, options);
}

Result<std::unique_ptr<Trace>> TraceInput::open_inferred(const Context& context,
                                                         const std::string& path) const {
    TM_ASSIGN(std::unique_ptr<Trace> trace, open(context, path));
    if (as_recorded_)
        return trace;
    const std::uint64_t events = trace->info().event_count;
    Progress progress(context.terminal(), "inferring what is missing in " + trace_name(path));
    return infer_missing_events(std::move(trace), progress.listener(events));
}

Result<TraceInfo> TraceInput::import(const Context& context, const std::string& path,
                                     const std::string& target) const {
    TM_ASSIGN(ReadOptions options, this->options());
    Progress progress(context.terminal(), "importing " + trace_name(path));
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
