// The functions of contexts: arguments in, status out.
#include "replay/c_api/context.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "replay/c_api/errors.h"

namespace tidemark::c_api {
namespace {

tm_status fail_of(const OutOfMemory& why, const tm_request& request) {
    if (why.cause == OutOfMemory::Cause::device_error) {
        if (why.status == DeviceStatus::invalid_value)
            return fail({ErrorCode::bad_option,
                         fmt::format("no memory can be aligned to {} bytes", request.alignment),
                         "alignment", "a power of two, at most the device's granularity"});
        return fail({ErrorCode::driver, fmt::format("the device failed: {}", to_text(why.status)),
                     "tm_alloc", ""});
    }
    return fail(TM_OUT_OF_MEMORY,
                fmt::format("out of memory: {} for {} bytes", to_text(why.cause), request.bytes),
                "tm_alloc");
}

tm_status fail_of(BadAddress why, std::uint64_t address, const char* call) {
    return fail(TM_BAD_ADDRESS, fmt::format("{:#x}: {}", address, to_text(why)), call);
}

tm_status fail_of(ContextState& state, const DeviceError& error) {
    return fail(state.explain(error));
}

}  // namespace
}  // namespace tidemark::c_api

using namespace tidemark;
using namespace tidemark::c_api;

tm_status tm_context_open(const tm_context_options* given, tm_context** context) {
    return guarded([&]() -> tm_status {
        if (context == nullptr)
            return fail_of_null("tm_context_open");
        *context = nullptr;
        tm_context_options options{};
        if (const tm_status bad = copy_in(given, options); bad != TM_OK)
            return bad;
        auto opened = ContextState::open({.machine = text_or_empty(options.machine),
                                          .policy = text_or_empty(options.policy),
                                          .record = text_or_empty(options.record),
                                          .overwrite = options.overwrite != 0,
                                          .memory = options.memory,
                                          .limit = options.limit,
                                          .thread_cache = options.thread_cache,
                                          .streams = options.streams});
        if (!opened)
            return fail(opened.error());
        *context = new tm_context{std::move(*opened)};
        return TM_OK;
    });
}

tm_status tm_context_close(tm_context* context, uint64_t* leaked) {
    return guarded([&] {
        const std::unique_ptr<tm_context> gone(context);
        const std::uint64_t left = gone ? gone->state->close() : 0;
        if (leaked != nullptr)
            *leaked = left;
        return TM_OK;
    });
}

const char* tm_context_machine(const tm_context* context) {
    return context == nullptr ? "" : context->state->machine().c_str();
}

const char* tm_context_device_name(const tm_context* context) {
    return context == nullptr ? "" : context->state->device_name().c_str();
}

const char* tm_context_policy(const tm_context* context) {
    return context == nullptr ? "" : context->state->policy().c_str();
}

tm_status tm_alloc(tm_context* context, const tm_request* given, uint64_t* address,
                   uint64_t* granted) {
    return with("tm_alloc", context, {given, address}, [&](ContextState& state) -> tm_status {
        tm_request request{};
        if (const tm_status bad = copy_in(given, request); bad != TM_OK)
            return bad;
        const auto range = state.allocate(request);
        if (!range)
            return fail_of(range.error(), request);
        *address = to_integer(range->begin);
        if (granted != nullptr)
            *granted = range->size;
        return TM_OK;
    });
}

tm_status tm_free(tm_context* context, uint64_t address, uint64_t bytes, tm_stream stream) {
    return with("tm_free", context, {}, [&](ContextState& state) -> tm_status {
        const auto freed = state.free(Address{address}, bytes, stream);
        return freed ? TM_OK : fail_of(freed.error(), address, "tm_free");
    });
}

tm_status tm_record_use(tm_context* context, uint64_t address, tm_stream stream) {
    return with("tm_record_use", context, {}, [&](ContextState& state) -> tm_status {
        if (!Streams::known(stream))
            return fail({ErrorCode::bad_option, "a use on an unknown stream", "stream",
                         "free the memory on TM_STREAM_UNKNOWN"});
        const auto used = state.record_use(Address{address}, stream);
        return used ? TM_OK : fail_of(used.error(), address, "tm_record_use");
    });
}

tm_status tm_name_tag(tm_context* context, uint32_t tag, const char* name) {
    return with("tm_name_tag", context, {name}, [&](ContextState& state) -> tm_status {
        state.name_tag(tag, name);
        return TM_OK;
    });
}

tm_status tm_end_recording(tm_context* context) {
    return with("tm_end_recording", context, {},
                [](ContextState& state) { return status_of(state.end_recording()); });
}

tm_status tm_set_oom_handler(tm_context* context, tm_oom_handler handler, void* user) {
    return with("tm_set_oom_handler", context, {}, [&](ContextState& state) -> tm_status {
        state.set_oom_handler(handler, user);
        return TM_OK;
    });
}

tm_status tm_stream_acquire(tm_context* context, uint32_t flags, tm_stream* stream) {
    return with("tm_stream_acquire", context, {stream}, [&](ContextState& state) -> tm_status {
        const auto acquired = state.stream_pool().acquire((flags & TM_GROW) != 0);
        if (!acquired)
            return fail(acquired.error());
        *stream = *acquired;
        return TM_OK;
    });
}

tm_status tm_stream_release(tm_context* context, tm_stream stream) {
    return with("tm_stream_release", context, {}, [&](ContextState& state) -> tm_status {
        return status_of(state.stream_pool().release(stream));
    });
}

tm_status tm_trim(tm_context* context, int wait) {
    return with("tm_trim", context, {}, [&](ContextState& state) -> tm_status {
        state.trim(wait != 0);
        return TM_OK;
    });
}

tm_status tm_base_of(tm_context* context, uint64_t address, tm_block* block) {
    return with("tm_base_of", context, {}, [&](ContextState& state) -> tm_status {
        const auto found = state.range_of(Address{address});
        if (!found)
            return fail_of(BadAddress::unknown, address, "tm_base_of");
        tm_block all{};
        all.address = to_integer(found->address);
        all.requested = found->requested;
        all.granted = found->size;
        all.stream = state.streams().handle_of(found->stream);
        all.pool = to_integer(found->pool);
        all.tag = found->tag;
        all.number = found->number;
        return copy_out(block, all);
    });
}

tm_status tm_context_regions(tm_context* context, tm_region* regions, size_t capacity,
                             size_t* count) {
    return with("tm_context_regions", context, {count}, [&](ContextState& state) -> tm_status {
        if (regions == nullptr && capacity != 0)
            return fail_of_null("tm_context_regions");
        const std::vector<tm_region> all = state.regions();
        std::copy_n(all.begin(), std::min(capacity, all.size()), regions);
        *count = all.size();
        return TM_OK;
    });
}

tm_status tm_statistics_of(tm_context* context, tm_statistics* statistics) {
    return with("tm_statistics_of", context, {}, [&](ContextState& state) -> tm_status {
        return copy_out(statistics, state.statistics());
    });
}

tm_status tm_reset_peaks(tm_context* context) {
    return with("tm_reset_peaks", context, {}, [](ContextState& state) -> tm_status {
        static_cast<void>(state.shared().status(true));
        return TM_OK;
    });
}

tm_status tm_set_limit(tm_context* context, uint64_t bytes) {
    return with("tm_set_limit", context, {}, [&](ContextState& state) -> tm_status {
        state.shared().set_limit(bytes);
        return TM_OK;
    });
}

namespace {

template <class Step>
tm_status with_pool(tm_context* context, uint32_t pool, Step step) {
    return with("tm_pool", context, {}, [&](ContextState& state) -> tm_status {
        if (pool == 0)
            return fail(
                {ErrorCode::bad_option, "0 is the program's memory, no private pool", "pool", ""});
        step(state.shared(), PoolId{pool});
        return TM_OK;
    });
}

}  // namespace

tm_status tm_pool_begin(tm_context* context, uint32_t pool) {
    return with_pool(context, pool,
                     [](SharedAllocator& shared, PoolId id) { shared.begin_pool(id, {}); });
}

tm_status tm_pool_end(tm_context* context, uint32_t pool) {
    return with_pool(context, pool, [](SharedAllocator& shared, PoolId id) {
        shared.end_pool(id);
        // Lets the device see that a capture has ended while its stream still exists: it then no
        // longer queries that stream, which the program may destroy.
        (void)shared.locked([](Allocator&, Device& device) { return device.capturing(); });
    });
}

tm_status tm_pool_close(tm_context* context, uint32_t pool) {
    return with_pool(context, pool,
                     [](SharedAllocator& shared, PoolId id) { shared.close_pool(id); });
}

tm_status tm_pool_plan(tm_context* context, uint32_t pool, const tm_planned* requests,
                       size_t count) {
    return with("tm_pool_plan", context, {}, [&](ContextState& state) -> tm_status {
        if (pool == 0 || (requests == nullptr && count != 0))
            return fail({ErrorCode::bad_option,
                         pool == 0 ? "0 is the program's memory, no private pool" : "no requests",
                         "tm_pool_plan", ""});
        std::vector<PlannedAllocation> expected;
        expected.reserve(count);
        for (const tm_planned& one : std::span(requests, count)) {
            const bool escapes = one.escapes != 0;
            expected.push_back(
                {.size = one.bytes,
                 .begin = one.begin,
                 .end = escapes ? std::numeric_limits<std::uint32_t>::max() : one.end,
                 .stream = state.streams().id_of(one.stream),
                 .escapes = escapes,
                 .alignment = one.alignment == 0 ? kDefaultAlignment : one.alignment});
        }
        return status_of(state.plan_pool(PoolId{pool}, expected));
    });
}

tm_status tm_peer_access(tm_context* context, int device) {
    return with("tm_peer_access", context, {}, [&](ContextState& state) -> tm_status {
        if (state.card() == nullptr)
            return TM_OK;
        const auto opened = state.card()->open_to(device);
        return opened ? TM_OK : fail_of(state, opened.error());
    });
}

tm_status tm_ipc_export(tm_context* context, uint64_t address, tm_ipc_handle* handle) {
    return with("tm_ipc_export", context, {}, [&](ContextState& state) -> tm_status {
        IpcHandle exported;
        const auto offset = state.ipc_export(Address{address}, exported);
        if (!offset)
            return fail_of(state, offset.error());
        tm_ipc_handle all{};
        all.offset = *offset;
        std::memcpy(all.bytes, exported.bytes.data(), sizeof(all.bytes));
        return copy_out(handle, all);
    });
}

tm_status tm_ipc_open(tm_context* context, const tm_ipc_handle* handle, uint64_t* address) {
    return with("tm_ipc_open", context, {handle, address}, [&](ContextState& state) -> tm_status {
        tm_ipc_handle given{};
        if (const tm_status bad = copy_in(handle, given); bad != TM_OK)
            return bad;
        IpcHandle imported;
        std::memcpy(imported.bytes.data(), given.bytes, sizeof(given.bytes));
        const auto opened = state.ipc_open(imported, given.offset);
        if (!opened)
            return fail_of(state, opened.error());
        *address = to_integer(*opened);
        return TM_OK;
    });
}

tm_status tm_ipc_close(tm_context* context, uint64_t address) {
    return with("tm_ipc_close", context, {}, [&](ContextState& state) -> tm_status {
        const auto closed = state.ipc_close(Address{address});
        return closed ? TM_OK : fail_of(state, closed.error());
    });
}
