// What publishing costs the program's thread, how fast the recorder empties the rings, and how fast
// a follower makes a history of it. All at once, at a rate: live_attach_bench.
//
// `event` is the event alone: its rings are large enough that nobody has to empty them. Where there
// are more threads than processors, read the CPU column: what one piece of one thread took.
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <benchmark/benchmark.h>
#include <unistd.h>

#include "tests/bench/live_program.h"
#include "traces/live/programs.h"
#include "traces/live/publisher.h"
#include "viz/live/follower.h"

namespace {

using namespace tidemark;

constexpr std::uint32_t kSlots = 1U << 20U;
constexpr int kPiece = 100'000;  // events between two looks at the clock

// In a folder that main() removes.
std::string scratch(const char* name) {
    return (std::filesystem::temp_directory_path() /
            ("tidemark-live-bench-" + std::to_string(::getpid())) / name)
        .string();
}

std::unique_ptr<live::Publisher> start(bool records, const char* name = "bench") {
    auto publisher = live::Publisher::start({.name = name,
                                             .recording = scratch("a.tml"),
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

void event(benchmark::State& state) {
    static std::unique_ptr<live::Publisher> publisher;
    if (state.thread_index() == 0)
        publisher = start(false);
    for (auto _ : state)
        publish(publisher->observer(), kPiece);
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

// Threads that take turns, each with blocks of its own.
void publish_in_turns(live::Publisher& publisher, std::uint64_t threads, std::uint64_t events) {
    constexpr std::uint64_t kTurn = 100;
    std::vector<std::thread> running;
    std::atomic<std::uint64_t> turn = 0;
    for (std::uint64_t thread = 0; thread < threads; ++thread)
        running.emplace_back([&, thread] {
            bench::LiveProgram program(publisher.observer(), thread);
            for (std::uint64_t mine = thread; mine < events / kTurn; mine += threads) {
                for (std::uint64_t now = turn; now != mine; now = turn)
                    turn.wait(now);
                program.work(kTurn);
                if (mine % 1000 == 0)
                    publisher.empty_rings();
                turn = mine + 1;
                turn.notify_all();
            }
        });
    for (std::thread& thread : running)
        thread.join();
    publisher.empty_rings();
}

// The follower's: reading and making a history, of what so many threads published.
void follow(benchmark::State& state) {
    ::setenv("TIDEMARK_RUNTIME_DIR", scratch("run").c_str(), 1);
    const auto publisher = start(false);
    constexpr std::uint64_t kEvents = 5'000'000;
    publish_in_turns(*publisher, static_cast<std::uint64_t>(state.range(0)), kEvents);
    for (auto _ : state) {
        const auto follower = viz::Follower::start(live::find_program("bench").value());
        if (!follower)
            std::abort();
        (*follower)->wait();
        viz::ViewedRun run = (*follower)->new_run();
        (*follower)->poll(run);
        if (run.history->counts().events < kEvents)
            std::abort();
    }
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kEvents));
}

BENCHMARK(event)->Threads(1)->Threads(4)->Iterations(8)->Repetitions(5)->UseRealTime();
BENCHMARK(locked)->Arg(0)->Arg(1)->Threads(1)->Threads(4)->UseRealTime();
BENCHMARK(drain)->UseRealTime();
BENCHMARK(follow)->Arg(1)->Arg(4)->MeasureProcessCPUTime()->Unit(benchmark::kMillisecond);

}  // namespace

int main(int argc, char** argv) {
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv))
        return 1;
    std::filesystem::create_directories(scratch(""));
    benchmark::RunSpecifiedBenchmarks();
    std::filesystem::remove_all(scratch(""));
    return 0;
}
