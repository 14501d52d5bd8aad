// The last failure of each thread, and the versions.
#include "replay/c_api/errors.h"

#include <new>
#include <string_view>
#include <utility>

#include "core/base/caught.h"

namespace tidemark::c_api {
namespace {

struct Failure {
    tm_status status = TM_OK;
    std::string what;
    std::string where;
    std::string hint;
    bool no_memory = false;  // not even for the texts
};

thread_local Failure last;

}  // namespace

tm_status status_of(ErrorCode code) {
    switch (code) {
        case ErrorCode::bad_option:
            return TM_BAD_OPTION;
        case ErrorCode::bad_input:
            return TM_BAD_INPUT;
        case ErrorCode::not_found:
            return TM_NOT_FOUND;
        case ErrorCode::io:
            return TM_IO;
        case ErrorCode::driver:
            return TM_DRIVER;
        case ErrorCode::unsupported:
            return TM_UNSUPPORTED;
        case ErrorCode::no_space:
            return TM_NO_SPACE;
        case ErrorCode::cancelled:
            return TM_CANCELLED;
    }
    return TM_INTERNAL;
}

tm_status fail(tm_status status, std::string what, std::string where, std::string hint) noexcept {
    last = Failure{status, std::move(what), std::move(where), std::move(hint)};
    return status;
}

tm_status fail(const Error& error) noexcept {
    try {
        return fail(status_of(error.code), error.what, error.where, error.hint);
    } catch (...) {
        return fail_with(std::current_exception());
    }
}

tm_status fail_with(const std::exception_ptr& exception) noexcept {
    try {
        try {
            std::rethrow_exception(exception);
        } catch (const std::bad_alloc&) {
            last = {TM_INTERNAL, {}, {}, {}, true};
        } catch (const std::exception& error) {
            last = {TM_INTERNAL, error.what(), {}, {}};
        } catch (...) {
            last = {TM_INTERNAL, "an unknown exception was thrown", {}, {}};
        }
    } catch (...) {
        last = {TM_INTERNAL, {}, {}, {}, true};
    }
    return TM_INTERNAL;
}

tm_status fail_without_size() noexcept {
    return guarded([] {
        return fail(TM_BAD_OPTION, "a struct is null or has no size", "struct_size",
                    "declare it with TM_INIT");
    });
}

tm_status fail_of_null(const char* call) {
    return fail(TM_BAD_OPTION, "an argument is null", call);
}

std::string text_or_empty(const char* text) {
    return text == nullptr ? std::string() : std::string(text);
}

}  // namespace tidemark::c_api

uint32_t tm_abi_version(void) {
    return TM_ABI_VERSION;
}

const char* tm_version(void) {
    return TIDEMARK_VERSION;
}

size_t tm_struct_size(const char* name) {
#define TIDEMARK_SIZE(type) \
    { #type, sizeof(type) }
    static constexpr std::pair<std::string_view, std::size_t> kSizes[] = {
        TIDEMARK_SIZE(tm_error),           TIDEMARK_SIZE(tm_context_options),
        TIDEMARK_SIZE(tm_request),         TIDEMARK_SIZE(tm_block),
        TIDEMARK_SIZE(tm_planned),         TIDEMARK_SIZE(tm_blocks_options),
        TIDEMARK_SIZE(tm_blocks_usage),    TIDEMARK_SIZE(tm_region),
        TIDEMARK_SIZE(tm_statistics),      TIDEMARK_SIZE(tm_ipc_handle),
        TIDEMARK_SIZE(tm_store_options),   TIDEMARK_SIZE(tm_piece),
        TIDEMARK_SIZE(tm_tier_counters),   TIDEMARK_SIZE(tm_policy),
        TIDEMARK_SIZE(tm_trace_options),   TIDEMARK_SIZE(tm_columns),
        TIDEMARK_SIZE(tm_frame),           TIDEMARK_SIZE(tm_recorder_options),
        TIDEMARK_SIZE(tm_event),           TIDEMARK_SIZE(tm_recorded_frame),
        TIDEMARK_SIZE(tm_recorder_counts), TIDEMARK_SIZE(tm_run_options),
        TIDEMARK_SIZE(tm_buffer_facts),    TIDEMARK_SIZE(tm_deferrable_statistics),
        TIDEMARK_SIZE(tm_store_event),     TIDEMARK_SIZE(tm_wait_options),
        TIDEMARK_SIZE(tm_tier_pressure),   TIDEMARK_SIZE(tm_candidate),
    };
#undef TIDEMARK_SIZE
    for (const auto& [known, size] : kSizes) {
        if (name != nullptr && known == name)
            return size;
    }
    return 0;
}

tm_status tm_last_error(tm_error* error) {
    using namespace tidemark::c_api;
    if (error != nullptr && has_size(*error)) {
        const Failure& failure = last;
        const tm_error ours{sizeof(tm_error), failure.status,
                            failure.no_memory ? tidemark::kNoMemory : failure.what.c_str(),
                            failure.where.c_str(), failure.hint.c_str()};
        copy_out(error, ours);
    }
    return last.status;
}
