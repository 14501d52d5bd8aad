// How things fail in Tidemark. There are three kinds, and no fourth:
//
//   OutOfMemory  an allocator's refusal: ordinary, small, no heap, part of the hot path
//   (allocator.h)
//   Error        a problem outside: a bad file, a bad option, a driver that refuses
//   TM_CHECK     our own mistake: a broken invariant; prints its location and aborts (check.h)
//
// Exceptions do not cross our functions. `main` and the bindings turn an Error into text or into
// the host language's exception. A device's refusal is a DeviceError (core/device/device.h), small
// enough for hot paths; it becomes an Error when it is shown to a person.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include <tl/expected.hpp>

namespace tidemark {

enum class ErrorCode : std::uint8_t {
    bad_option,
    bad_input,
    not_found,
    io,
    driver,
    unsupported,
    no_space,   // a quota or a disk is used up: ordinary where space comes and goes
    cancelled,  // as the caller requested
};

// What went wrong, where, and what to do. `where` is "snapshot.pickle:0x1f40" or "--policy"; `hint`
// may be empty.
struct Error {
    ErrorCode code = ErrorCode::bad_input;
    std::string what;
    std::string where;
    std::string hint;
};

template <class T>
using Result = tl::expected<T, Error>;

// An Error ready to be returned from a function that returns a Result.
inline tl::unexpected<Error> fail(ErrorCode code, std::string what, std::string where = {},
                                  std::string hint = {}) {
    return tl::make_unexpected(Error{code, std::move(what), std::move(where), std::move(hint)});
}

// "where: what; hint": one line for a person.
inline std::string to_text(const Error& error) {
    std::string text = error.where.empty() ? error.what : error.where + ": " + error.what;
    if (!error.hint.empty())
        text += "; " + error.hint;
    return text;
}

// Returns the error of `expr` to the caller, or continues.
#define TM_TRY(expr)                                                    \
    do {                                                                \
        if (auto tm_result = (expr); !tm_result)                        \
            return ::tl::make_unexpected(std::move(tm_result).error()); \
    } while (false)

// Declares `target` with the value of `expr`, or returns its error to the caller.
#define TM_CONCAT_(a, b) a##b
#define TM_CONCAT(a, b) TM_CONCAT_(a, b)
#define TM_ASSIGN(target, expr) TM_ASSIGN_(TM_CONCAT(tm_value_, __LINE__), target, expr)
#define TM_ASSIGN_(holder, target, expr)                         \
    auto holder = (expr);                                        \
    if (!holder)                                                 \
        return ::tl::make_unexpected(std::move(holder).error()); \
    target = std::move(*holder)

}  // namespace tidemark
