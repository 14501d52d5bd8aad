// Numbers of threads, and the list of objects with locks.
#include "core/concurrent/thread_slot.h"

#include <algorithm>
#include <mutex>
#include <vector>

#include <pthread.h>

namespace tidemark {
namespace {

struct Process {
    std::mutex forks;  // guards `aware`; held while the process forks
    std::vector<ForkAware*> aware;
    std::mutex numbers;       // guards `slots`; the last lock that is taken
    std::vector<bool> slots;  // which numbers are taken
};

Process& process();

void before_fork() {
    Process& all = process();
    all.forks.lock();
    for (ForkAware* each : all.aware)
        each->before_fork();
    all.numbers.lock();
}

void after_fork() {
    Process& all = process();
    all.numbers.unlock();
    for (ForkAware* each : all.aware)
        each->after_fork();
    all.forks.unlock();
}

// Never destroyed: threads and shells may end after all static objects.
Process& process() {
    static Process& all = []() -> Process& {
        static auto* const made = new Process;
        pthread_atfork(before_fork, after_fork, after_fork);
        return *made;
    }();
    return all;
}

constexpr unsigned kNone = ~0U;
thread_local unsigned t_slot = kNone;

// Its destructor runs at the thread's end.
struct SlotOwner {
    SlotOwner() = default;
    SlotOwner(const SlotOwner&) = delete;
    SlotOwner& operator=(const SlotOwner&) = delete;

    ~SlotOwner() {
        const std::lock_guard lock(process().numbers);
        process().slots[t_slot] = false;
    }
};

[[gnu::noinline]] unsigned take_slot() {
    {
        const std::lock_guard lock(process().numbers);
        std::vector<bool>& slots = process().slots;
        const auto vacant = std::find(slots.begin(), slots.end(), false);
        t_slot = static_cast<unsigned>(vacant - slots.begin());
        if (vacant == slots.end())
            slots.push_back(true);
        else
            *vacant = true;
    }
    static thread_local const SlotOwner owner;
    static_cast<void>(owner);
    return t_slot;
}

}  // namespace

unsigned thread_slot() {
    return t_slot != kNone ? t_slot : take_slot();
}

void ForkAware::enter() {
    const std::lock_guard lock(process().forks);
    process().aware.push_back(this);
}

void ForkAware::leave() {
    const std::lock_guard lock(process().forks);
    std::erase(process().aware, this);
}

}  // namespace tidemark
