// Counting, freezing and guarding.
#include "core/capture/tracking_allocator.h"

#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "backends/sim/sim_device.h"
#include "tests/support/policy.h"

namespace tidemark {
namespace {

struct TrackedBench {
    SimDevice device{{.capacity = 64_MiB}};
    std::unique_ptr<Allocator> inner = support::make_policy("best-fit:segment=2MiB", device);
    TrackingAllocator allocator{*inner};
};

TEST_CASE("a tracker counts what was asked for, and its peak outlives frees") {
    TrackedBench bench;
    CHECK(bench.allocator.tracker().counts() == AllocationTracker::Counts{});
    const Allocation first = support::must_allocate(bench.allocator, 1024);
    const Allocation second = support::must_allocate(bench.allocator, 2048);
    CHECK(bench.allocator.tracker().counts() ==
          AllocationTracker::Counts{2, 3072, 2, 3072, 3072, false});
    bench.allocator.deallocate(first, {});
    bench.allocator.deallocate(second, {});
    CHECK(bench.allocator.tracker().counts() ==
          AllocationTracker::Counts{2, 3072, 0, 0, 3072, false});
    CHECK(bench.allocator.usage().allocated == 0);
}

TEST_CASE("nothing may be asked for while it is frozen") {
    TrackedBench bench;
    AllocationTracker tracker = bench.allocator.tracker();
    const Allocation before = support::must_allocate(bench.allocator, 1024);
    tracker.freeze();
    const OutOfMemory why = support::must_refuse(bench.allocator, 1);
    CHECK(why.cause == OutOfMemory::Cause::device_error);
    CHECK(why.status == DeviceStatus::not_permitted);
    bench.allocator.deallocate(before, {});
    CHECK(tracker.counts().live == 0);
    tracker.unfreeze();
    bench.allocator.deallocate(support::must_allocate(bench.allocator, 1), {});
}

TEST_CASE("a reset needs that nothing is alive, and leaves it frozen or not") {
    TrackedBench bench;
    AllocationTracker tracker = bench.allocator.tracker();
    const Allocation one = support::must_allocate(bench.allocator, 4096);
    const Result<void> busy = tracker.reset();
    REQUIRE_FALSE(busy);
    CHECK(busy.error().what == "1 allocations are alive");
    CHECK(tracker.counts().peak_bytes == 4096);
    bench.allocator.deallocate(one, {});
    tracker.freeze();
    REQUIRE(tracker.reset());
    CHECK(tracker.counts() == AllocationTracker::Counts{.frozen = true});
    tracker.unfreeze();
    bench.allocator.deallocate(support::must_allocate(bench.allocator, 512), {});
    CHECK(tracker.counts().peak_bytes == 512);
}

TEST_CASE("copies of a tracker are the same counts, on all threads") {
    AllocationTracker tracker;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([copy = tracker]() mutable {
            for (int n = 0; n < 1000; ++n) {
                copy.allocated(10);
                copy.deallocated(10);
            }
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    CHECK(tracker.counts().total_allocations == 4000);
    CHECK(tracker.counts().live == 0);
}

TEST_CASE("more frees than allocations count as none alive") {
    AllocationTracker tracker;
    tracker.allocated(10);
    tracker.deallocated(20);
    tracker.deallocated(1);
    CHECK(tracker.counts().live == 0);
    CHECK(tracker.counts().live_bytes == 0);
}

TEST_CASE("a guard lets its allocation go, unless it is released") {
    TrackedBench bench;
    const AllocationTracker& tracker = bench.allocator.tracker();
    {
        AllocationGuard guard(bench.allocator, support::must_allocate(bench.allocator, 100), {});
        AllocationGuard moved(std::move(guard));
        CHECK(tracker.counts().live == 1);
    }
    CHECK(tracker.counts().live == 0);
    Allocation kept;
    {
        AllocationGuard guard(bench.allocator, support::must_allocate(bench.allocator, 100), {});
        kept = guard.release();
    }
    CHECK(tracker.counts().live == 1);
    bench.allocator.deallocate(kept, {});
}

TEST_CASE("retiring through a tracker keeps both counts") {
    TrackedBench bench;
    Allocation one = support::must_allocate(bench.allocator, 1000);
    bench.allocator.retire(one);
    CHECK(bench.allocator.usage().allocated == 0);
    CHECK(bench.allocator.usage().active == one.size);
    bench.allocator.trim(TrimLevel::unused);
    CHECK(bench.allocator.usage().allocated == 0);
    bench.allocator.deallocate(one, {});
    CHECK(bench.allocator.usage().active == 0);
    CHECK(bench.inner->usage().allocated == 0);
}

}  // namespace
}  // namespace tidemark
