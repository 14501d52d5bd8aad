// CachedAllocator: a policy behind the caches of threads, as replays see it.
#include "core/allocator/cached_allocator.h"

#include <catch2/catch.hpp>

#include "core/allocator/spec.h"
#include "core/base/random.h"
#include "core/concurrent/shared_allocator.h"
#include "tests/support/policy.h"

using namespace tidemark;
using support::make_policy;
using support::must_allocate;
using support::regions_of;
using support::small_device;

namespace {

constexpr ThreadCaches kCaches{.budget = 8_MiB, .threads = 1};

}  // namespace

TEST_CASE("a policy's text may ask for threads", "[allocator]") {
    const auto spec = parse_policy("torch:threads=8,max_split_size_mb=64,thread_cache=2MiB");
    REQUIRE(spec);
    CHECK(spec->text() == "torch:max_split_size_mb=64,threads=8,thread_cache=2MiB");
    CHECK(parse_policy(spec->text())->text() == spec->text());
    CHECK(parse_policy("bump:threads=0")->text() == "bump");
    CHECK_FALSE(parse_policy("torch:threads=1025"));
    CHECK_FALSE(parse_policy("torch:threads=2,threads=3"));
    CHECK_FALSE(parse_policy("torch:thread=2"));
}

TEST_CASE("what is cached is free for the program, and granted again in its turn", "[allocator]") {
    SimDevice device(small_device(64_MiB));
    const std::unique_ptr<Allocator> allocator =
        make_policy("torch:threads=2,thread_cache=8MiB", device);
    const Allocation first = must_allocate(*allocator, 1_MiB);
    allocator->deallocate(first, StreamId::default_stream);
    CHECK(allocator->usage().allocated == 0);
    CHECK(allocator->usage().active == 0);
    CHECK(regions_of(*allocator).front().state == Region::State::free);

    const Allocation second = must_allocate(*allocator, 1_MiB);  // the other thread's
    const Allocation third = must_allocate(*allocator, 1_MiB);
    CHECK(second.address != first.address);
    CHECK(third.address == first.address);
    CHECK(allocator->usage().allocated == 2_MiB);
    CHECK(allocator->usage().active == 2_MiB);
}

TEST_CASE("a retired allocation goes to the cache when the device is done", "[allocator]") {
    SimDevice device(small_device(64_MiB));
    const std::unique_ptr<Allocator> allocator =
        make_policy("torch:threads=1,thread_cache=8MiB", device);
    Allocation first = must_allocate(*allocator, 1_MiB);
    allocator->retire(first);
    CHECK(allocator->usage().allocated == 0);
    CHECK(allocator->usage().active == 1_MiB);
    const Allocation other = must_allocate(*allocator, 2_MiB);
    allocator->deallocate(first, StreamId::default_stream);
    CHECK(allocator->usage().allocated == 2_MiB);
    CHECK(allocator->usage().active == 2_MiB);

    CHECK(must_allocate(*allocator, 1_MiB).address == first.address);
    CHECK(allocator->usage().allocated == 3_MiB);
    allocator->deallocate(other, StreamId::default_stream);
    allocator->trim(TrimLevel::all);
    CHECK(allocator->usage().allocated == 1_MiB);
}

TEST_CASE("a clone goes on as the allocator does", "[allocator]") {
    SimDevice device(small_device(64_MiB));
    const std::unique_ptr<Allocator> allocator =
        make_policy("torch:threads=1,thread_cache=8MiB", device);
    const Allocation kept = must_allocate(*allocator, 1_MiB);
    allocator->deallocate(must_allocate(*allocator, 2_MiB), StreamId::default_stream);
    SimDevice other(small_device(64_MiB));
    const std::unique_ptr<Allocator> copy = allocator->clone(other);
    REQUIRE(copy);
    CHECK(copy->usage().allocated == 1_MiB);

    CHECK(must_allocate(*copy, 2_MiB).address == must_allocate(*allocator, 2_MiB).address);
    copy->deallocate(kept, StreamId::default_stream);
    CHECK(copy->usage().allocated == 2_MiB);
    CHECK(allocator->usage().allocated == 3_MiB);
}

TEST_CASE("a program of one thread gets the same addresses here and from the shell",
          "[allocator]") {
    for (const PolicyInfo& policy : support::general_policies()) {
        INFO(policy.name);
        SimDevice device(small_device(256_MiB));
        const std::unique_ptr<Allocator> simulated =
            std::make_unique<CachedAllocator>(make_policy(policy.name, device), kCaches, 1);
        SimDevice same(small_device(256_MiB));
        SharedAllocator shared(make_policy(policy.name, same), same, {}, kCaches);
        Random random(5);
        std::vector<Allocation> held;
        for (int step = 0; step < 5000; ++step) {
            const StreamId stream{static_cast<std::uint32_t>(random.below(2))};
            if (random.below(100) < 51 || held.empty()) {
                const Request request{.size = (1 + random.below(12)) << random.below(20),
                                      .stream = stream};
                const auto granted = simulated->allocate(request);
                const auto range = shared.allocate(request);
                REQUIRE(granted.has_value() == range.has_value());
                if (granted) {
                    REQUIRE(granted->address == range->begin);
                    held.push_back(*granted);
                }
                continue;
            }
            const std::size_t index = random.below(held.size());
            const Allocation& chosen = held[index];
            if (random.below(50) == 0) {
                simulated->record_use(chosen, StreamId{7});
                REQUIRE(shared.record_use(chosen.address, StreamId{7}));
            }
            simulated->deallocate(chosen, stream);
            REQUIRE(shared.free(chosen.address, stream));
            held.erase(held.begin() + static_cast<std::ptrdiff_t>(index));
        }
        CHECK(simulated->usage().reserved == shared.status().usage.reserved);
        CHECK(simulated->usage().allocated == shared.status().usage.allocated);
        CHECK(simulated->usage().active == shared.status().usage.active);
        CHECK(shared.status().hits > 50);
    }
}
