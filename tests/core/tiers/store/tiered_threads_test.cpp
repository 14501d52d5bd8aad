// A TieredStore under several threads, with its worker and without: every buffer keeps its bytes,
// everything is answered. Made for ThreadSanitizer.
#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "core/base/random.h"
#include "tests/support/tiered_fixture.h"

namespace tidemark {
namespace {

using namespace support;

// Buffers that all threads use. Their content is guarded by the store's accesses alone.
struct Shared {
    BufferRef buffer;
    std::uint64_t content = 0;
};

struct Tally {
    std::atomic<std::uint64_t> granted = 0;
    std::atomic<std::uint64_t> refused = 0;
    std::atomic<std::uint64_t> wrong = 0;
};

void use_one(TieredFixture& f, Shared& shared, Random& random, Tally& tally) {
    AccessSpec spec;
    spec.space = random.below(3) == 0 ? kHost : kGpu;
    const bool writes = random.below(3) == 0;
    spec.mode = writes ? AccessMode::write : AccessMode::read;
    spec.stream = StreamId{static_cast<std::uint32_t>(random.below(4))};
    const Result<Access> access = f.store->wait(f.store->acquire(shared.buffer, spec));
    if (!access) {
        ++tally.refused;
        return;
    }
    ++tally.granted;
    const std::span<std::byte> bytes = f.transfers.bytes(access->location());
    if (!has_content(bytes, shared.content))
        ++tally.wrong;
    if (writes) {
        shared.content = random.next();
        fill_content(bytes, shared.content);
    }
}

struct Walk {
    std::uint64_t seed = 0;
    int steps = 150;
};

void use(TieredFixture& f, std::vector<Shared>& all, const Walk& walk, Tally& tally) {
    Random random(walk.seed);
    for (int i = 0; i < walk.steps; ++i) {
        const std::uint64_t dice = random.below(10);
        Shared& shared = all[random.below(all.size())];
        if (dice < 7) {
            use_one(f, shared, random, tally);
        } else if (dice == 7) {
            (void)f.store->wait(f.store->free_bytes(kGpu, random.below(500)));
        } else if (dice == 8) {
            (void)f.store->prefetch(shared.buffer, kGpu, random.below(2) == 0);
        } else {
            BufferSpec spec;
            spec.size = 1 + random.below(200);
            spec.space = kGpu;
            const Result<BufferRef> made = f.store->wait(f.store->create(spec));
            if (made)
                tally.wrong += f.store->destroy(*made) ? 0 : 1;
        }
    }
}

void run_threads(bool worker, int steps = 150) {
    StoreOptions options;
    TieredFixture f({.gpu = 1000, .host = 1500, .spill_start = 0.9, .spill_stop = 0.6}, options,
                    "s3fifo");
    f.transfers.set_automatic(true);
    std::vector<Shared> all;
    for (std::uint64_t i = 0; i < 16; ++i)
        all.push_back({f.filled(100 + 10 * i, kHost, i), i});
    f.transfers.set_faults({.no_memory = 100, .allocation_fails = 300, .copy_fails = 100});
    if (worker)
        REQUIRE(f.store->start_worker());
    Tally tally;
    std::vector<std::thread> threads;
    for (std::uint64_t i = 0; i < 4; ++i)
        threads.emplace_back([&, i] { use(f, all, {i, steps}, tally); });
    for (std::thread& thread : threads)
        thread.join();
    f.store->close();
    CHECK(tally.wrong == 0);
    CHECK(tally.granted > 100);
    CHECK(f.transfers.blocks() == 0);
    for (const auto& space : f.spaces)
        CHECK(space->counters().used == 0);
}

TEST_CASE("threads that drive the store themselves lose nothing", "[tiers][spill][threads]") {
    run_threads(false);
}

TEST_CASE("threads with a worker lose nothing", "[tiers][spill][threads]") {
    run_threads(true);
}

TEST_CASE("threads lose nothing in a long run either", "[.long][tiers][spill]") {
    run_threads(false, 20'000);
    run_threads(true, 20'000);
}

}  // namespace
}  // namespace tidemark
