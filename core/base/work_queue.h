// WorkQueue: what some threads hand to others, first in, first out.
//
// Thread-safe but for the destructor. Each function is O(1) but for cancel().
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

#include "core/base/check.h"

namespace tidemark {

template <class T>
class WorkQueue {
  public:
    // Not after close() or cancel() (TM_CHECK).
    void push(T item) {
        {
            const std::lock_guard lock(mutex_);
            TM_CHECK(!closed_);
            items_.push_back(std::move(item));
        }
        changed_.notify_one();
    }

    // The oldest item, waited for; nothing when the queue is closed and empty.
    std::optional<T> pop() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return closed_ || !items_.empty(); });
        return take_first();
    }

    // The oldest item if there is one now.
    std::optional<T> try_pop() {
        const std::lock_guard lock(mutex_);
        return take_first();
    }

    // Nothing will be pushed: who waits gets what is left, then nothing.
    void close() {
        {
            const std::lock_guard lock(mutex_);
            closed_ = true;
        }
        changed_.notify_all();
    }

    // As close(), but what is left is dropped.
    void cancel() {
        std::deque<T> dropped;
        {
            const std::lock_guard lock(mutex_);
            closed_ = true;
            dropped.swap(items_);
        }
        changed_.notify_all();
    }

  private:
    std::optional<T> take_first() {
        if (items_.empty())
            return std::nullopt;
        std::optional<T> first(std::move(items_.front()));
        items_.pop_front();
        return first;
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<T> items_;
    bool closed_ = false;
};

}  // namespace tidemark
