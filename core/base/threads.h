// Threads: the only file that starts them. It is an ordinary result that the system has no more of
// them: if a thread is required, that is an Error; work that threads only speed up continues with
// fewer threads, if necessary only the caller's.
//
// An exception of the work (for example, no memory) does not end the process: it ends the work, and
// is thrown again in the thread that waits for it. Debuggers and `top -H` show a thread's name: at
// most 15 characters.
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

// A thread that was started, or none. Its owner must make it end; the destructor and assignment
// only wait for that. Move-only; not thread-safe.
class Thread {
  public:
    Thread() = default;

    // Runs `work` on a thread of its own. Errors (io): the system has no thread; nothing was run.
    static Result<Thread> start(const char* name, std::function<void()> work);

    // There is one that has not been joined.
    bool joinable() const { return thread_.joinable(); }

    // Waits for its end; returns immediately if there is no thread.
    void join();

    // Throws what the work has thrown, once; after join().
    void rethrow();

    // Drops it without joining: in a child made by fork(), where the parent's threads do not exist.
    void detach() { thread_.detach(); }

  private:
    std::shared_ptr<std::exception_ptr> thrown_;  // written by the thread before its end
    std::jthread thread_;
};

// Up to `most` threads that all run `work`: as many as the system has, perhaps none. Thread-safe.
// Throws std::bad_alloc before the first thread is started, or not at all.
std::vector<Thread> start_threads(const char* name, unsigned most,
                                  const std::function<void()>& work);

// Calls `job(index, thread)` for the indices 0, 1, ... count - 1, each once, on at most `threads`
// threads (0 = hardware_threads()) including the caller's, and waits for the last. Jobs start in
// order of their indices. When one returns false no further job starts, but all started ones
// finish: so the first failure is always the same. `thread` is below `threads`, and 0 on the
// caller's. True: all returned true. If the system has no more threads there are fewer of them. An
// exception of a job has the effect of false, and is thrown again at the end. Thread-safe;
// O(count).
bool parallel_for(std::size_t count, unsigned threads,
                  const std::function<bool(std::size_t index, unsigned thread)>& job);

}  // namespace tidemark
