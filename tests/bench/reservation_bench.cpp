// What a reservation and an allocation out of one cost, alone and with 16 threads on one space,
// against the lock that any of them takes. Each takes it twice an iteration, as bare_lock does: the
// ratio to that with as many threads is what counts.
#include <memory>
#include <mutex>

#include <benchmark/benchmark.h>

#include "core/tiers/spaces/memory_space.h"
#include "core/tiers/spaces/reservation_bindings.h"

namespace {

using namespace tidemark;

SpaceSpec gpu() {
    return {.capacity = 64_GiB, .granularity = 512, .reservation_limit = 0.9};
}

// Two sections of two instructions each.
void bare_lock(benchmark::State& state) {
    static std::mutex mutex;
    static Bytes used = 0;
    for (auto _ : state) {
        {
            const std::lock_guard lock(mutex);
            benchmark::DoNotOptimize(used += 1024);
        }
        {
            const std::lock_guard lock(mutex);
            benchmark::DoNotOptimize(used -= 1024);
        }
    }
}

// One space for all threads of a run; the last one would destroy it while others begin, so it
// stays.
MemorySpace& shared_space() {
    static MemorySpace space(gpu());
    return space;
}

void reserve_release(benchmark::State& state) {
    MemorySpace& space = shared_space();
    for (auto _ : state) {
        auto reservation = space.try_reserve(1_MiB);
        benchmark::DoNotOptimize(reservation);
    }
}

void charge_uncharge_in_reservation(benchmark::State& state) {
    MemorySpace& space = shared_space();
    auto reservation = space.try_reserve(1_GiB);
    for (auto _ : state) {
        auto charge = reservation->charge(1_MiB);
        benchmark::DoNotOptimize(charge);
        space.uncharge(*charge);
    }
}

// Half of it goes beyond the reservation: to the space.
void charge_uncharge_beyond(benchmark::State& state) {
    MemorySpace& space = shared_space();
    auto reservation = space.try_reserve(512_KiB);
    for (auto _ : state) {
        auto charge = reservation->charge(1_MiB);
        benchmark::DoNotOptimize(charge);
        space.uncharge(*charge);
    }
}

// As above, and the reservation is looked up by its stream.
void charge_uncharge_bound(benchmark::State& state) {
    static ReservationBindings bindings(shared_space());
    const StreamId stream{static_cast<std::uint32_t>(state.thread_index()) + 1};
    auto scope = ReservationScope::open(bindings, stream_key(stream),
                                        std::move(*shared_space().try_reserve(1_GiB)));
    for (auto _ : state) {
        auto charge = bindings.charge_on(1_MiB, stream);
        benchmark::DoNotOptimize(charge);
        shared_space().uncharge(*charge);
    }
}

BENCHMARK(bare_lock)->Threads(1)->Threads(16)->UseRealTime();
BENCHMARK(reserve_release)->Threads(1)->Threads(16)->UseRealTime();
BENCHMARK(charge_uncharge_in_reservation)->Threads(1)->Threads(16)->UseRealTime();
BENCHMARK(charge_uncharge_beyond)->Threads(1)->Threads(16)->UseRealTime();
BENCHMARK(charge_uncharge_bound)->Threads(1)->Threads(16)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
