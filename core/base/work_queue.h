// WorkQueue: passes items from some threads to others, first in, first out.
//
// Thread-safe except for the destructor. Each function is O(1) except reserve() and cancel().
#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <list>
#include <mutex>
#include <optional>
#include <utility>

#include "core/base/check.h"

namespace tidemark {

template <class T>
class WorkQueue {
  public:
    // Pushing needs no memory as long as at most `items` are waiting.
    void reserve(std::size_t items) {
        const std::lock_guard lock(mutex_);
        spare_.resize(items);
    }

    // Not after close() or cancel() (TM_CHECK).
    void push(T item) {
        {
            const std::lock_guard lock(mutex_);
            TM_CHECK(!closed_);
            if (spare_.empty()) {
                items_.push_back(std::move(item));
            } else {
                spare_.front() = std::move(item);
                items_.splice(items_.end(), spare_, spare_.begin());
            }
        }
        changed_.notify_one();
    }

    // Waits for the oldest item; nothing when the queue is closed and empty. Throws what fail() was
    // given.
    std::optional<T> pop() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return closed_ || failure_ != nullptr || !items_.empty(); });
        return take_first();
    }

    // The oldest item if there is one now.
    std::optional<T> try_pop() {
        const std::lock_guard lock(mutex_);
        return take_first();
    }

    // Nothing more will be pushed: waiting threads get what is left, then nothing.
    void close() {
        {
            const std::lock_guard lock(mutex_);
            closed_ = true;
        }
        changed_.notify_all();
    }

    // The producer has failed with an exception, which is thrown to everyone who pops.
    void fail(std::exception_ptr failure) {
        {
            const std::lock_guard lock(mutex_);
            failure_ = std::move(failure);
        }
        changed_.notify_all();
    }

    // Throws what fail() was given.
    void rethrow() {
        const std::lock_guard lock(mutex_);
        if (failure_ != nullptr)
            std::rethrow_exception(failure_);
    }

    // As close(), but what is left is dropped.
    void cancel() {
        std::list<T> dropped;
        {
            const std::lock_guard lock(mutex_);
            closed_ = true;
            dropped.swap(items_);
        }
        changed_.notify_all();
    }

  private:
    std::optional<T> take_first() {
        if (failure_ != nullptr)
            std::rethrow_exception(failure_);
        if (items_.empty())
            return std::nullopt;
        std::optional<T> first(std::move(items_.front()));
        spare_.splice(spare_.begin(), items_, items_.begin());
        return first;
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::list<T> items_;
    std::list<T> spare_;  // moved from: for items to come
    std::exception_ptr failure_;
    bool closed_ = false;
};

}  // namespace tidemark
