// What a pair of allocate and free costs a program, by threads: each has a stream of its own and
// frees by address.
//
// Usage: concurrent_bench [--gpu] [--torch LIBRARY] [Google Benchmark's options]
//
//   bare     the policy alone, without lock and addresses: one thread
//   lock     a lock and a std::unordered_map before the policy
//   shared   SharedAllocator without caches
//   cached   SharedAllocator with the caches of its device
//   library  the same through libtidemark.so
//   driver   cuMemAllocAsync and cuMemFreeAsync            (--gpu)
//   torch    PyTorch's own allocator, called from C++      (--torch: torch_pairs.cpp as a library)
//
// Patterns: one block of a size again and again; `window`: each request replaces the oldest of 32
// blocks of 64 sizes to 64 KiB; `burst`: 64 blocks of 512 B to 4 MiB are taken, then all are freed.
// Times begin when the memory is there: every request is a hit then. They are of all threads
// together: what a pair costs its thread is that times the number of threads.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>

#include <benchmark/benchmark.h>
#include <dlfcn.h>

#include "backends/cuda/cuda_device.h"
#include "backends/sim/sim_device.h"
#include "core/allocator/spec.h"
#include "core/base/random.h"
#include "core/concurrent/shared_allocator.h"
#include "replay/c_api/tidemark.h"

namespace {

using namespace tidemark;

// What a program asks of an allocator. Out of memory ends the benchmark.
class Front {
  public:
    virtual ~Front() = default;
    virtual Address take(Bytes size, StreamId stream) = 0;
    virtual void give(Address address, StreamId stream) = 0;
};

template <class T>
T must(T value) {
    if (!value)
        std::abort();
    return value;
}

using Policy = std::unique_ptr<Allocator>;

class Bare final : public Front {
  public:
    Bare(Policy policy, Device&) : policy_(std::move(policy)) {}

    // Addresses stand for allocations in a small table: cheaper than any map.
    Address take(Bytes size, StreamId stream) override {
        const auto granted = must(policy_->allocate({.size = size, .stream = stream}));
        held_[slot(granted->address)] = *granted;
        return granted->address;
    }

    void give(Address address, StreamId stream) override {
        policy_->deallocate(held_[slot(address)], stream);
    }

  private:
    static std::size_t slot(Address address) {
        return to_integer(address) * 0x9e3779b97f4a7c15U >> 44U;
    }

    Policy policy_;
    std::vector<Allocation> held_ = std::vector<Allocation>(1U << 20U);
};

class Locked final : public Front {
  public:
    Locked(Policy policy, Device&) : policy_(std::move(policy)) {}

    Address take(Bytes size, StreamId stream) override {
        const std::lock_guard lock(mutex_);
        const auto granted = must(policy_->allocate({.size = size, .stream = stream}));
        held_.emplace(to_integer(granted->address), *granted);
        return granted->address;
    }

    void give(Address address, StreamId stream) override {
        const std::lock_guard lock(mutex_);
        const auto found = held_.find(to_integer(address));
        policy_->deallocate(found->second, stream);
        held_.erase(found);
    }

  private:
    std::mutex mutex_;
    Policy policy_;
    std::unordered_map<std::uint64_t, Allocation> held_;
};

template <bool cached>
class Shell final : public Front {
  public:
    Shell(Policy policy, Device& device)
        : shared_(std::move(policy), device, {},
                  cached ? ThreadCaches::for_device(device) : ThreadCaches{}) {}

    Address take(Bytes size, StreamId stream) override {
        return must(shared_.allocate({.size = size, .stream = stream}))->begin;
    }

    void give(Address address, StreamId stream) override { must(shared_.free(address, stream)); }

  private:
    SharedAllocator shared_;
};

class Library final : public Front {
  public:
    Library(const char* policy, bool gpu) {
        TM_INIT(tm_context_options, options);
        options.machine = gpu ? "cuda:0" : "sim:h200";
        options.policy = policy;
        if (tm_context_open(&options, &context_) != TM_OK)
            std::abort();
    }

    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;

    ~Library() override { tm_context_close(context_, nullptr); }

    // Any handle is a stream here: nothing is queued on it.
    Address take(Bytes size, StreamId stream) override {
        tm_request request{};
        request.struct_size = sizeof(request);
        request.bytes = size;
        request.stream = 1000 + to_integer(stream);
        std::uint64_t address = 0;
        if (tm_alloc(context_, &request, &address, nullptr) != TM_OK)
            std::abort();
        return Address{address};
    }

    void give(Address address, StreamId stream) override {
        if (tm_free(context_, to_integer(address), 0, 1000 + to_integer(stream)) != TM_OK)
            std::abort();
    }

  private:
    tm_context* context_ = nullptr;
};

class Driver final : public Front {
  public:
    explicit Driver(CudaDevice& device) : device_(device) {
        for (std::uint32_t i = 0; i < streams_.size(); ++i)
            streams_[i] = reinterpret_cast<cuda::CUstream>(*must(device.native(StreamId{i})));
    }

    Address take(Bytes size, StreamId stream) override {
        cuda::CUdeviceptr address = 0;
        if (device_.driver().cuMemAllocAsync(&address, size, streams_[to_integer(stream)]) !=
            cuda::CUresult::success)
            std::abort();
        return Address{address};
    }

    void give(Address address, StreamId stream) override {
        device_.driver().cuMemFreeAsync(to_integer(address), streams_[to_integer(stream)]);
    }

  private:
    CudaDevice& device_;
    std::array<cuda::CUstream, 40> streams_{};
};

class Torch final : public Front {
  public:
    Torch(const std::string& library, CudaDevice& device) : device_(device) {
        void* const handle = must(dlopen(library.c_str(), RTLD_NOW));
        take_ = reinterpret_cast<Take*>(must(dlsym(handle, "torch_pairs_take")));
        give_ = reinterpret_cast<Give*>(must(dlsym(handle, "torch_pairs_give")));
        for (std::uint32_t i = 0; i < streams_.size(); ++i)
            streams_[i] = *must(device_.native(StreamId{i}));
    }

    Address take(Bytes size, StreamId stream) override {
        return Address{take_(size, streams_[to_integer(stream)])};
    }

    void give(Address address, StreamId) override { give_(to_integer(address)); }

  private:
    using Take = std::uint64_t(std::uint64_t size, std::uint64_t stream);
    using Give = void(std::uint64_t address);

    CudaDevice& device_;
    Take* take_ = nullptr;
    Give* give_ = nullptr;
    std::array<std::uint64_t, 40> streams_{};
};

struct Pattern {
    const char* name;
    std::size_t live;  // of a thread
    bool burst;
    Bytes sizes[64];
};

std::vector<Pattern> patterns() {
    std::vector<Pattern> all;
    for (const auto& [name, size] :
         {std::pair{"1KiB", 1_KiB}, {"64KiB", 64_KiB}, {"4MiB", 4_MiB}}) {
        all.push_back({name, 1, true, {}});
        std::fill_n(all.back().sizes, 64, size);
    }
    Random random(1);
    all.push_back({"window", 32, false, {}});
    for (Bytes& size : all.back().sizes)
        size = 512 + random.below(64) * 1024;
    all.push_back({"burst", 64, true, {}});
    for (Bytes& size : all.back().sizes)
        size = Bytes{512} << random.below(14);
    return all;
}

// A thread's way through a pattern.
class Walk {
  public:
    Walk(const Pattern& pattern, Front& front, StreamId stream)
        : pattern_(pattern), front_(front), stream_(stream) {}

    void step() {
        const std::size_t index = step_ % pattern_.live;
        if (!pattern_.burst && step_ >= pattern_.live)
            front_.give(held_[index], stream_);
        if (pattern_.burst && index == 0 && step_ != 0)
            give(pattern_.live);
        held_[index] = front_.take(pattern_.sizes[step_ % 64], stream_);
        ++step_;
    }

    void end() {
        give(pattern_.burst ? (step_ - 1) % pattern_.live + 1 : std::min(step_, pattern_.live));
    }

  private:
    void give(std::size_t count) {
        for (std::size_t i = 0; i < count; ++i)
            front_.give(held_[i], stream_);
    }

    const Pattern& pattern_;
    Front& front_;
    StreamId stream_;
    std::array<Address, 64> held_{};
    std::size_t step_ = 0;
};

std::unique_ptr<Front> g_front;
std::atomic<bool> g_made = false;

// Memory is taken from the device before the time begins.
void pairs(benchmark::State& state, const Pattern& pattern,
           const std::function<std::unique_ptr<Front>()>& make) {
    if (state.thread_index() == 0) {
        g_front = make();
        g_made = true;
    }
    while (!g_made)
        std::this_thread::yield();
    Walk walk(pattern, *g_front, StreamId{static_cast<std::uint32_t>(state.thread_index()) + 1});
    for (int i = 0; i < 1024; ++i)
        walk.step();
    for (auto _ : state)  // all threads begin here together, and end together
        walk.step();
    if (state.thread_index() == 0)
        g_made = false;
    walk.end();
    state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()));
}

void add(const std::string& name, bool threads, std::function<std::unique_ptr<Front>()> make) {
    static const std::vector<Pattern> all = patterns();
    for (const Pattern& pattern : all) {
        auto* const made = benchmark::RegisterBenchmark(
            (name + "/" + pattern.name).c_str(),
            [&pattern, make](benchmark::State& state) { pairs(state, pattern, make); });
        made->UseRealTime()->Threads(1);
        if (threads)
            made->Threads(2)->Threads(4)->Threads(8)->Threads(16)->Threads(32);
    }
}

template <class Made>
void add_policy(const char* name, const char* policy, bool threads, Device& device) {
    add(std::string(name) + " " + policy, threads, [policy, &device] {
        return std::make_unique<Made>(std::move(*parse_policy(policy)->make(device)), device);
    });
}

}  // namespace

int main(int count, char** arguments) {
    benchmark::Initialize(&count, arguments);
    bool gpu = false;
    std::string torch;
    for (int i = 1; i < count; ++i) {
        gpu = gpu || std::string_view(arguments[i]) == "--gpu";
        if (std::string_view(arguments[i]) == "--torch" && i + 1 < count)
            torch = arguments[++i];
    }
    std::unique_ptr<Device> device = std::make_unique<SimDevice>(SimConfig{.capacity = 140_GiB});
    CudaDevice* card = nullptr;
    if (gpu) {
        const auto driver = must(CudaDriver::open());
        auto opened = must(CudaDevice::open(*driver, {}));
        card = opened->get();
        device = std::move(*opened);
    }
    for (const char* policy : {"torch", "extent"}) {
        add_policy<Bare>("bare", policy, false, *device);
        add_policy<Locked>("lock", policy, true, *device);
        add_policy<Shell<false>>("shared", policy, true, *device);
        add_policy<Shell<true>>("cached", policy, true, *device);
    }
    for (const char* policy : {"torch", "extent"})
        add(std::string("library ") + policy, true,
            [policy, gpu] { return std::make_unique<Library>(policy, gpu); });
    if (card != nullptr)
        add("driver", true, [card] { return std::make_unique<Driver>(*card); });
    if (card != nullptr && !torch.empty())
        add("torch", true, [card, torch] { return std::make_unique<Torch>(torch, *card); });
    benchmark::RunSpecifiedBenchmarks();
    g_front.reset();
    return 0;
}
