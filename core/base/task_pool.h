// TaskPool: tasks for a few threads, started in the order in which they were added. Tasks may add
// others. If the system has no more threads, the thread that adds a task runs it, within add(). In
// a pool without threads (`most` = 0) tasks wait until somebody runs them: run_one(), wait(). The
// next unfinished() or wait() throws what a task has thrown, once.
//
// Thread-safe. The destructor waits for running tasks and drops those that have not started.
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

    // At most `most` threads; a task starts one if no thread is free. Each first runs `at_start`,
    // if there is one. `name`: see threads.h.
    TaskPool(const char* name, unsigned most, Task at_start = {});
    TaskPool(const TaskPool&) = delete;
    TaskPool& operator=(const TaskPool&) = delete;
    ~TaskPool();

    void add(Task task);

    // Runs the oldest waiting task on this thread; false: there is none. For a pool without
    // threads.
    bool run_one();

    // Tasks that wait or run.
    std::size_t unfinished();

    // Waits until there are none. A task must not call it.
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
