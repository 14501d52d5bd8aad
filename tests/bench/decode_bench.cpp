// How fast a .tmk file is decoded into columns, on one core, against reading as many bytes as the
// decoder writes (the bound that memory sets). Run through scripts/bench.
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "traces/open.h"

namespace {

using namespace tidemark;

std::string trace_path() {
    const char* path = std::getenv("TIDEMARK_BENCH_TRACE");
    return path == nullptr ? std::string() : std::string(path);
}

// The trace that TIDEMARK_BENCH_TRACE names, opened once.
const Trace* bench_trace() {
    static const auto trace = open_trace(trace_path());
    return trace ? trace->get() : nullptr;
}

void decode(benchmark::State& state) {
    const Trace* trace = bench_trace();
    if (trace == nullptr) {
        state.SkipWithError("TIDEMARK_BENCH_TRACE does not name a trace");
        return;
    }
    std::uint64_t events = 0;
    for (auto _ : state) {
        const std::unique_ptr<TraceCursor> cursor = trace->cursor();
        while (true) {
            const auto batch = cursor->next();
            if (!batch || batch->count == 0)
                break;
            benchmark::DoNotOptimize(batch->kind);
            benchmark::ClobberMemory();
            events += batch->count;
        }
    }
    state.SetItemsProcessed(static_cast<std::int64_t>(events));
}

// Copies 28 bytes an event (kind, slot, time, size, stream...: what a replay reads) from memory.
void copy_columns(benchmark::State& state) {
    constexpr std::size_t kBytes = 64U << 20U;
    const std::vector<char> source(kBytes, 1);
    std::vector<char> target(1U << 18U);
    std::size_t at = 0;
    for (auto _ : state) {
        std::memcpy(target.data(), source.data() + at, target.size());
        benchmark::ClobberMemory();
        at = (at + target.size()) % kBytes;
    }
    state.SetItemsProcessed(static_cast<std::int64_t>(static_cast<std::size_t>(state.iterations()) *
                                                      target.size() / 28));
}

BENCHMARK(decode)->Unit(benchmark::kMillisecond)->MinTime(1.0);
BENCHMARK(copy_columns)->MinTime(0.3);

}  // namespace

BENCHMARK_MAIN();
