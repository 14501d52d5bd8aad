// Pending: an answer that comes later, once. A future without exceptions, which can be asked
// whether it is there without waiting and without a clock.
//
// The giving side keeps a Promise; a Promise that is destroyed before it answered is a broken
// invariant (TM_CHECK): everything that is asked of the tiers is answered, also at shutdown.
// Thread-safe: one thread gives, any number of copies of the Pending may look and wait.
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
    Pending() = default;  // of nothing: may only be assigned to

    // An answer that is there already.
    explicit Pending(T value) : state_(std::make_shared<State>()) {
        state_->value.emplace(std::move(value));
    }

    bool ready() const {
        const std::lock_guard lock(state_->mutex);
        return state_->value.has_value();
    }

    // Waits until it is there.
    void wait() const {
        std::unique_lock lock(state_->mutex);
        state_->arrived.wait(lock, [&] { return state_->value.has_value(); });
    }

    // The same, but no longer than `patience`. False: it isn't there. It may still come: whoever
    // wants it no more drops this.
    bool wait_for(std::chrono::nanoseconds patience) const {
        std::unique_lock lock(state_->mutex);
        return state_->arrived.wait_for(lock, patience, [&] { return state_->value.has_value(); });
    }

    // What it is withdrawn by; 0: it can't be.
    std::uint64_t request() const { return state_->request; }

    // Waits, and moves it out. To be called once, of all copies.
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

    // Before pending() is given to anybody.
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
