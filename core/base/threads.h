// Threads: the one file that starts them. That a system gives no more of them is an ordinary
// result: a thread that is needed gives an Error; what threads only make faster goes on with those
// that there are, at last with the caller's alone.
//
// What work throws (the system may have no memory) ends no process: it ends the work, and is thrown
// again in the thread that waits for it and asks. A thread's name is what debuggers and `top -H`
// show: 15 characters at most.
#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "core/base/result.h"

namespace tidemark {

// Programs for browsers are built without threads (scripts/make-page): none ever starts.
#if defined(__EMSCRIPTEN__) && !defined(__EMSCRIPTEN_PTHREADS__)
constexpr bool kHasThreads = false;
#else
constexpr bool kHasThreads = true;
#endif

// How many threads this machine runs at once: at least 1. Thread-safe.
unsigned hardware_threads();

// A thread that was started, or none. Its owner must have it end; the destructor and assignment
// only wait for that. Move-only; not thread-safe.
class Thread {
  public:
    Thread() = default;

    // Runs `work` on a thread of its own. Errors (io): the system has none; nothing was run.
    static Result<Thread> start(const char* name, std::function<void()> work);

    // There is one that has not been joined.
    bool joinable() const { return thread_.joinable(); }

    // Waits for its end; at once if there is none.
    void join();

    // Throws what the work threw, once; after join().
    void rethrow();

    // Forgets it: in a child made by fork(), where the parent's threads do not exist.
    void detach() { thread_.detach(); }

  private:
    std::shared_ptr<std::exception_ptr> thrown_;  // written by the thread before its end
    std::jthread thread_;
};

// Up to `most` threads that all run `work`: as many as the system has, perhaps none. Thread-safe.
// Throws std::bad_alloc before the first is started, or not at all.
std::vector<Thread> start_threads(const char* name, unsigned most,
                                  const std::function<void()>& work);

// Calls `job(index, thread)` for the indices 0, 1, ... count - 1, each once, on at most `threads`
// threads (0 = hardware_threads()), the caller's among them, and waits for the last. Jobs start in
// order of their indices. When one returns false no other is started any more, but all that were
// started finish: the first failure is always the same. `thread` is below `threads`, and 0 on the
// caller's. True: all returned true. Where the system gives no thread there are fewer of them. What
// a job throws ends it as false does, and is thrown here in the end. Thread-safe; O(count).
bool parallel_for(std::size_t count, unsigned threads,
                  const std::function<bool(std::size_t index, unsigned thread)>& job);

}  // namespace tidemark
