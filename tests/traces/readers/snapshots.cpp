// Reading and making snapshots for tests.
#include "tests/traces/readers/snapshots.h"

#include <algorithm>
#include <memory>

#include <catch2/catch.hpp>

#include "traces/readers/format.h"

namespace tidemark::support {
namespace {

const FormatInfo& torch_snapshot() {
    const auto formats = all_formats();
    const auto found = std::find_if(formats.begin(), formats.end(), [](const FormatInfo& format) {
        return format.name == "torch-snapshot";
    });
    REQUIRE(found != formats.end());
    return *found;
}

Result<ReadTrace> read(ByteSource& source, const ReadOptions& options) {
    EventList sink;
    TM_ASSIGN(TraceInfo info, torch_snapshot().read(source, sink, options));
    return ReadTrace{std::move(sink.events), std::move(info)};
}

std::string text_of(EventKind kind) {
    switch (kind) {
        case EventKind::allocate:
            return "alloc";
        case EventKind::retire:
            return "free_requested";
        case EventKind::finish:
            return "free_completed";
        case EventKind::segment_alloc:
            return "segment_alloc";
        case EventKind::segment_free:
            return "segment_free";
        case EventKind::segment_map:
            return "segment_map";
        case EventKind::segment_unmap:
            return "segment_unmap";
        case EventKind::out_of_memory:
            return "oom";
        case EventKind::snapshot:
            return "snapshot";
        default:
            return "";
    }
}

}  // namespace

std::size_t ReadTrace::count(EventKind kind) const {
    return static_cast<std::size_t>(
        std::count_if(events.begin(), events.end(),
                      [kind](const TraceEvent& event) { return event.kind == kind; }));
}

Result<ReadTrace> read_snapshot(std::string_view bytes, const ReadOptions& options) {
    TM_ASSIGN(const std::unique_ptr<ByteSource> source,
              open_memory(std::as_bytes(std::span(bytes.data(), bytes.size())), "test.pickle"));
    return read(*source, options);
}

Result<ReadTrace> read_snapshot_file(const std::string& path, const ReadOptions& options) {
    TM_ASSIGN(const std::unique_ptr<ByteSource> source, open_bytes(path));
    return read(*source, options);
}

ReadTrace must_read(const std::string& bytes, const ReadOptions& options) {
    Result<ReadTrace> trace = read_snapshot(bytes, options);
    if (!trace)
        FAIL(to_text(trace.error()));
    return std::move(*trace);
}

std::string error_of(const std::string& bytes, const ReadOptions& options) {
    const Result<ReadTrace> trace = read_snapshot(bytes, options);
    return trace ? "no error" : to_text(trace.error());
}

std::optional<std::string> file_bytes(const std::string& path) {
    const auto source = open_bytes(path);
    if (!source)
        return std::nullopt;
    std::string bytes;
    while ((*source)->need(1) && !(*source)->window().empty()) {
        const auto window = (*source)->window();
        bytes.append(reinterpret_cast<const char*>(window.data()), window.size());
        (*source)->consume(window.size());
    }
    return bytes;
}

std::vector<std::vector<PlainEntry>> plain_entries(std::string_view bytes) {
    const auto source = open_memory(std::as_bytes(std::span(bytes.data(), bytes.size())), "plain");
    REQUIRE(source);
    PickleObjects objects;
    PlainDicts dicts;
    const Result<Value> root = Unpickler(**source, objects, dicts).run();
    REQUIRE(root);
    std::vector<std::vector<PlainEntry>> traces;
    const Value lists = dicts.item(objects, *root, "device_traces");
    REQUIRE(lists.is(Value::Kind::list));
    objects.lists.for_each(lists.index(), [&](Value list) {
        traces.emplace_back();
        objects.lists.for_each(list.index(), [&](Value dict) {
            PlainEntry entry;
            entry.action = objects.text(dicts.item(objects, dict, "action"));
            const bool is_oom = entry.action == "oom";
            objects.whole_number(dicts.item(objects, dict, is_oom ? "device_free" : "addr"),
                                 entry.address);
            objects.whole_number(dicts.item(objects, dict, "size"), entry.size);
            traces.back().push_back(entry);
        });
    });
    while (traces.size() > 1 && traces.back().empty())  // GPUs that were never used
        traces.pop_back();
    return traces;
}

std::vector<std::vector<PlainEntry>> entries_from_events(const ReadTrace& trace) {
    std::vector<std::vector<PlainEntry>> traces(trace.info.devices.size());
    for (const TraceEvent& event : trace.events) {
        if ((event.flags & kPreamble) != 0)
            continue;
        std::vector<PlainEntry>& entries = traces[event.device];
        if (event.kind == EventKind::free) {
            entries.push_back({"free_requested", event.address, event.size});
            entries.push_back({"free_completed", event.address, event.size});
        } else if (const std::string action = text_of(event.kind); !action.empty()) {
            entries.push_back({action, event.address, event.size});
        }
    }
    return traces;
}

std::string block(std::uint64_t address, std::uint64_t size, std::string_view state,
                  std::uint64_t requested) {
    using namespace pickled;
    return dict({{"address", number(static_cast<std::int64_t>(address))},
                 {"size", number(static_cast<std::int64_t>(size))},
                 {"requested_size", number(static_cast<std::int64_t>(requested))},
                 {"state", string(state)},
                 {"frames", list({})}});
}

HandMade& HandMade::segment(std::uint64_t address, std::uint64_t size,
                            const std::vector<std::string>& blocks, pickled::Items extra) {
    using namespace pickled;
    Items items = {{"device", number(0)},
                   {"address", number(static_cast<std::int64_t>(address))},
                   {"total_size", number(static_cast<std::int64_t>(size))},
                   {"stream", number(0)},
                   {"segment_type", string(size == 2_MiB ? "small" : "large")},
                   {"segment_pool_id", number(0) + number(0) + "\x86"},
                   {"is_expandable", "\x89"},
                   {"frames", list({})},
                   {"blocks", list(blocks)}};
    items.insert(items.end(), extra.begin(), extra.end());
    segments.push_back(dict(items));
    return *this;
}

HandMade& HandMade::entry(std::string_view action, std::uint64_t address, std::uint64_t size,
                          pickled::Items extra) {
    using namespace pickled;
    Items items = {
        {"action", string(action)},
        {action == "oom" ? "device_free" : "addr", number(static_cast<std::int64_t>(address))},
        {"size", number(static_cast<std::int64_t>(size))},
        {"stream", number(0)},
        {"time_us", number(1'000'000 + static_cast<std::int64_t>(entries.size()))}};
    items.insert(items.end(), extra.begin(), extra.end());
    entries.push_back(dict(items));
    return *this;
}

std::string HandMade::file() const {
    pickled::Items items = {{"segments", pickled::list(segments)},
                            {"device_traces", pickled::list({pickled::list(entries)})}};
    items.insert(items.end(), more.begin(), more.end());
    return pickled::file(pickled::dict(items));
}

}  // namespace tidemark::support
