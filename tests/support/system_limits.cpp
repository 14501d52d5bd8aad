// The program's functions come before the C library's, so that calls can be refused even to root,
// whom RLIMIT_NPROC does not bind, and under sanitizers, which RLIMIT_AS would break.
#include "tests/support/system_limits.h"

#include <atomic>
#include <cerrno>
#include <limits>

#include <dlfcn.h>
#include <pthread.h>
#include <sys/mman.h>

namespace {

constexpr int kUnlimited = std::numeric_limits<int>::max();
std::atomic<int> threads_left = kUnlimited;
std::atomic<bool> maps = true;

}  // namespace

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*work)(void*), void* argument) noexcept {
    using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
    static const auto create = reinterpret_cast<Create>(::dlsym(RTLD_NEXT, "pthread_create"));
    if (threads_left.load() != kUnlimited && threads_left.fetch_sub(1) <= 0)
        return EAGAIN;
    return create(thread, attributes, work, argument);
}

extern "C" void* mmap(void* address, size_t size, int protection, int flags, int file,
                      off_t offset) noexcept {
    using Map = void* (*)(void*, size_t, int, int, int, off_t);
    static const auto map = reinterpret_cast<Map>(::dlsym(RTLD_NEXT, "mmap"));
    if (!maps.load()) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return map(address, size, protection, flags, file, offset);
}

namespace tidemark::support {

ThreadLimit::ThreadLimit(int threads) {
    threads_left = threads;
}

ThreadLimit::~ThreadLimit() {
    threads_left = kUnlimited;
}

NoMappings::NoMappings() {
    maps = false;
}

NoMappings::~NoMappings() {
    maps = true;
}

}  // namespace tidemark::support
