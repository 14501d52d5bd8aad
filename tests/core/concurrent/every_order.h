// Runs small programs of several threads in every order in which their locks can be taken: a
// stateless model checker. One thread runs at a time, from one lock to the next; where several
// could go on, each is tried in turn (depth first, by running all again from the beginning).
//
// ScheduledLock stands for std::mutex in what is checked.
#pragma once

#include <cstdint>
#include <functional>
#include <semaphore>
#include <thread>
#include <vector>

namespace tidemark::support {

class EveryOrder;

class ScheduledLock {
  public:
    void lock();
    void unlock();

  private:
    friend class EveryOrder;
    bool taken_ = false;
};

class EveryOrder {
  public:
    // Threads that stay the same over all orders: what they know of themselves does too.
    explicit EveryOrder(unsigned threads);
    EveryOrder(const EveryOrder&) = delete;
    EveryOrder& operator=(const EveryOrder&) = delete;
    ~EveryOrder();

    // For each order: `prepare`, then `body(thread)` in all threads, then `judge`, which returns
    // false to end the search. prepare and judge run alone. Returns the number of orders tried; 0
    // if some order ended with each thread waiting for another.
    std::uint64_t run(const std::function<void()>& prepare,
                      const std::function<void(unsigned)>& body,
                      const std::function<bool()>& judge);

  private:
    friend class ScheduledLock;

    struct Worker {
        bool done = true;
        ScheduledLock* wanted = nullptr;  // before it can go on
        std::binary_semaphore turn{0};
        std::thread thread = {};
    };

    struct Choice {
        unsigned taken;
        unsigned options;
    };

    void work(unsigned self);
    void wait_for(unsigned self, ScheduledLock& lock);
    void pass_on();
    void next_order();

    // Whoever has the turn reads and writes all of this.
    std::vector<Worker> workers_;
    std::binary_semaphore ended_{0};  // an order has
    std::function<void(unsigned)> body_;
    bool stuck_ = false;
    bool ending_ = false;
    std::vector<Choice> choices_;
    std::size_t depth_ = 0;
};

}  // namespace tidemark::support
