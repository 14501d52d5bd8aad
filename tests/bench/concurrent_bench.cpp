// How many pairs of allocate and free a second a program gets through SharedAllocator, with one
// thread and with eight, against the policy alone (no lock, no addresses) and against a lock with
// std::unordered_map. Every request is a hit: the simulator is asked only while warming up.
#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <unordered_map>

#include <benchmark/benchmark.h>

#include "backends/sim/sim_device.h"
#include "core/allocator/spec.h"
#include "core/concurrent/shared_allocator.h"

namespace {

using namespace tidemark;

constexpr std::size_t kHeld = 32;  // live allocations of a thread
constexpr const char* kPolicies[] = {"torch", "best-fit"};

std::unique_ptr<Allocator> make(const char* policy, Device& device) {
    return std::move(*parse_policy(policy)->make(device));
}

Bytes size_of(std::size_t step) {
    return 512 + (step * 7919) % 64 * 1024;
}

// A device with the policy on it, behind `Front`.
template <class Front>
struct Setup {
    explicit Setup(const char* policy) : front(make(policy, device), device) {}

    SimDevice device{{.capacity = 8_GiB}};
    Front front;
};

// The policy as one thread may use it.
class Bare {
  public:
    using Held = Allocation;

    Bare(std::unique_ptr<Allocator> allocator, Device&) : allocator_(std::move(allocator)) {}

    Held take(const Request& request) { return *allocator_->allocate(request); }

    void give(const Held& held, StreamId stream) { allocator_->deallocate(held, stream); }

  private:
    std::unique_ptr<Allocator> allocator_;
};

// The simplest shell that frees by address.
class Plain {
  public:
    using Held = Address;

    Plain(std::unique_ptr<Allocator> allocator, Device&) : allocator_(std::move(allocator)) {}

    Held take(const Request& request) {
        const std::lock_guard lock(mutex_);
        const Allocation allocation = *allocator_->allocate(request);
        map_.emplace(to_integer(allocation.address), allocation);
        return allocation.address;
    }

    void give(Held held, StreamId stream) {
        const std::lock_guard lock(mutex_);
        const auto found = map_.find(to_integer(held));
        allocator_->deallocate(found->second, stream);
        map_.erase(found);
    }

  private:
    std::mutex mutex_;
    std::unique_ptr<Allocator> allocator_;
    std::unordered_map<std::uint64_t, Allocation> map_;
};

template <bool caches>
class Shared {
  public:
    using Held = Address;

    Shared(std::unique_ptr<Allocator> allocator, Device& device)
        : shared_(std::move(allocator), device, {},
                  caches ? ThreadCaches{32_MiB} : ThreadCaches{}) {}

    Held take(const Request& request) { return shared_.allocate(request)->begin; }

    void give(Held held, StreamId stream) {
        if (!shared_.free(held, stream))
            std::abort();
    }

  private:
    SharedAllocator shared_;
};

template <class Front>
void pairs(benchmark::State& state) {
    static std::unique_ptr<Setup<Front>> setup;
    if (state.thread_index() == 0)
        setup = std::make_unique<Setup<Front>>(kPolicies[state.range(0)]);
    const StreamId stream{static_cast<std::uint32_t>(state.thread_index()) + 1};
    typename Front::Held held[kHeld];
    std::size_t step = 0;
    for (auto _ : state) {  // all threads begin here together, when the setup is there
        const std::size_t index = step % kHeld;
        if (step >= kHeld)
            setup->front.give(held[index], stream);
        held[index] = setup->front.take({.size = size_of(step), .stream = stream});
        ++step;
    }
    state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()));
    state.SetLabel(kPolicies[state.range(0)]);
    for (std::size_t i = 0; i < std::min(step, kHeld); ++i)
        setup->front.give(held[i], stream);
}

BENCHMARK(pairs<Bare>)->DenseRange(0, 1)->Threads(1)->UseRealTime();
BENCHMARK(pairs<Plain>)->DenseRange(0, 1)->Threads(1)->Threads(8)->UseRealTime();
BENCHMARK(pairs<Shared<false>>)->DenseRange(0, 1)->Threads(1)->Threads(8)->UseRealTime();
BENCHMARK(pairs<Shared<true>>)->DenseRange(0, 1)->ThreadRange(1, 32)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
