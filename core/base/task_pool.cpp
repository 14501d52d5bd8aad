// A queue of tasks and a count of those that have not ended.
#include "core/base/task_pool.h"

#include <utility>

namespace tidemark {

TaskPool::TaskPool(const char* name, unsigned most, Task at_start)
    : name_(name), most_(most), at_start_(std::move(at_start)) {
    threads_.reserve(most);  // a started thread must not fail to be stored
}

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
        if (most_ == 0) {
            ++unfinished_;
            return tasks_.push(std::move(task));
        }
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

bool TaskPool::run_one() {
    std::optional<Task> task = tasks_.try_pop();
    if (task)
        run(std::move(*task));
    return task.has_value();
}

std::size_t TaskPool::unfinished() {
    const std::lock_guard lock(mutex_);
    rethrow();
    return unfinished_;
}

void TaskPool::wait() {
    while (most_ == 0 && run_one()) {
    }
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [this] { return unfinished_ == 0; });
    rethrow();
}

void TaskPool::rethrow() {
    if (thrown_ != nullptr)
        std::rethrow_exception(std::exchange(thrown_, nullptr));
}

void TaskPool::work() {
    if (at_start_)
        at_start_();
    while (std::optional<Task> task = tasks_.pop())
        run(std::move(*task));
}

// What the task holds is destroyed before the task counts as finished.
void TaskPool::run(Task task) {
    std::exception_ptr thrown;
    try {
        task();
    } catch (...) {
        thrown = std::current_exception();
    }
    task = {};
    const std::lock_guard lock(mutex_);
    if (thrown_ == nullptr)
        thrown_ = thrown;
    if (--unfinished_ == 0)
        idle_.notify_all();
}

}  // namespace tidemark
