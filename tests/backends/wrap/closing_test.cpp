// ClosingAllocator: whatever a program kept, after close() an allocator holds nothing.
#include "backends/wrap/closing.h"

#include <catch2/catch.hpp>

#include "backends/sim/sim_device.h"
#include "core/allocator/spec.h"
#include "core/base/random.h"

using namespace tidemark;

TEST_CASE("after close no policy holds memory of the device, whatever lives in it") {
    for (const PolicyInfo& policy : all_policies()) {
        INFO(policy.name);
        SimDevice device({.capacity = 2_GiB});
        auto inner = parse_policy(policy.name)->make(device);
        REQUIRE(inner);
        {
            ClosingAllocator allocator(std::move(*inner));
            Random random(11);
            std::vector<Allocation> live;
            allocator.begin_pool(PoolId{3}, {});
            for (int i = 0; i < 500; ++i) {
                const auto granted = allocator.allocate(
                    {.size = 1 + random.below(500'000),
                     .stream = StreamId(static_cast<std::uint32_t>(random.below(2))),
                     .pool = PoolId(static_cast<std::uint32_t>(random.below(4)))});
                REQUIRE(granted);
                live.push_back(*granted);
                if (random.below(3) == 0) {
                    allocator.deallocate(live.back(), {});
                    live.pop_back();
                } else if (random.below(20) == 0) {
                    allocator.retire(live.back());
                }
            }
            CHECK(device.memory().free < 2_GiB);
            allocator.close();
            CHECK(allocator.usage().active == 0);
            CHECK(allocator.usage().reserved == 0);
        }
        CHECK(device.memory().free == 2_GiB);
    }
}

TEST_CASE("what the program gave back is not given back again") {
    SimDevice device({.capacity = 1_GiB});
    auto inner = parse_policy("cuda-malloc")->make(device);
    REQUIRE(inner);
    ClosingAllocator allocator(std::move(*inner));
    const auto first = allocator.allocate({.size = 1000});
    const auto second = allocator.allocate({.size = 2000});
    REQUIRE(first);
    REQUIRE(second);
    allocator.deallocate(*first, {});
    allocator.close();
    allocator.close();
    const DeviceCounters& counters = device.counters();
    CHECK(counters.calls[static_cast<std::size_t>(DeviceCall::malloc)] == 2);
    CHECK(counters.calls[static_cast<std::size_t>(DeviceCall::free)] == 2);
}
