// TM_CHECK: our own invariants. A failure is a defect of Tidemark, never of its input: it prints
// the condition and its location to standard error and aborts. Always on; hot loops use
// TM_CHECK_DEBUG, which release builds (NDEBUG) leave out.
#pragma once

namespace tidemark {

// Prints "file:line: check failed: condition" and aborts. Thread-safe.
[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace tidemark

#define TM_CHECK(condition)                                           \
    do {                                                              \
        if (!(condition)) [[unlikely]]                                \
            ::tidemark::check_failed(#condition, __FILE__, __LINE__); \
    } while (false)

#ifdef NDEBUG
#define TM_CHECK_DEBUG(condition) \
    do {                          \
    } while (false)
#else
#define TM_CHECK_DEBUG(condition) TM_CHECK(condition)
#endif
