// What publishing costs the program's thread, how fast the recorder empties the rings, and how fast
// a follower makes a history of it.
//
// The rings are large here and are emptied between the measured pieces, so that the first figures
// are those of the event alone; `while recording` has the recorder's thread beside it.
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <string>

#include <benchmark/benchmark.h>
#include <unistd.h>

#include "traces/live/publisher.h"
#include "viz/live/attach.h"

namespace {

using namespace tidemark;

constexpr std::uint32_t kSlots = 1U << 20U;
constexpr int kPiece = 100'000;  // events between two looks at the clock

std::string scratch(const char* name) {
    return (std::filesystem::temp_directory_path() /
            (std::string("tidemark-live-bench-") + std::to_string(::getpid()) + name))
        .string();
}

std::unique_ptr<live::Publisher> start(bool records, const char* name = "bench") {
    auto publisher = live::Publisher::start({.name = name,
                                             .recording = scratch(".tml"),
                                             .history_limit = 2_GiB,
                                             .ring_slots = kSlots,
                                             .runtime_folder = "",
                                             .records = records});
    if (!publisher)
        std::abort();
    return std::move(*publisher);
}

void publish(MemoryObserver& observer, int events) {
    for (int i = 0; i < events; i += 2) {
        const Allocation block{.address = Address{0x1000U + static_cast<std::uint64_t>(i)},
                               .size = 512};
        observer.on_allocate({.size = 500}, block);
        observer.on_deallocate(block, StreamId{});
    }
}

// The event alone: the ring is emptied outside of the measured time.
void event(benchmark::State& state) {
    static std::unique_ptr<live::Publisher> publisher;
    if (state.thread_index() == 0)
        publisher = start(false);
    for (auto _ : state) {
        publish(publisher->observer(), kPiece);
        state.PauseTiming();
        if (state.thread_index() == 0)
            publisher->empty_rings();
        state.ResumeTiming();
    }
    state.SetItemsProcessed(state.iterations() * kPiece);
    if (state.thread_index() == 0) {
        state.counters["dropped"] = static_cast<double>(publisher->counts().dropped);
        publisher.reset();
    }
}

// Threads behind one lock, as allocators are, with and without the publisher's part.
void locked(benchmark::State& state) {
    static std::unique_ptr<live::Publisher> publisher;
    static std::mutex lock;
    const bool publishes = state.range(0) != 0;
    if (state.thread_index() == 0)
        publisher = start(true);
    for (auto _ : state) {
        for (int i = 0; i < 1000; ++i) {
            const std::lock_guard guard(lock);
            if (publishes)
                publish(publisher->observer(), 2);
            else
                benchmark::ClobberMemory();
        }
    }
    state.SetItemsProcessed(state.iterations() * 2000);
    if (state.thread_index() == 0) {
        state.counters["dropped"] = static_cast<double>(publisher->counts().dropped);
        publisher.reset();
    }
}

// The recorder's work for an event: merging, writing, keeping what lives.
void drain(benchmark::State& state) {
    const auto publisher = start(false);
    for (auto _ : state) {
        state.PauseTiming();
        publish(publisher->observer(), kPiece);
        state.ResumeTiming();
        publisher->empty_rings();
    }
    state.SetItemsProcessed(state.iterations() * kPiece);
}

// The follower's: reading and making a history.
void follow(benchmark::State& state) {
    ::setenv("TIDEMARK_RUNTIME_DIR", scratch("-run").c_str(), 1);
    const auto publisher = start(false);
    for (int i = 0; i < 50; ++i) {
        publish(publisher->observer(), kPiece);
        publisher->empty_rings();
    }
    for (auto _ : state) {
        const auto follower = viz::attach("bench");
        if (!follower)
            std::abort();
        (*follower)->wait();
        viz::ViewedRun run = (*follower)->new_run();
        (*follower)->poll(run);
        if (run.history->counts().events != 50U * kPiece)
            std::abort();
    }
    state.SetItemsProcessed(state.iterations() * 50 * kPiece);
}

BENCHMARK(event)->Threads(1)->Threads(4)->UseRealTime();
BENCHMARK(locked)->Arg(0)->Arg(1)->Threads(1)->Threads(4)->UseRealTime();
BENCHMARK(drain)->UseRealTime();
BENCHMARK(follow)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
