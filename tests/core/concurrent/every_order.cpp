// A baton that goes from lock to lock.
#include "tests/core/concurrent/every_order.h"

namespace tidemark::support {
namespace {

thread_local EveryOrder* t_scheduler = nullptr;  // null outside of its threads
thread_local unsigned t_self = 0;

}  // namespace

void ScheduledLock::lock() {
    if (t_scheduler != nullptr)
        t_scheduler->wait_for(t_self, *this);
    taken_ = true;
}

void ScheduledLock::unlock() {
    taken_ = false;
}

EveryOrder::EveryOrder(unsigned threads) : workers_(threads) {
    for (unsigned i = 0; i < threads; ++i)
        workers_[i].thread = std::thread([this, i] { work(i); });
}

EveryOrder::~EveryOrder() {
    ending_ = true;
    for (Worker& worker : workers_)
        worker.turn.release();
    for (Worker& worker : workers_)
        worker.thread.join();
}

std::uint64_t EveryOrder::run(const std::function<void()>& prepare,
                              const std::function<void(unsigned)>& body,
                              const std::function<bool()>& judge) {
    choices_.clear();
    body_ = body;
    for (std::uint64_t orders = 1;; ++orders) {
        prepare();
        depth_ = 0;
        for (Worker& worker : workers_)
            worker.done = false;
        pass_on();
        ended_.acquire();
        if (stuck_)
            return 0;
        if (!judge())
            return orders;
        next_order();
        if (choices_.empty())
            return orders;
    }
}

void EveryOrder::work(unsigned self) {
    t_scheduler = this;
    t_self = self;
    for (;;) {
        workers_[self].turn.acquire();
        if (ending_)
            return;
        body_(self);
        workers_[self].done = true;
        pass_on();
    }
}

void EveryOrder::wait_for(unsigned self, ScheduledLock& lock) {
    workers_[self].wanted = &lock;
    pass_on();
    workers_[self].turn.acquire();
    workers_[self].wanted = nullptr;
}

// The turn goes to a thread that can go on: the choice of this order, or the first.
void EveryOrder::pass_on() {
    std::vector<unsigned> able;
    bool all_done = true;
    for (unsigned i = 0; i < workers_.size(); ++i) {
        const Worker& worker = workers_[i];
        all_done = all_done && worker.done;
        if (!worker.done && (worker.wanted == nullptr || !worker.wanted->taken_))
            able.push_back(i);
    }
    if (able.empty()) {
        stuck_ = !all_done;
        ended_.release();
        return;
    }
    if (depth_ == choices_.size())
        choices_.push_back({0, static_cast<unsigned>(able.size())});
    workers_[able[choices_[depth_++].taken]].turn.release();
}

void EveryOrder::next_order() {
    while (!choices_.empty() && choices_.back().taken + 1 == choices_.back().options)
        choices_.pop_back();
    if (!choices_.empty())
        ++choices_.back().taken;
}

}  // namespace tidemark::support
