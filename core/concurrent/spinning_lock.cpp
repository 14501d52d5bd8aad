// The part that waits.
#include "core/concurrent/spinning_lock.h"

#include <algorithm>

namespace tidemark {
namespace {

constexpr int kAttempts = 60;  // about 8 us with the pauses between them
constexpr int kLongestPause = 64;

void pause(int count) {
    for (int i = 0; i < count; ++i) {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#elif defined(__aarch64__)
        asm volatile("yield");
#endif
    }
}

}  // namespace

void SpinningLock::lock_contended() {
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
        pause(std::min(1 << std::min(attempt, 10), kLongestPause));
        if (state_.load(std::memory_order_relaxed) == kFree && take())
            return;
    }
    while (state_.exchange(kAwaited, std::memory_order_acquire) != kFree)
        state_.wait(kAwaited, std::memory_order_relaxed);
}

}  // namespace tidemark
