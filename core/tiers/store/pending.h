// Pending: an answer that comes later, once. A future without exceptions, which can be polled
// without waiting and without a clock.
//
// The answering side keeps a Promise; a Promise that is destroyed before it has answered is a
// broken invariant (TM_CHECK): every request to the tiers is answered, even at shutdown.
// Thread-safe: one thread answers, any number of copies of the Pending may poll and wait.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "core/base/check.h"

namespace tidemark {

template <class T>
class Promise;

template <class T>
class Pending {
  public:
    Pending() = default;  // empty: may only be assigned to

    // An answer that exists already.
    explicit Pending(T value) : state_(std::make_shared<State>()) {
        state_->value.emplace(std::move(value));
    }

    bool ready() const {
        const std::lock_guard lock(state_->mutex);
        return state_->value.has_value();
    }

    // Waits for the answer.
    void wait() const {
        std::unique_lock lock(state_->mutex);
        state_->arrived.wait(lock, [&] { return state_->value.has_value(); });
    }

    // The same, but for no longer than `patience`. False: there is no answer yet. It may still
    // come: drop this if you no longer need it.
    bool wait_for(std::chrono::nanoseconds patience) const {
        std::unique_lock lock(state_->mutex);
        return state_->arrived.wait_for(lock, patience, [&] { return state_->value.has_value(); });
    }

    // The id for withdrawing it; 0: it can't be withdrawn.
    std::uint64_t request() const { return state_->request; }

    // Waits, and moves it out. Call this only once, among all copies.
    T take() {
        wait();
        const std::lock_guard lock(state_->mutex);
        return std::move(*state_->value);
    }

  private:
    friend class Promise<T>;

    struct State {
        std::mutex mutex;
        std::condition_variable arrived;
        std::optional<T> value;
        std::uint64_t request = 0;  // set before anybody else has it
    };

    std::shared_ptr<State> state_;
};

template <class T>
class Promise {
  public:
    Promise() { pending_.state_ = std::make_shared<typename Pending<T>::State>(); }

    Promise(Promise&& other) noexcept = default;
    Promise& operator=(Promise&& other) noexcept = default;

    ~Promise() { TM_CHECK(pending_.state_ == nullptr); }

    Pending<T> pending() const { return pending_; }

    // Before anybody gets pending().
    void set_request(std::uint64_t request) { pending_.state_->request = request; }

    // Gives the answer, once.
    void answer(T value) {
        const auto state = std::exchange(pending_.state_, nullptr);
        const std::lock_guard lock(state->mutex);
        state->value.emplace(std::move(value));
        state->arrived.notify_all();
    }

  private:
    Pending<T> pending_;
};

}  // namespace tidemark
