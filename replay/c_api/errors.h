// errors: how the C interface reports failures. A failure is an Error as everywhere, kept for the
// calling thread until its next one; exceptions of libraries end here.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <initializer_list>
#include <string>
#include <utility>

#include "core/base/result.h"
#include "replay/c_api/tidemark.h"
#include "replay/c_api/waits.h"

namespace tidemark::c_api {

// The status that a C caller gets for an Error of this kind.
tm_status status_of(ErrorCode code);

// Makes it the thread's last failure, and gives its status: `return fail(result.error());`. The
// second is for what has no ErrorCode: TM_OUT_OF_MEMORY, TM_BAD_ADDRESS, TM_INTERNAL.
tm_status fail(const Error& error) noexcept;
tm_status fail(tm_status status, std::string what, std::string where = {},
               std::string hint = {}) noexcept;

// The same of an exception.
tm_status fail_with(const std::exception_ptr& exception) noexcept;

// Runs `work`, which gives a tm_status, and turns what it throws into one. The body of every
// function that can fail.
template <class F>
tm_status guarded(F&& work) noexcept {
    try {
        return std::forward<F>(work)();
    } catch (...) {
        return fail_with(std::current_exception());
    }
}

// The failure of `call` if a required argument is null.
tm_status fail_of_null(const char* call);

// The body of a function of an object: `work` with what the handle holds, guarded. Errors:
// bad_option if the handle or one of `needed` is null.
template <class Handle, class F>
tm_status with(const char* call, Handle* handle, std::initializer_list<const void*> needed,
               F&& work) noexcept {
    begin_call();
    return guarded([&]() -> tm_status {
        if (handle == nullptr || std::ranges::find(needed, nullptr) != needed.end())
            return fail_of_null(call);
        return std::forward<F>(work)(*handle->state);
    });
}

// A text of the caller; "" for null.
std::string text_or_empty(const char* text);

// The status of a Result without a value.
inline tm_status status_of(const Result<void>& result) {
    return result ? TM_OK : fail(result.error());
}

// A struct without even its size: the caller forgot TM_INIT.
template <class Struct>
bool has_size(const Struct& given) {
    return given.struct_size >= sizeof(given.struct_size);
}

tm_status fail_without_size() noexcept;

// Puts what the caller's struct has into `ours`, which begins with the defaults; null leaves these.
// Errors: bad_option (has_size).
template <class Struct>
tm_status copy_in(const Struct* given, Struct& ours) noexcept {
    ours.struct_size = sizeof(Struct);
    if (given == nullptr)
        return TM_OK;
    if (!has_size(*given))
        return fail_without_size();
    std::memcpy(static_cast<void*>(&ours), given, std::min(given->struct_size, sizeof(Struct)));
    ours.struct_size = sizeof(Struct);
    return TM_OK;
}

// Puts `ours` into as much of the caller's struct as it has; its size stays. Errors: bad_option
// (null, or has_size).
template <class Struct>
tm_status copy_out(Struct* target, const Struct& ours) noexcept {
    if (target == nullptr || !has_size(*target))
        return fail_without_size();
    constexpr std::size_t kBegin = sizeof(ours.struct_size);
    const std::size_t end = std::min(target->struct_size, sizeof(Struct));
    std::memcpy(reinterpret_cast<std::byte*>(target) + kBegin,
                reinterpret_cast<const std::byte*>(&ours) + kBegin, end - kBegin);
    return TM_OK;
}

}  // namespace tidemark::c_api
