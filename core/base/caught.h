// caught: turns exceptions of libraries, especially out of memory, into an Error, for threads that
// nobody joins and for the outer functions of interfaces; and the same for libraries without
// exceptions.
#pragma once

#include <exception>
#include <new>

#include "core/base/result.h"

namespace tidemark {

// The message when the system has no more memory.
constexpr const char* kNoMemory = "this computer has too little free memory for that";

// Checks the result of a C library: if it is null, the system has no memory (std::bad_alloc).
inline void check_memory(bool there) {
    if (!there)
        throw std::bad_alloc();
}

// unsupported: it is not possible here.
inline Error error_of(const std::exception_ptr& thrown) {
    try {
        std::rethrow_exception(thrown);
    } catch (const std::bad_alloc&) {
        return {ErrorCode::unsupported, kNoMemory, {}, {}};
    } catch (const std::exception& exception) {
        return {ErrorCode::unsupported, exception.what(), {}, {}};
    } catch (...) {
        return {ErrorCode::unsupported, "an unknown exception was thrown", {}, {}};
    }
}

}  // namespace tidemark
