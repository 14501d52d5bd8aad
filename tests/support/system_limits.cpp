// The program's functions come before the C library's, so that calls can be refused even to root,
// whom RLIMIT_NPROC does not bind, and under sanitizers, which RLIMIT_AS would break.
#include "tests/support/system_limits.h"

#include <cerrno>
#include <limits>

#include <dlfcn.h>
#include <pthread.h>
#include <sys/mman.h>

namespace {

constexpr int kUnlimited = std::numeric_limits<int>::max();
int threads_left = kUnlimited;
bool maps = true;

}  // namespace

// Sanitizers call these before they are ready for code that they instrument; so no std::atomic,
// whose functions would be, and no static local variable, whose guard is theirs.
#define TM_NOT_INSTRUMENTED __attribute__((no_sanitize("thread", "address", "undefined")))

extern "C" TM_NOT_INSTRUMENTED int pthread_create(pthread_t* thread,
                                                  const pthread_attr_t* attributes,
                                                  void* (*work)(void*), void* argument) noexcept {
    using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
    const auto create = reinterpret_cast<Create>(::dlsym(RTLD_NEXT, "pthread_create"));
    if (__atomic_load_n(&threads_left, __ATOMIC_RELAXED) != kUnlimited &&
        __atomic_fetch_sub(&threads_left, 1, __ATOMIC_RELAXED) <= 0)
        return EAGAIN;
    return create(thread, attributes, work, argument);
}

extern "C" TM_NOT_INSTRUMENTED void* mmap(void* address, size_t size, int protection, int flags,
                                          int file, off_t offset) noexcept {
    using Map = void* (*)(void*, size_t, int, int, int, off_t);
    const auto map = reinterpret_cast<Map>(::dlsym(RTLD_NEXT, "mmap"));
    if (!__atomic_load_n(&maps, __ATOMIC_RELAXED)) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return map(address, size, protection, flags, file, offset);
}

namespace tidemark::support {

ThreadLimit::ThreadLimit(int threads) {
    __atomic_store_n(&threads_left, threads, __ATOMIC_RELAXED);
}

ThreadLimit::~ThreadLimit() {
    __atomic_store_n(&threads_left, kUnlimited, __ATOMIC_RELAXED);
}

NoMappings::NoMappings() {
    __atomic_store_n(&maps, false, __ATOMIC_RELAXED);
}

NoMappings::~NoMappings() {
    __atomic_store_n(&maps, true, __ATOMIC_RELAXED);
}

}  // namespace tidemark::support
