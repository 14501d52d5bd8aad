// What waiting costs: from notify() until the thread that it serves goes on, the same with others
// asleep before it, a notice that concerns nobody, a round over many who wait, and a reservation
// that need not wait.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include <benchmark/benchmark.h>

#include "core/tiers/request.h"

namespace {

using namespace tidemark;
using Clock = std::chrono::steady_clock;

constexpr SpaceMask kSpace = space_bit(0);

// Threads that want more than there ever is.
class Crowd {
  public:
    Crowd(WaitQueue& queue, std::size_t size) : queue_(queue) {
        for (std::size_t i = 0; i < size; ++i)
            threads_.emplace_back(
                [this] { queue_.wait({}, [](SpaceMask) { return SpaceMask{0}; }); });
        while (queue_.waiting() != size)
            std::this_thread::yield();
    }

    ~Crowd() {
        queue_.shut_down();
        for (std::thread& thread : threads_)
            thread.join();
    }

  private:
    WaitQueue& queue_;
    std::vector<std::thread> threads_;
};

double seconds(Clock::duration duration) {
    return std::chrono::duration<double>(duration).count();
}

// Long enough for a thread that is in the queue to be asleep in the kernel.
void let_it_sleep() {
    const Clock::time_point until = Clock::now() + std::chrono::microseconds(300);
    while (Clock::now() < until)
        std::this_thread::yield();
}

// One thread waits again and again; argument: how many others wait for ever before it.
void wake(benchmark::State& state) {
    WaitQueue queue({.bypass_limit = ~0U});
    const auto crowd = std::make_unique<Crowd>(queue, static_cast<std::size_t>(state.range(0)));
    const std::size_t others = queue.waiting();
    std::atomic<int> room = 0;
    std::atomic<bool> stop = false;
    std::atomic<Clock::rep> woken = 0;
    std::thread waiter([&] {
        while (!stop) {
            const auto take = [&](SpaceMask) { return room.exchange(0) != 0 ? kSpace : 0; };
            if (queue.wait({.spaces = kSpace}, take).end == WaitEnd::granted)
                woken.store(Clock::now().time_since_epoch().count());
        }
    });
    std::vector<double> delays;
    for (auto _ : state) {
        while (queue.waiting() != others + 1)
            std::this_thread::yield();
        let_it_sleep();
        woken = 0;
        const Clock::time_point begin = Clock::now();
        room = 1;
        queue.notify(kSpace);
        Clock::rep end = 0;
        while ((end = woken.load()) == 0)
            std::this_thread::yield();
        const double delay = seconds(Clock::time_point(Clock::duration(end)) - begin);
        state.SetIterationTime(delay);
        delays.push_back(delay);
    }
    stop = true;
    queue.shut_down();
    waiter.join();
    std::sort(delays.begin(), delays.end());
    const auto at = [&](double part) {
        return delays[static_cast<std::size_t>(part * static_cast<double>(delays.size() - 1))] *
               1e6;
    };
    state.counters["p50_us"] = at(0.5);
    state.counters["p99_us"] = at(0.99);
    state.counters["max_us"] = at(1);
}

BENCHMARK(wake)->Arg(0)->Arg(16)->Arg(64)->Iterations(2000)->UseManualTime()->Unit(
    benchmark::kMicrosecond);

void notify_nobody(benchmark::State& state) {
    WaitQueue queue;
    for (auto _ : state)
        queue.notify(kSpace);
}

BENCHMARK(notify_nobody)->ThreadRange(1, 1);

// A round in which nobody fits; argument: how many wait.
void round_in_vain(benchmark::State& state) {
    FairOrder<std::size_t> order;
    for (std::size_t id = 0; id < static_cast<std::size_t>(state.range(0)); ++id)
        order.push(id, 0, kSpace);
    for (auto _ : state)
        benchmark::DoNotOptimize(order.try_each([](std::size_t id, SpaceMask) {
            benchmark::DoNotOptimize(id);
            return SpaceMask{0};
        }));
    state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * state.range(0));
}

BENCHMARK(round_in_vain)->Arg(1)->Arg(100)->Arg(10'000);

std::unique_ptr<SpaceSet> one_space() {
    MachineSpec machine{"bench", {{.id = {Tier::gpu, 0}, .capacity = 1_GiB}}, {}, {}};
    return std::move(*SpaceSet::make(machine));
}

void reserve_and_release(benchmark::State& state) {
    const auto spaces = one_space();
    MemorySpace& space = spaces->at(0);
    for (auto _ : state)
        benchmark::DoNotOptimize(space.try_reserve(1_MiB));
}

BENCHMARK(reserve_and_release);

// Candidates found anew each time, and the queue asked.
void request_and_release(benchmark::State& state) {
    const auto spaces = one_space();
    const MemoryRequest wish{specific({Tier::gpu, 0}), 1_MiB};
    for (auto _ : state)
        benchmark::DoNotOptimize(request(*spaces, wish));
}

BENCHMARK(request_and_release);

}  // namespace

BENCHMARK_MAIN();
