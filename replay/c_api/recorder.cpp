// The recorder for C: a live::Publisher, with its arguments checked.
#include <memory>
#include <vector>

#include "replay/c_api/errors.h"
#include "traces/live/publisher.h"

struct tm_recorder {
    std::unique_ptr<tidemark::live::Publisher> publisher;
    std::uint32_t devices = 0;
};

namespace tidemark::c_api {
namespace {

using live::RecordKind;

// What tm_recorder_event takes, by number.
constexpr std::uint64_t kEventKinds = [] {
    std::uint64_t kinds = 0;
    for (const tm_event_record kind :
         {TM_EVENT_ALLOCATE, TM_EVENT_FREE, TM_EVENT_REFUSED, TM_EVENT_RECORD_USE, TM_EVENT_TRIM,
          TM_EVENT_FREE_REQUESTED, TM_EVENT_FREE_COMPLETED, TM_EVENT_SEGMENT_ALLOC,
          TM_EVENT_SEGMENT_FREE, TM_EVENT_RESERVE, TM_EVENT_UNRESERVE, TM_EVENT_MAP, TM_EVENT_UNMAP,
          TM_EVENT_USE, TM_EVENT_OPERATION, TM_EVENT_LIVE_BLOCK, TM_EVENT_LIVE_SEGMENT,
          TM_EVENT_LIVE_MAPPING, TM_EVENT_LIVE_RETIRED})
        kinds |= std::uint64_t{1} << static_cast<unsigned>(kind);
    return kinds;
}();

static_assert(TM_EVENT_FREE_COMPLETED == static_cast<int>(RecordKind::free_completed) &&
              TM_EVENT_UNMAP == static_cast<int>(RecordKind::unmap) &&
              TM_EVENT_USE == static_cast<int>(RecordKind::use) &&
              TM_EVENT_OPERATION == static_cast<int>(RecordKind::operation) &&
              TM_EVENT_LIVE_RETIRED == static_cast<int>(RecordKind::live_retired));

live::PublishOptions publish_options(const tm_recorder_options& given) {
    live::PublishOptions options;
    options.name = given.name == nullptr ? "" : given.name;
    options.recording = given.path == nullptr ? "" : given.path;
    options.overwrite = given.overwrite != 0;
    options.history_limit = given.history_limit;
    if (given.rings != 0)
        options.rings = given.rings;
    if (given.devices != 0)
        options.devices.assign(given.devices, {});
    for (std::uint32_t i = 0; i < given.devices; ++i) {
        if (given.device_names != nullptr && given.device_names[i] != nullptr)
            options.devices[i].name = given.device_names[i];
        if (given.device_capacities != nullptr)
            options.devices[i].capacity = given.device_capacities[i];
    }
    return options;
}

tm_status fail_without_recorder() noexcept {
    return guarded([] { return fail(TM_BAD_OPTION, "the recorder or an argument is null"); });
}

}  // namespace
}  // namespace tidemark::c_api

using namespace tidemark;
using namespace tidemark::c_api;

tm_status tm_recorder_open(const tm_recorder_options* options, tm_recorder** recorder) {
    tm_recorder_options ours{};
    if (const tm_status status = copy_in(options, ours); status != TM_OK)
        return status;
    if (recorder == nullptr)
        return fail_without_recorder();
    *recorder = nullptr;
    return guarded([&] {
        if (ours.devices > live::kMostDevices)
            return fail(TM_BAD_OPTION, "a recorder can have 1 to 16 devices", "devices");
        auto made = std::make_unique<tm_recorder>();
        const live::PublishOptions wanted = publish_options(ours);
        auto publisher = live::Publisher::start(wanted);
        if (!publisher)
            return fail(publisher.error());
        made->publisher = std::move(*publisher);
        made->devices = static_cast<std::uint32_t>(wanted.devices.size());
        *recorder = made.release();
        return TM_OK;
    });
}

tm_status tm_recorder_close(tm_recorder* recorder) {
    if (recorder == nullptr)
        return TM_OK;
    return guarded([&] {
        const std::unique_ptr<tm_recorder> gone(recorder);
        return status_of(gone->publisher->close());
    });
}

const char* tm_recorder_path(const tm_recorder* recorder) {
    return recorder == nullptr ? "" : recorder->publisher->recording().c_str();
}

const char* tm_recorder_shared_path(const tm_recorder* recorder) {
    return recorder == nullptr ? "" : recorder->publisher->shared_path().c_str();
}

tm_status tm_recorder_event(tm_recorder* recorder, const tm_event* event) {
    if (recorder == nullptr || event == nullptr) [[unlikely]]
        return fail_without_recorder();
    if (event->struct_size < sizeof(tm_event)) [[unlikely]]
        return fail_without_size();
    const bool known = event->kind < 64 && (kEventKinds >> event->kind & 1U) != 0;
    if (!known || event->device >= recorder->devices) [[unlikely]]
        return guarded(
            [] { return fail(TM_BAD_OPTION, "the event's kind or device is not known"); });
    return guarded([&] {
        recorder->publisher->put({.kind = static_cast<RecordKind>(event->kind),
                                  .device = static_cast<std::uint8_t>(event->device),
                                  .stream = event->stream,
                                  .address = event->address,
                                  .size = event->size,
                                  .extra = event->extra,
                                  .pool = PoolId{event->pool},
                                  .tag = event->tag,
                                  .stack = event->stack});
        return TM_OK;
    });
}

tm_status tm_recorder_range(tm_recorder* recorder, const char* name, int ends) {
    if (recorder == nullptr || name == nullptr)
        return fail_without_recorder();
    return guarded([&] {
        recorder->publisher->range(name, ends != 0);
        return TM_OK;
    });
}

tm_status tm_recorder_mark(tm_recorder* recorder, const char* text) {
    if (recorder == nullptr || text == nullptr)
        return fail_without_recorder();
    return guarded([&] {
        recorder->publisher->mark(text);
        return TM_OK;
    });
}

uint32_t tm_recorder_string(tm_recorder* recorder, const char* text) {
    std::uint32_t id = 0;
    if (recorder == nullptr || text == nullptr)
        return id;
    guarded([&] {
        id = recorder->publisher->string(text);
        return TM_OK;
    });
    return id;
}

uint32_t tm_recorder_stack(tm_recorder* recorder, const tm_recorded_frame* frames, size_t count) {
    std::uint32_t id = 0;
    if (recorder == nullptr || frames == nullptr)
        return id;
    guarded([&] {
        std::vector<live::LiveFrame> ours;
        for (std::size_t i = 0; i < std::min(count, live::kMostFrames); ++i)
            ours.push_back({frames[i].function == nullptr ? "" : frames[i].function,
                            frames[i].file == nullptr ? "" : frames[i].file, frames[i].line});
        id = recorder->publisher->stack(ours);
        return TM_OK;
    });
    return id;
}

tm_status tm_recorder_setting(tm_recorder* recorder, const char* key, const char* value,
                              int of_allocator) {
    if (recorder == nullptr || key == nullptr || value == nullptr)
        return fail_without_recorder();
    return guarded([&] {
        return recorder->publisher->setting(key, value, of_allocator != 0)
                   ? TM_OK
                   : fail(TM_NO_SPACE, "the recorder has no room for it now", key);
    });
}

tm_status tm_recorder_count(const tm_recorder* recorder, tm_recorder_counts* counts) {
    if (recorder == nullptr)
        return fail_without_recorder();
    const live::PublisherCounts now = recorder->publisher->counts();
    tm_recorder_counts ours{};
    ours.published = now.published;
    ours.dropped = now.dropped;
    ours.lost = now.lost;
    return copy_out(counts, ours);
}
