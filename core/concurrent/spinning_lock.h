// SpinningLock: a lock for critical sections of a few hundred nanoseconds, where a sleeping lock
// forms a convoy: each owner must wake the next. It tries for a few microseconds, at growing
// intervals, and only then sleeps (Anderson, The Performance of Spin Lock Alternatives, 1990).
//
// Otherwise like std::mutex: for std::lock_guard, not recursive, not fair.
#pragma once

#include <atomic>
#include <cstdint>

namespace tidemark {

class SpinningLock {
  public:
    void lock() {
        if (!take())
            lock_contended();
    }

    void unlock() {
        if (state_.exchange(kFree, std::memory_order_release) == kAwaited)
            state_.notify_one();
    }

  private:
    static constexpr std::uint32_t kFree = 0;
    static constexpr std::uint32_t kTaken = 1;
    static constexpr std::uint32_t kAwaited = 2;  // taken, and a thread sleeps

    bool take() {
        std::uint32_t expected = kFree;
        return state_.compare_exchange_strong(expected, kTaken, std::memory_order_acquire,
                                              std::memory_order_relaxed);
    }

    void lock_contended();

    std::atomic<std::uint32_t> state_ = kFree;
};

}  // namespace tidemark
