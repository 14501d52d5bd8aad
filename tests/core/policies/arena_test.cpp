// The arena policy: lists of exact sizes outside of private pools, arenas for those.
#include <map>
#include <set>
#include <vector>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "backends/sim/sim_device.h"
#include "backends/wrap/checked.h"
#include "backends/wrap/faulty.h"
#include "core/allocator/spec.h"
#include "tests/support/device.h"
#include "tests/support/policy.h"
#include "tests/support/program_run.h"
#include "tests/support/property.h"

namespace tidemark {
namespace {

using support::calls;
using support::kOther;
using support::kStream;
using support::make_policy;
using support::must_allocate;
using support::regions_of;

constexpr PoolId kPool{1};
constexpr PoolId kSecond{2};

Allocation take(Allocator& allocator, Bytes size, PoolId pool = kPool, StreamId stream = kStream) {
    const auto allocation = allocator.allocate({.size = size, .stream = stream, .pool = pool});
    REQUIRE(allocation);
    return *allocation;
}

TEST_CASE("arena: a buffer comes back for its exact size only, first in, first out") {
    SimDevice device({.capacity = 1_GiB});
    const auto allocator = make_policy("arena", device);
    const Allocation first = must_allocate(*allocator, 1000);
    const Allocation second = must_allocate(*allocator, 1000);
    allocator->deallocate(first, {});
    allocator->deallocate(second, {});
    CHECK(must_allocate(*allocator, 1001).address != first.address);
    CHECK(must_allocate(*allocator, 1000).address == first.address);
    CHECK(must_allocate(*allocator, 1000).address == second.address);
    CHECK(calls(device, DeviceCall::malloc_async) == 3);
    CHECK(calls(device, DeviceCall::set_pool_threshold) == 1);
}

TEST_CASE("arena: a list keeps 64 buffers, and the oldest goes to the driver") {
    SimDevice device({.capacity = 1_GiB});
    const auto allocator = make_policy("arena", device);
    std::vector<Allocation> all;
    for (int i = 0; i < 66; ++i)
        all.push_back(must_allocate(*allocator, 4096));
    for (int i = 0; i < 64; ++i)
        allocator->deallocate(all[static_cast<std::size_t>(i)], {});
    CHECK(calls(device, DeviceCall::free_async) == 0);
    allocator->deallocate(all[64], {});
    CHECK(calls(device, DeviceCall::free_async) == 1);
    CHECK(must_allocate(*allocator, 4096).address == all[1].address);
    allocator->deallocate(all[65], {});
    CHECK(calls(device, DeviceCall::free_async) == 1);
}

TEST_CASE("arena: over the cap the oldest of the largest size goes first") {
    SimDevice device({.capacity = 1_GiB});
    const auto allocator = make_policy("arena:free_list_cap_mb=4", device);
    const Allocation small = must_allocate(*allocator, 1_MiB);
    const Allocation old = must_allocate(*allocator, 2_MiB);
    const Allocation young = must_allocate(*allocator, 2_MiB);
    allocator->deallocate(old, {});
    allocator->deallocate(young, {});
    CHECK(calls(device, DeviceCall::free_async) == 0);
    allocator->deallocate(small, {});
    CHECK(calls(device, DeviceCall::free_async) == 1);
    CHECK(must_allocate(*allocator, 2_MiB).address == young.address);
    CHECK(must_allocate(*allocator, 1_MiB).address == small.address);
}

TEST_CASE("arena: a miss on a full device drains, waits, trims and asks once more") {
    SimDevice device({.capacity = 64_MiB});
    const auto allocator = make_policy("arena", device);
    allocator->deallocate(must_allocate(*allocator, 20_MiB), {});
    allocator->deallocate(must_allocate(*allocator, 21_MiB), {});
    CHECK(allocator->usage().reserved == 64_MiB);
    must_allocate(*allocator, 40_MiB);
    CHECK(allocator->stats().retries == 1);
    CHECK(calls(device, DeviceCall::free_async) == 2);
    CHECK(calls(device, DeviceCall::synchronize) == 1);
    CHECK(calls(device, DeviceCall::trim_pool) == 1);
    CHECK_FALSE(allocator->allocate({.size = 40_MiB}));
}

TEST_CASE("arena: numr's environment variables can be pasted") {
    SimDevice device({.capacity = 1_GiB});
    const auto cap = parse_policy("NUMR_CUDA_FREE_LIST_CAP_MB=7");
    REQUIRE(cap);
    CHECK(cap->text() == "arena:free_list_cap_mb=7");
    const auto threshold = parse_policy("export NUMR_CUDA_POOL_RELEASE_THRESHOLD_MB='64'");
    REQUIRE(threshold);
    CHECK(threshold->text() == "arena:pool_release_threshold_mb=64");
}

TEST_CASE("arena: what other streams used is ordered before anybody else gets it") {
    SimDevice device({.capacity = 1_GiB});
    const auto allocator = make_policy("arena", device);
    const Allocation used = must_allocate(*allocator, 1_MiB, kStream);
    allocator->record_use(used, kOther);
    allocator->deallocate(used, kStream);
    CHECK(must_allocate(*allocator, 1_MiB, kStream).address == used.address);
    CHECK(calls(device, DeviceCall::wait) == 1);
    CHECK(must_allocate(*allocator, 1_MiB, kOther).address != used.address);
}

TEST_CASE("arena: a bumped private pool hands out every address once") {
    SimDevice device({.capacity = 1_GiB});
    const auto allocator = make_policy("arena", device);
    std::set<Address> seen;
    for (int i = 0; i < 100; ++i) {
        const Allocation one = take(*allocator, 100'000);
        CHECK(seen.insert(one.address).second);
        allocator->deallocate(one, kStream);
    }
    CHECK(allocator->usage().reserved == 10_MiB);
    CHECK(allocator->stats().private_reserved == 10_MiB);
    CHECK(allocator->usage().allocated == 0);
    CHECK(allocator->stats().plan_deviations == 0);
}

TEST_CASE("arena: a private pool grows in place") {
    SimDevice device({.capacity = 1_GiB});
    const auto allocator = make_policy("arena", device);
    const Allocation first = take(*allocator, 1_MiB);
    const Allocation second = take(*allocator, 100_MiB);
    CHECK(second.address == first.address + 1_MiB);
    CHECK(calls(device, DeviceCall::reserve) == 1);
}

TEST_CASE("arena: of a fixed size it refuses what does not fit, and takes no arena in vain") {
    SimDevice device({.capacity = 64_MiB});
    const auto allocator = make_policy("arena:arena=4MiB", device);
    const auto refused = allocator->allocate({.size = 5_MiB, .pool = kPool});
    REQUIRE_FALSE(refused);
    CHECK(refused.error().cause == OutOfMemory::Cause::limit);
    CHECK(allocator->usage().reserved == 0);
    take(*allocator, 3_MiB);
    CHECK(allocator->usage().reserved == 4_MiB);
    const auto full = allocator->allocate({.size = 2_MiB, .pool = kPool});
    REQUIRE_FALSE(full);
    CHECK(full.error().cause == OutOfMemory::Cause::limit);
}

TEST_CASE("arena: a planned private pool reuses bytes as planned, and not otherwise") {
    SimDevice device({.capacity = 1_GiB});
    const auto allocator = make_policy("arena:mode=planned", device);
    const PlannedAllocation expected[] = {
        {.size = 3_MiB, .begin = 0, .end = 1, .stream = kStream},
        {.size = 2_MiB, .begin = 2, .end = 4, .stream = kStream},
        {.size = 1_MiB, .begin = 3, .end = 9, .stream = kStream, .escapes = true}};
    allocator->plan_pool(kPool, expected);
    const Allocation first = take(*allocator, 3_MiB);
    allocator->deallocate(first, kStream);
    const Allocation second = take(*allocator, 2_MiB);
    const Allocation third = take(*allocator, 1_MiB);
    CHECK(second.address == first.address);
    CHECK(allocator->usage().reserved == 4_MiB);
    CHECK(allocator->stats().plan_deviations == 0);
    const Allocation extra = take(*allocator, 1_MiB);
    CHECK(allocator->stats().plan_deviations == 1);
    CHECK(extra.address >= third.address + 3_MiB);
}

TEST_CASE("arena: a pool that is closed and empty goes back at the next trim, and only then") {
    SimDevice device({.capacity = 1_GiB});
    const auto allocator = make_policy("arena", device);
    allocator->begin_pool(kPool, {});
    const Allocation one = take(*allocator, 1_MiB);
    allocator->end_pool(kPool);
    allocator->trim(TrimLevel::all);
    CHECK(allocator->usage().reserved == 2_MiB);
    allocator->close_pool(kPool);
    allocator->trim(TrimLevel::all);
    CHECK(allocator->usage().reserved == 2_MiB);
    allocator->deallocate(one, kStream);
    CHECK(allocator->usage().reserved == 2_MiB);
    allocator->trim_pool(kPool);
    CHECK(allocator->usage().reserved == 0);
    CHECK(allocator->stats().private_reserved == 0);
    CHECK(allocator->stats().private_reserved_peak == 2_MiB);
    take(*allocator, 1_MiB);
    CHECK(allocator->usage().reserved == 2_MiB);
}

TEST_CASE("arena: pools that run in sequence share bytes, but for what lives") {
    SimDevice device({.capacity = 1_GiB});
    const auto allocator = make_policy("arena:share=sequence", device);
    const Allocation kept = take(*allocator, 2_MiB, kPool);
    const Allocation dropped = take(*allocator, 6_MiB, kPool);
    allocator->deallocate(dropped, kStream);
    const Allocation other = take(*allocator, 6_MiB, kSecond);
    CHECK(other.address == kept.address + 2_MiB);
    CHECK(allocator->usage().reserved == 8_MiB);
    const Allocation more = take(*allocator, 2_MiB, kPool);
    CHECK(more.address == kept.address + 8_MiB);
    const Allocation again = take(*allocator, 1_MiB, kSecond);
    CHECK(again.address == kept.address + 10_MiB);

    const auto apart = make_policy("arena", device);
    take(*apart, 2_MiB, kPool);
    take(*apart, 2_MiB, kSecond);
    CHECK(apart->usage().reserved == 4_MiB);
}

TEST_CASE("arena: what it holds goes back with it, also of pools that nobody closed") {
    SimDevice device({.capacity = 1_GiB});
    {
        const auto allocator = make_policy("arena", device);
        allocator->deallocate(take(*allocator, 1_MiB), kStream);
        CHECK(device.memory().free == 1_GiB - 2_MiB);
    }
    CHECK(device.memory().free == 1_GiB);
}

// Random programs with several private pools, planned from themselves and from other programs.
support::Program with_pools(support::Program program) {
    for (std::size_t i = 0; i < program.size(); ++i) {
        if (program[i].which % 3 != 0)
            program[i].pool = PoolId{1 + program[i].which % 2};
        if (program[i].size > 8_MiB && program[i].size < 1_GiB)
            program[i].size /= 8;
    }
    return program;
}

// What a program would ask its pools for, if everything were granted.
std::map<PoolId, std::vector<PlannedAllocation>> plans_of(const support::Program& program) {
    using Kind = support::Step::Kind;

    struct Live {
        PoolId pool;
        std::size_t request;
    };

    std::map<PoolId, std::vector<PlannedAllocation>> plans;
    std::vector<Live> live;
    std::uint32_t position = 0;
    for (const support::Step& step : program) {
        if (step.kind == Kind::allocate && step.size < 1_GiB) {
            auto& requests = plans[step.pool];
            live.push_back({step.pool, requests.size()});
            requests.push_back({.size = step.size,
                                .begin = position++,
                                .end = 0xffffffffU,
                                .stream = step.stream,
                                .escapes = true,
                                .alignment = step.alignment});
        } else if (!live.empty() && (step.kind == Kind::deallocate || step.kind == Kind::retire)) {
            const std::size_t index = step.which % live.size();
            PlannedAllocation& one = plans[live[index].pool][live[index].request];
            one.end = position++;
            one.escapes = false;
            live.erase(live.begin() + static_cast<std::ptrdiff_t>(index));
        }
    }
    plans.erase(PoolId::default_pool);
    return plans;
}

TEST_CASE("arena: private pools keep every promise, planned rightly or wrongly, shared or not",
          "[property]") {
    const char* const kPolicies[] = {"arena:mode=planned", "arena:mode=planned,share=sequence",
                                     "arena:mode=planned,escapes=after", "arena:share=sequence"};
    for (const char* policy : kPolicies) {
        INFO(policy);
        const std::string failure = support::counterexample(support::effort(100), [&] {
            const support::Program program = with_pools(*support::programs(2.0));
            const bool as_planned = *rc::gen::arbitrary<bool>();
            const support::Program other =
                as_planned ? program : with_pools(*support::programs(2.0));
            support::ProgramRun run(
                {.policy = policy, .device = support::small_device(256_MiB), .faults = {}});
            for (const auto& [pool, expected] : plans_of(other))
                run.allocator().plan_pool(pool, expected);
            std::string complaint = run.run(program);
            if (complaint.empty())
                complaint = run.finish();
            if (!complaint.empty())
                RC_FAIL(complaint);
        });
        INFO(failure);
        CHECK(failure.empty());
    }
}

TEST_CASE("arena: closing pools survives a failure of the device at every call", "[faults]") {
    for (std::uint64_t nth = 1;; ++nth) {
        CAPTURE(nth);
        SimDevice sim({.capacity = 64_MiB});
        FaultyDevice device(sim, {.nth = nth, .status = DeviceStatus::fault});
        auto allocator = make_policy("arena:share=sequence", device);
        std::vector<Allocation> live;
        for (const PoolId pool : {kPool, kSecond, kPool}) {
            const auto one = allocator->allocate({.size = 3_MiB, .stream = kStream, .pool = pool});
            if (one)
                live.push_back(*one);
        }
        for (const Allocation& one : live)
            allocator->deallocate(one, kStream);
        allocator->close_pool(kPool);
        allocator->close_pool(kSecond);
        allocator->trim(TrimLevel::all);
        const bool struck = device.failures() != 0;
        CHECK(allocator->usage().reserved == sim.memory().total - sim.memory().free);
        device.set_plan({});
        allocator->trim(TrimLevel::all);
        CHECK(allocator->usage().reserved == 0);
        CHECK(sim.memory().free == 64_MiB);
        if (!struck)
            break;
    }
}

}  // namespace
}  // namespace tidemark
