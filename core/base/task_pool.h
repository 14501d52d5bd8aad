// TaskPool: tasks for a few threads, begun in the order in which they were added. Tasks may add
// others. Where the system gives no thread a task is run by the thread that adds it, within add().
// A pool of no threads (`most` = 0) has its tasks wait until somebody runs them: run_one(), wait().
// What a task throws is thrown by the next unfinished() or wait(), once.
//
// Thread-safe. The destructor waits for what runs and drops what has not begun.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <vector>

#include "core/base/threads.h"
#include "core/base/work_queue.h"

namespace tidemark {

class TaskPool {
  public:
    using Task = std::function<void()>;

    // At most `most` threads, each started by a task for which none is free. Each begins with
    // `at_start`, if there is one. `name`: see threads.h.
    TaskPool(const char* name, unsigned most, Task at_start = {});
    TaskPool(const TaskPool&) = delete;
    TaskPool& operator=(const TaskPool&) = delete;
    ~TaskPool();

    void add(Task task);

    // Runs the oldest task that waits, here; false: none does. For a pool of no threads.
    bool run_one();

    // Tasks that wait or run.
    std::size_t unfinished();

    // Waits until there are none. Not to be called by a task.
    void wait();

  private:
    void work();
    void run(Task task);
    void rethrow();

    const char* const name_;
    const unsigned most_;
    const Task at_start_;

    std::mutex mutex_;  // guards what follows
    std::condition_variable idle_;
    std::size_t unfinished_ = 0;
    bool ending_ = false;
    std::exception_ptr thrown_;
    WorkQueue<Task> tasks_;
    std::vector<Thread> threads_;  // last: they use all of the above until they are joined
};

}  // namespace tidemark
