// SharedAllocator with caches: what they keep, what they never keep, and that they cost no memory.
#include <map>
#include <thread>

#include <catch2/catch.hpp>

#include "backends/wrap/checked.h"
#include "core/allocator/spec.h"
#include "core/base/random.h"
#include "core/concurrent/shared_allocator.h"
#include "tests/support/policy.h"

using namespace tidemark;
using support::make_policy;
using support::small_device;

namespace {

constexpr StreamId kMine{1};

struct CachingShell {
    explicit CachingShell(std::string_view policy = "best-fit", Bytes capacity = 256_MiB,
                          ThreadCaches caches = {.budget = 16_MiB})
        : device(small_device(capacity)), shared(make_policy(policy, device), device, {}, caches) {}

    Address take(Bytes size, StreamId stream = kMine) {
        const auto range = shared.allocate({.size = size, .stream = stream});
        REQUIRE(range);
        return range->begin;
    }

    SimDevice device;
    SharedAllocator shared;
};

}  // namespace

TEST_CASE("what is freed comes back without the policy", "[concurrent]") {
    CachingShell shell;
    const Address a = shell.take(1000);
    REQUIRE(shell.shared.free(a, kMine));
    CHECK(shell.shared.status().cached >= 1000);
    CHECK(shell.shared.status().usage.allocated == 0);
    CHECK(shell.shared.status().usage.active == 0);

    CHECK(shell.take(1010) == a);  // both are rounded to 1,024

    const SharedStatus status = shell.shared.status();
    CHECK(status.hits == 1);
    CHECK(status.granted == 2);
    CHECK(status.requested == 1010);
    CHECK(status.cached == 0);
    CHECK(shell.shared.range_of(a)->requested == 1010);
    CHECK(shell.shared.range_of(a)->number == 1);
}

TEST_CASE("an address in a cache is a freed one", "[concurrent]") {
    CachingShell shell;
    const Address a = shell.take(1_MiB);
    REQUIRE(shell.shared.free(a));

    CHECK(shell.shared.free(a).error() == BadAddress::freed_already);
    CHECK(shell.shared.free(a + 512).error() == BadAddress::unknown);
    CHECK(shell.shared.record_use(a, StreamId{2}).error() == BadAddress::freed_already);
    CHECK_FALSE(shell.shared.range_of(a));
    CHECK_FALSE(shell.shared.range_of(a + 512));
    CHECK(shell.shared.live().empty());
}

TEST_CASE("nothing is cached that another stream may be at work with, or a pool owns",
          "[concurrent]") {
    CachingShell shell("torch");
    const Address used = shell.take(1_MiB);
    REQUIRE(shell.shared.record_use(used, StreamId{2}));
    REQUIRE(shell.shared.free(used));
    CHECK(shell.shared.status().cached == 0);

    REQUIRE(shell.shared.free(shell.take(1_MiB), StreamId{2}));
    CHECK(shell.shared.status().cached == 0);

    const auto pooled = shell.shared.allocate({.size = 1_MiB, .pool = PoolId{1}});
    REQUIRE(pooled);
    REQUIRE(shell.shared.free(pooled->begin));
    CHECK(shell.shared.status().cached == 0);

    REQUIRE(shell.shared.free(shell.take(4_MiB + 1)));
    CHECK(shell.shared.status().cached == 0);  // above a quarter of the budget
}

TEST_CASE("a request on another stream does not get a cached block", "[concurrent]") {
    CachingShell shell;
    const Address a = shell.take(1_MiB, StreamId{1});
    REQUIRE(shell.shared.free(a));

    CHECK(shell.take(1_MiB, StreamId{2}) != a);
    CHECK(shell.take(1_MiB, StreamId{1}) == a);
}

TEST_CASE("no request is refused, and no memory taken, for what caches hold", "[concurrent]") {
    for (const char* policy : {"torch", "best-fit", "extent", "vpmm"}) {
        INFO(policy);
        CachingShell shell(policy, 16_MiB);
        for (int round = 0; round < 3; ++round) {
            std::vector<Address> small;
            for (int i = 0; i < 8; ++i)
                small.push_back(shell.take(1_MiB));
            for (const Address each : small)
                REQUIRE(shell.shared.free(each));
            REQUIRE(shell.shared.status().cached >= 4_MiB);

            const auto large = shell.shared.allocate({.size = 14_MiB, .stream = kMine});
            REQUIRE(large);
            CHECK(shell.shared.status().cached == 0);
            REQUIRE(shell.shared.free(large->begin));
        }
        CHECK(shell.shared.status().refused == 0);
    }
}

TEST_CASE("a trim and the end give back what caches hold", "[concurrent]") {
    for (const PolicyInfo& policy : support::general_policies()) {
        INFO(policy.name);
        CachingShell shell(policy.name, 2_GiB);
        const Bytes before = shell.device.memory().free;
        REQUIRE(shell.shared.free(shell.take(3_MiB)));
        REQUIRE(shell.shared.free(shell.take(100)));

        shell.shared.trim(TrimLevel::all);
        CHECK(shell.shared.status().cached == 0);
        REQUIRE(shell.shared.free(shell.take(100)));
        const Address left = shell.take(5000);
        const std::vector<LiveAllocation> leaked = shell.shared.close();
        REQUIRE(leaked.size() == 1);
        CHECK(leaked[0].address == left);
        CHECK(shell.shared.status().usage.allocated >= 5000);

        CachingShell clean(policy.name, 2_GiB);
        REQUIRE(clean.shared.free(clean.take(100)));
        CHECK(clean.shared.close().empty());
        CHECK(clean.device.memory().free == before);
    }
}

TEST_CASE("a limit is kept exactly, with caches too", "[concurrent]") {
    CachingShell shell;
    shell.shared.set_limit(10_MiB);
    const Address a = shell.take(3_MiB);
    const Address b = shell.take(3_MiB);
    CHECK(shell.shared.allocate({.size = 5_MiB}).error().cause == OutOfMemory::Cause::limit);
    REQUIRE(shell.shared.free(a));
    REQUIRE(shell.shared.free(b));
    CHECK(shell.take(3_MiB) == b);
    CHECK(shell.shared.status().hits == 1);
}

TEST_CASE("many sizes that never come again don't fill the caches", "[concurrent][one-thread]") {
    CachingShell shell("best-fit", 1_GiB, {.budget = 4_MiB});
    Random random(7);
    for (int i = 0; i < 20'000; ++i)
        REQUIRE(shell.shared.free(shell.take(1 + random.below(1_MiB))));
    CHECK(shell.shared.status().cached <= 4_MiB);
}

TEST_CASE("with caches off a policy decides as it does alone", "[concurrent][one-thread]") {
    for (const PolicyInfo& policy : support::general_policies()) {
        INFO(policy.name);
        SimDevice device(small_device(1_GiB));
        const std::unique_ptr<Allocator> alone = make_policy(policy.name, device);
        CachingShell shell(policy.name, 1_GiB, {});
        Random random(3);
        std::vector<std::pair<Allocation, Address>> held;
        for (int step = 0; step < 3000; ++step) {
            const StreamId stream{static_cast<std::uint32_t>(random.below(3))};
            if (random.below(3) != 0 || held.empty()) {
                const Request request{.size = 1 + random.below(Bytes{1} << random.below(24)),
                                      .stream = stream};
                const auto granted = alone->allocate(request);
                const auto range = shell.shared.allocate(request);
                REQUIRE(granted.has_value() == range.has_value());
                if (!granted)
                    continue;
                REQUIRE(granted->address == range->begin);
                held.emplace_back(*granted, range->begin);
            } else {
                const std::size_t index = random.below(held.size());
                alone->deallocate(held[index].first, stream);
                REQUIRE(shell.shared.free(held[index].second, stream));
                held.erase(held.begin() + static_cast<std::ptrdiff_t>(index));
            }
        }
        CHECK(alone->usage().reserved == shell.shared.status().usage.reserved);
        CHECK(alone->usage().allocated == shell.shared.status().usage.allocated);
    }
}

TEST_CASE("a new thread takes over what an ended one kept", "[concurrent]") {
    CachingShell shell;
    Address first = Address::null;
    std::thread([&] {
        first = shell.shared.allocate({.size = 4096})->begin;
        static_cast<void>(shell.shared.free(first));
    }).join();
    Address second = Address::null;
    std::thread([&] { second = shell.shared.allocate({.size = 4096})->begin; }).join();

    CHECK(second == first);
    CHECK(shell.shared.status().hits == 1);
}

TEST_CASE("a block goes back to the thread that it was granted to", "[concurrent]") {
    CachingShell shell;
    const Address mine = shell.take(4096);
    std::thread([&] { static_cast<void>(shell.shared.free(mine)); }).join();

    CHECK(shell.take(4096) == mine);
}
