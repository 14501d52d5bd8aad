// BriefLock: a lock that is held for tens of nanoseconds and hardly ever contended. Releasing it is
// one store, while a mutex, which may have to wake a thread, takes another atomic exchange and two
// calls of the C library. So a waiting thread polls it, and sleeps in between if its owner isn't
// running.
//
// As std::mutex otherwise: for std::lock_guard, not recursive, not fair.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

namespace tidemark::inject {

class BriefLock {
  public:
    void lock() {
        if (taken_.exchange(true, std::memory_order_acquire)) [[unlikely]]
            wait();
    }

    void unlock() { taken_.store(false, std::memory_order_release); }

  private:
    [[gnu::noinline]] void wait() {
        constexpr int kAttempts = 100;
        for (int attempt = 0; taken_.load(std::memory_order_relaxed) ||
                              taken_.exchange(true, std::memory_order_acquire);
             ++attempt) {
            if (attempt < kAttempts)
                std::this_thread::yield();
            else  // whoever has it may be of a lower priority
                std::this_thread::sleep_for(std::chrono::microseconds(50));
        }
    }

    std::atomic<bool> taken_ = false;
};

}  // namespace tidemark::inject
