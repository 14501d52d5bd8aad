// TaskQueue: work for a few threads, begun in order, one for each core. Tasks may add others.
//
// Any thread may add; the queue's end waits for what runs and drops what hasn't begun.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "viz/model/session/background.h"

namespace tidemark::viz {

class TaskQueue {
  public:
    using Task = std::function<void()>;

    TaskQueue() = default;
    TaskQueue(const TaskQueue&) = delete;
    TaskQueue& operator=(const TaskQueue&) = delete;

    ~TaskQueue() {
        {
            const std::lock_guard lock(mutex_);
            ends_ = true;
        }
        wake_.notify_all();
        for (std::thread& thread : threads_)
            thread.join();
    }

    // Threads are started with the first task.
    void add(Task task) {
        const std::lock_guard lock(mutex_);
        const std::size_t most = std::clamp(std::thread::hardware_concurrency(), 1U, 8U);
        if (threads_.size() < most && threads_.size() <= unfinished_)
            threads_.emplace_back([this] { work(); });
        tasks_.push_back(std::move(task));
        ++unfinished_;
        wake_.notify_one();
    }

    // Tasks that wait or run.
    std::size_t unfinished() const {
        const std::lock_guard lock(mutex_);
        return unfinished_;
    }

    // Waits until there are none.
    void wait() {
        std::unique_lock lock(mutex_);
        idle_.wait(lock, [this] { return unfinished_ == 0; });
    }

  private:
    void work() {
        lower_thread_priority();
        std::unique_lock lock(mutex_);
        while (true) {
            wake_.wait(lock, [this] { return ends_ || !tasks_.empty(); });
            if (ends_)
                return;
            Task task = std::move(tasks_.front());
            tasks_.pop_front();
            lock.unlock();
            task();
            task = {};
            lock.lock();
            if (--unfinished_ == 0)
                idle_.notify_all();
        }
    }

    mutable std::mutex mutex_;
    std::condition_variable wake_;
    std::condition_variable idle_;
    std::deque<Task> tasks_;
    std::vector<std::thread> threads_;
    std::size_t unfinished_ = 0;
    bool ends_ = false;
};

}  // namespace tidemark::viz
