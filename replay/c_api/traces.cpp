// Traces for C: opened as the commands open them, read as columns.
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "replay/c_api/errors.h"
#include "replay/c_api/library_front.h"
#include "replay/cli/trace_input.h"
#include "replay/report/forms/json_values.h"
#include "traces/model/cancellable_trace.h"

namespace tidemark::c_api {
namespace {

// More than that is believed when it comes: a damaged file may claim anything.
constexpr std::uint64_t kMostReserved = std::uint64_t{1} << 30U;

// All events of a trace.
struct Columns {
    std::vector<Nanoseconds> time;
    std::vector<Bytes> size;
    std::vector<std::uint64_t> address;
    std::vector<std::uint32_t> slot;
    std::vector<StreamId> stream;
    std::vector<std::uint32_t> stack;
    std::vector<std::uint32_t> aux;
    std::vector<std::uint32_t> tag;
    std::vector<std::uint16_t> device;
    std::vector<EventKind> kind;
    std::vector<std::uint8_t> flags;

    // Each column with its part of `batch`.
    template <class Batch, class Work>
    void each(const Batch& batch, Work work) {
        work(time, batch.time);
        work(size, batch.size);
        work(address, batch.address);
        work(slot, batch.slot);
        work(stream, batch.stream);
        work(stack, batch.stack);
        work(aux, batch.aux);
        work(tag, batch.tag);
        work(device, batch.device);
        work(kind, batch.kind);
        work(flags, batch.flags);
    }
};

Result<Columns> gather(const Trace& trace) {
    Columns columns;
    const std::uint64_t expected = trace.info().event_count;
    if (expected <= kMostReserved)
        columns.each(EventBatch{}, [&](auto& column, auto) { column.reserve(expected); });
    const std::unique_ptr<TraceCursor> cursor = trace.cursor();
    for (;;) {
        TM_ASSIGN(const EventBatch batch, cursor->next());
        if (batch.count == 0)
            return columns;
        columns.each(batch, [&](auto& column, const auto* begin) {
            column.insert(column.end(), begin, begin + batch.count);
        });
    }
}

std::string info_of(const Trace& trace) {
    using report::Json;
    const TraceInfo& info = trace.info();
    return report::text_of(
        Json{{"format", info.format},
             {"source", info.source},
             {"event_count", info.event_count},
             {"preamble_count", info.preamble_count},
             {"slot_count", info.slot_count},
             {"duration_ns", info.duration},
             {"start_time_ns", info.start_time},
             {"begins_inside", info.begins_inside},
             {"cut_off", info.cut_off},
             {"devices",
              report::list_of(
                  info.devices,
                  [](const TraceDevice& device) -> Json {
                      return {{"name", device.name}, {"total_memory_bytes", device.total_memory}};
                  })},
             {"streams", info.streams},
             {"pools", info.pools},
             {"settings", report::pairs(info.settings)},
             {"metadata", report::pairs(info.metadata)},
             {"warnings", info.warnings},
             {"anomalies", info.anomalies.total()},
             {"hash", report::hash_text(trace.hash())},
             {"recorded_hash", report::hash_text(trace.recorded_hash())},
             {"strings", info.strings.size()},
             {"stacks", info.stacks.size()}});
}

}  // namespace
}  // namespace tidemark::c_api

// The trace, its columns and its texts: what a handle of C holds.
namespace tidemark::c_api {
namespace {

struct TraceState {
    LibraryFront front;  // the traces ask it whether they are still needed
    std::string path;
    TraceReading reading;
    std::unique_ptr<Trace> recorded;
    std::unique_ptr<Trace> trace;  // that with what is inferred, unless it is as recorded
    std::string info;
    std::mutex gathering;  // guards `columns`, which never change once they are there
    std::optional<Columns> columns;
};

}  // namespace
}  // namespace tidemark::c_api

struct tm_trace {
    std::unique_ptr<tidemark::c_api::TraceState> state;
};

namespace tidemark::c_api {
namespace {

Result<void> read(TraceState& state) {
    TM_ASSIGN(state.recorded, open_recording(state.front, state.path, state.reading));
    state.trace = std::make_unique<CancellableTrace>(*state.recorded, state.front.cancelled());
    if (!state.reading.as_recorded) {
        TM_ASSIGN(state.trace, with_inferred(state.front, state.path, std::move(state.trace)));
    }
    state.info = info_of(*state.trace);
    return {};
}

tm_status open(const char* path, const tm_trace_options* given, tm_trace** trace) {
    if (trace == nullptr)
        return fail(TM_BAD_OPTION, "there is nowhere to put the trace", "trace");
    *trace = nullptr;
    if (path == nullptr || *path == '\0')
        return fail(TM_BAD_OPTION, "no file was named", "path");
    tm_trace_options options{};
    if (const tm_status status = copy_in(given, options); status != TM_OK)
        return status;
    const std::string name = path;
    if (name == "-")
        return fail(TM_UNSUPPORTED, "standard input belongs to the program", "-", "name a file");
    auto state = std::make_unique<TraceState>();
    state->path = name;
    state->reading = {.strict = options.strict != 0,
                      .lenient = options.lenient != 0,
                      .as_recorded = options.as_recorded != 0};
    Result<void> result;
    state->front.run(options.progress, options.user, [&] { result = read(*state); });
    if (!result)
        return fail(result.error());
    *trace = new tm_trace{std::move(state)};
    return TM_OK;
}

tm_status columns_of(TraceState& trace, tm_columns* target) {
    const std::scoped_lock lock(trace.gathering);
    if (!trace.columns) {
        Result<Columns> gathered = gather(*trace.trace);
        if (!gathered)
            return fail(gathered.error());
        trace.columns = std::move(*gathered);
    }
    const Columns& columns = *trace.columns;
    static_assert(sizeof(StreamId) == sizeof(std::uint32_t) && sizeof(EventKind) == 1);
    const tm_columns ours{.struct_size = sizeof(tm_columns),
                          .count = columns.time.size(),
                          .time = reinterpret_cast<const std::uint64_t*>(columns.time.data()),
                          .size = columns.size.data(),
                          .address = columns.address.data(),
                          .slot = columns.slot.data(),
                          .stream = reinterpret_cast<const std::uint32_t*>(columns.stream.data()),
                          .stack = columns.stack.data(),
                          .aux = columns.aux.data(),
                          .tag = columns.tag.data(),
                          .device = columns.device.data(),
                          .kind = reinterpret_cast<const std::uint8_t*>(columns.kind.data()),
                          .flags = columns.flags.data()};
    return copy_out(target, ours);
}

tm_status string_of(const TraceState& trace, std::uint32_t number, const char** text,
                    std::size_t* length) {
    const StringTable& strings = trace.trace->info().strings;
    if (number >= strings.size())
        return fail(TM_NOT_FOUND, fmt::format("there is no string {}", number), "number",
                    fmt::format("it has {}", strings.size()));
    *text = strings[number].data();
    *length = strings[number].size();
    return TM_OK;
}

tm_status stack_of(const TraceState& trace, std::uint32_t number, tm_frame* frames,
                   std::size_t capacity, std::size_t* count) {
    const StackTable& stacks = trace.trace->info().stacks;
    if (frames == nullptr && capacity != 0)
        return fail(TM_BAD_OPTION, "there is nowhere to put the frames", "frames");
    if (number >= stacks.size())
        return fail(TM_NOT_FOUND, fmt::format("there is no stack {}", number), "number",
                    fmt::format("it has {}", stacks.size()));
    const std::span<const Frame> stack = stacks[number];
    for (std::size_t i = 0; i < std::min(capacity, stack.size()); ++i)
        frames[i] = {stack[i].name, stack[i].file, stack[i].line};
    *count = stack.size();
    return TM_OK;
}

}  // namespace

const Trace* trace_of(const tm_trace& trace, const std::string& path, const TraceReading& reading,
                      bool recorded) {
    const TraceState& state = *trace.state;
    if (path != state.path || reading.strict != state.reading.strict ||
        reading.lenient != state.reading.lenient)
        return nullptr;
    if (recorded)
        return state.recorded.get();
    return state.reading.as_recorded ? nullptr : state.trace.get();
}

}  // namespace tidemark::c_api

tm_status tm_trace_open(const char* path, const tm_trace_options* options, tm_trace** trace) {
    using namespace tidemark::c_api;
    return guarded([&] { return open(path, options, trace); });
}

void tm_trace_close(tm_trace* trace) {
    delete trace;
}

tm_status tm_trace_columns(tm_trace* trace, tm_columns* columns) {
    using namespace tidemark::c_api;
    return with("tm_trace_columns", trace, {},
                [&](TraceState& state) { return columns_of(state, columns); });
}

const char* tm_event_kind(uint8_t kind) {
    return tidemark::to_text(static_cast<tidemark::EventKind>(kind)).data();  // a literal
}

const char* tm_trace_info(tm_trace* trace) {
    return trace == nullptr ? "" : trace->state->info.c_str();
}

tm_status tm_trace_string(tm_trace* trace, uint32_t number, const char** text, size_t* length) {
    using namespace tidemark::c_api;
    return with("tm_trace_string", trace, {text, length},
                [&](TraceState& state) { return string_of(state, number, text, length); });
}

tm_status tm_trace_stack(tm_trace* trace, uint32_t number, tm_frame* frames, size_t capacity,
                         size_t* count) {
    using namespace tidemark::c_api;
    return with("tm_trace_stack", trace, {count}, [&](TraceState& state) {
        return stack_of(state, number, frames, capacity, count);
    });
}
