// caught: what libraries throw, out of memory above all, as an Error, for threads that nobody joins
// to learn of it and for the ends of interfaces; and the same for libraries that throw nothing.
#pragma once

#include <exception>
#include <new>

#include "core/base/result.h"

namespace tidemark {

// What a person is told when the system gives no more memory.
constexpr const char* kNoMemory = "this computer has too little free memory for that";

// What a library of C gave: if it is not there the system has no memory (std::bad_alloc).
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
        return {ErrorCode::unsupported, "something was thrown that says nothing", {}, {}};
    }
}

}  // namespace tidemark
