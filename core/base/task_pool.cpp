// A queue of tasks and a count of those that have not ended.
#include "core/base/task_pool.h"

#include <utility>

namespace tidemark {

TaskPool::TaskPool(const char* name, unsigned most, Task at_start)
    : name_(name), most_(most), at_start_(std::move(at_start)) {}

TaskPool::~TaskPool() {
    {
        const std::lock_guard lock(mutex_);
        ending_ = true;
    }
    tasks_.cancel();
}

void TaskPool::add(Task task) {
    {
        const std::lock_guard lock(mutex_);
        if (ending_)
            return;
        if (threads_.size() < most_ && threads_.size() <= unfinished_) {
            if (Result<Thread> started = Thread::start(name_, [this] { work(); }))
                threads_.push_back(std::move(*started));
        }
        ++unfinished_;
        if (!threads_.empty())
            return tasks_.push(std::move(task));
    }
    run(std::move(task));
}

std::size_t TaskPool::unfinished() const {
    const std::lock_guard lock(mutex_);
    return unfinished_;
}

void TaskPool::wait() {
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [this] { return unfinished_ == 0; });
}

void TaskPool::work() {
    if (at_start_)
        at_start_();
    while (std::optional<Task> task = tasks_.pop())
        run(std::move(*task));
}

// What the task holds goes before it counts as finished.
void TaskPool::run(Task task) {
    task();
    task = {};
    const std::lock_guard lock(mutex_);
    if (--unfinished_ == 0)
        idle_.notify_all();
}

}  // namespace tidemark
