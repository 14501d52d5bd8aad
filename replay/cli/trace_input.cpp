// Opening traces for commands.
#include "replay/cli/trace_input.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "replay/analysis/trace/gpus.h"
#include "replay/record/infer_missing_events.h"
#include "traces/model/cancellable_trace.h"
#include "traces/model/device_trace.h"
#include "traces/open.h"

namespace tidemark {
namespace {

// A pipe, or standard input: whoever reads it again finds nothing.
bool can_be_read_once(const std::string& path) {
    std::error_code none;
    const auto status = std::filesystem::status(path, none);
    return path == "-" ||
           (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status) &&
            !std::filesystem::is_directory(status));
}

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
    arguments.count(
        rarely({"--gpu", "N", "only what happens on this GPU, of a trace with several"}), gpu_);
    arguments.flag(
        rarely({"--strict", "", "fail at the first oddity in the trace instead of counting it"}),
        reading_.strict);
    arguments.flag(rarely({"--lenient", "", "skip and count malformed records instead of failing"}),
                   reading_.lenient);
}

void TraceInput::declare_inference(Arguments& arguments) {
    arguments.flag(
        rarely({"--as-recorded", "",
                "infer nothing that the recording leaves out: emptied caches, pools, limits"}),
        reading_.as_recorded);
}

Result<std::unique_ptr<Trace>> open_recording(Front& front, const std::string& path,
                                              const TraceReading& reading) {
    return open_recording(front, path, nullptr, reading);
}

Result<std::unique_ptr<Trace>> open_recording(Front& front, const std::string& path,
                                              std::unique_ptr<ByteSource> source,
                                              const TraceReading& reading) {
    TM_ASSIGN(ReadOptions options, read_options(front, reading));
    if (const Trace* const opened = front.opened(path, reading, true); opened != nullptr)
        return std::make_unique<CancellableTrace>(*opened, options.cancelled);
    options.part = named_part(path).part;
    Progress progress(front, "reading " + trace_name(path));
    options.progress = [&progress](std::uint64_t done) { progress.show_bytes(done); };
    TM_ASSIGN(std::unique_ptr<Trace> trace,
              source ? open_trace(std::move(source), options) : open_trace(path, options));
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

Result<std::unique_ptr<ByteSource>> TraceInput::take_source(const std::string& path) {
    if (const auto found = looked_at_.find(path); found != looked_at_.end()) {
        std::unique_ptr<ByteSource> source = std::move(found->second);
        looked_at_.erase(found);
        return source;
    }
    return open_bytes(named_part(path).path);
}

bool TraceInput::is_open(const Context& context, const std::string& path) const {
    return context.front().opened(path, reading_, reading_.as_recorded) != nullptr;
}

Result<std::string> TraceInput::look(const Context& context, const std::string& path,
                                     std::size_t most) {
    if (is_open(context, path))
        return std::string();
    TM_ASSIGN(std::unique_ptr<ByteSource> source, take_source(path));
    TM_TRY(source->need(most));
    const auto window = source->window();
    std::string text(reinterpret_cast<const char*>(window.data()), std::min(window.size(), most));
    looked_at_.insert_or_assign(path, std::move(source));
    return text;
}

Result<std::string> TraceInput::read_all(const std::string& path) {
    TM_ASSIGN(const std::unique_ptr<ByteSource> source, take_source(path));
    std::string text;
    for (std::size_t taken = 1; taken > 0; source->consume(taken)) {
        TM_TRY(source->need(1));
        const auto window = source->window();
        text.append(reinterpret_cast<const char*>(window.data()), window.size());
        taken = window.size();
    }
    return text;
}

Result<std::unique_ptr<Trace>> TraceInput::open_as(const Context& context, const std::string& path,
                                                   const TraceReading& reading) {
    if (!can_be_read_once(path) || is_open(context, path)) {
        std::unique_ptr<ByteSource> source;
        if (looked_at_.contains(path)) {
            TM_ASSIGN(source, take_source(path));
        }
        return open_recording(context.front(), path, std::move(source), reading);
    }
    auto found = kept_.find(path);
    if (found == kept_.end()) {
        TM_ASSIGN(std::unique_ptr<ByteSource> source, take_source(path));
        TM_ASSIGN(std::unique_ptr<Trace> trace,
                  open_recording(context.front(), path, std::move(source), reading));
        found = kept_.emplace(path, std::move(trace)).first;
    }
    Cancelling cancelled = context.front().cancelled();
    if (!cancelled)
        cancelled = [] { return false; };
    return std::make_unique<CancellableTrace>(*found->second, std::move(cancelled));
}

Result<std::unique_ptr<Trace>> TraceInput::open(const Context& context, const std::string& path) {
    TM_ASSIGN(std::unique_ptr<Trace> trace, open_as(context, path, reading_));
    return of_gpu(std::move(trace));
}

Result<std::unique_ptr<Trace>> TraceInput::of_gpu(std::unique_ptr<Trace> trace) const {
    if (!gpu_)
        return trace;
    TM_TRY(find_gpus(*trace, *gpu_));
    if (trace->info().gpus() < 2)
        return trace;
    return std::make_unique<DeviceTrace>(std::shared_ptr<const Trace>(std::move(trace)), *gpu_);
}

Result<std::unique_ptr<Trace>> TraceInput::open_inferred(const Context& context,
                                                         const std::string& path) {
    if (is_open(context, path)) {
        TM_ASSIGN(std::unique_ptr<Trace> opened,
                  open_inferred_recording(context.front(), path, reading_));
        return of_gpu(std::move(opened));
    }
    TM_ASSIGN(std::unique_ptr<Trace> trace, open_as(context, path, reading_));
    if (!reading_.as_recorded) {
        TM_ASSIGN(trace, with_inferred(context.front(), path, std::move(trace)));
    }
    return of_gpu(std::move(trace));
}

Result<TraceInfo> TraceInput::import(const Context& context, const std::string& path,
                                     const OutputTarget& target) const {
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
