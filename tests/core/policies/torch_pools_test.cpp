// torch's private pools: scopes, deferred frees, the end of a pool, traits.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "backends/wrap/scripted.h"
#include "core/allocator/spec.h"
#include "core/base/random.h"
#include "tests/support/policy.h"

using namespace tidemark;
using support::must_refuse;

namespace {

constexpr PoolId kFirstPool{1};
constexpr PoolId kSecondPool{2};

struct PoolsFixture {
    explicit PoolsFixture(const std::string& policy = "torch", Bytes capacity = 64_GiB)
        : device(capacity), allocator(*parse_policy(policy)->make(device)) {}

    Allocation allocate(Bytes size, PoolId pool = PoolId::default_pool) {
        const auto granted = allocator->allocate({.size = size, .pool = pool});
        REQUIRE(granted);
        return *granted;
    }

    void free(const Allocation& allocation) {
        allocator->deallocate(allocation, StreamId::default_stream);
    }

    // A free segment of that size.
    Address cache(Bytes size, PoolId pool = PoolId::default_pool) {
        const Allocation block = allocate(size, pool);
        free(block);
        return block.address;
    }

    // The segments given back so far, in order.
    std::vector<Address> released() const {
        std::vector<Address> gone;
        for (const ScriptedDevice::Call& call : device.log()) {
            if (call.call == DeviceCall::free)
                gone.push_back(call.range.begin);
        }
        return gone;
    }

    const Usage& usage() const { return allocator->usage(); }

    ScriptedDevice device;
    std::unique_ptr<Allocator> allocator;
};

}  // namespace

TEST_CASE("pools have their memory to themselves", "[torch]") {
    PoolsFixture torch;
    const Address mine = torch.cache(4096);
    const Address theirs = torch.cache(4096, kFirstPool);

    CHECK(mine != theirs);
    CHECK(torch.usage().reserved == 4_MiB);
    CHECK(torch.allocate(4096, kFirstPool).address == theirs);
    CHECK(torch.allocate(4096).address == mine);
    CHECK(torch.allocate(4096, kSecondPool).address != theirs);
    CHECK(torch.usage().reserved == 6_MiB);
}

TEST_CASE("inside a scope a request is not retried", "[torch]") {
    PoolsFixture torch("torch:limit=64MiB");
    torch.cache(40_MiB);
    torch.allocator->begin_pool(kFirstPool, {});

    must_refuse(*torch.allocator, 50_MiB);
    CHECK_FALSE(torch.allocator->allocate({.size = 50_MiB, .pool = kFirstPool}));
    CHECK(torch.allocator->stats().retries == 0);
    CHECK(torch.usage().reserved == 40_MiB);

    torch.allocator->end_pool(kFirstPool);
    CHECK_FALSE(torch.allocator->allocate({.size = 50_MiB, .pool = kFirstPool}));  // as in a scope
    CHECK(torch.allocator->stats().retries == 0);
    torch.allocate(50_MiB);
    CHECK(torch.allocator->stats().retries == 1);
}

TEST_CASE("scopes nest, repeat, and end with their pool", "[torch]") {
    PoolsFixture torch("torch:limit=64MiB");
    Allocator& allocator = *torch.allocator;
    const auto in_scope = [&] {
        const std::uint64_t retries = allocator.stats().retries;
        must_refuse(allocator, 100_MiB);
        return allocator.stats().retries == retries;
    };
    CHECK_FALSE(in_scope());
    allocator.begin_pool(kFirstPool, {});
    allocator.begin_pool(kFirstPool, {});
    allocator.begin_pool(kSecondPool, {});
    CHECK(in_scope());
    allocator.close_pool(kFirstPool);
    CHECK(in_scope());
    allocator.end_pool(kFirstPool);  // a late end: its scopes are over
    CHECK(in_scope());
    allocator.end_pool(kSecondPool);
    CHECK_FALSE(in_scope());
    allocator.end_pool(kSecondPool);  // one too many
    allocator.end_pool(PoolId{9});
    allocator.close_pool(PoolId{9});
    allocator.close_pool(kSecondPool);
    allocator.begin_pool(PoolId::default_pool, {});
    CHECK_FALSE(in_scope());
    allocator.begin_pool(kSecondPool, {});
    CHECK(in_scope());
}

TEST_CASE("a free inside a scope waits for its end if other streams use the block", "[torch]") {
    PoolsFixture torch;
    const Allocation block = torch.allocate(4096);
    torch.allocator->record_use(block, StreamId{5});
    torch.allocator->begin_pool(kFirstPool, {});
    torch.free(block);

    CHECK(torch.usage().allocated == 0);
    CHECK(torch.usage().active == 4096);
    CHECK(torch.allocate(4096).address != block.address);  // though stream 5 is done
    torch.allocator->end_pool(kFirstPool);
    CHECK(torch.allocate(4096).address == block.address);
}

TEST_CASE("uses that began inside a scope are forgotten, earlier ones awaited", "[torch]") {
    const bool before = GENERATE(false, true);
    PoolsFixture torch;
    const Allocation block = torch.allocate(4096);
    torch.device.await(StreamId{5});
    if (before)
        torch.allocator->record_use(block, StreamId{5});
    torch.allocator->begin_pool(kFirstPool, {});
    torch.allocator->record_use(block, StreamId{6});
    if (!before)
        torch.allocator->record_use(block, StreamId{5});
    torch.free(block);
    torch.allocator->end_pool(kFirstPool);

    CHECK((torch.allocate(4096).address == block.address) == !before);
    torch.device.finish(StreamId{5});
    torch.device.await(StreamId{6});  // of no concern
    CHECK((torch.allocate(4096).address == block.address) == before);
}

TEST_CASE("events are not looked at inside a scope", "[torch]") {
    PoolsFixture torch;
    const Allocation block = torch.allocate(4096);
    torch.allocator->record_use(block, StreamId{5});
    torch.device.await(StreamId{5});
    torch.free(block);
    torch.allocator->begin_pool(kFirstPool, {});
    torch.device.finish(StreamId{5});

    CHECK(torch.allocate(4096).address != block.address);
    torch.allocate(4096, kFirstPool);
    CHECK(torch.usage().active == 3 * 4096);
    torch.allocator->end_pool(kFirstPool);
    CHECK(torch.allocate(4096).address == block.address);
}

TEST_CASE("a closed pool goes back after the default one, small before large", "[torch]") {
    PoolsFixture torch;
    const Address private_large = torch.cache(20_MiB, kFirstPool);
    const Address private_small = torch.cache(100, kFirstPool);
    const Address small = torch.cache(100);
    const Address large = torch.cache(20_MiB);
    torch.cache(100, kSecondPool);
    torch.allocator->close_pool(kFirstPool);
    CHECK(torch.released().empty());

    torch.allocator->trim(TrimLevel::all);

    CHECK(torch.released() == std::vector{large, small, private_small, private_large});
    CHECK(torch.usage().reserved == 2_MiB);  // the other pool is still in use
}

TEST_CASE("a retry takes closed pools too, never open ones", "[torch]") {
    PoolsFixture torch("torch:limit=64MiB");
    const Address closed = torch.cache(20_MiB, kFirstPool);
    torch.cache(20_MiB, kSecondPool);
    torch.allocator->close_pool(kFirstPool);

    torch.allocate(40_MiB);

    CHECK(torch.released() == std::vector{closed});
    must_refuse(*torch.allocator, 20_MiB);
}

TEST_CASE("inside a scope the default pool gives nothing back", "[torch]") {
    const TrimLevel level = GENERATE(TrimLevel::unused, TrimLevel::all);
    PoolsFixture torch;
    torch.cache(20_MiB);
    const Address closed = torch.cache(20_MiB, kFirstPool);
    torch.allocator->close_pool(kFirstPool);
    torch.allocator->begin_pool(kSecondPool, {});

    torch.allocator->trim(level);

    CHECK(torch.released() == std::vector{closed});
}

TEST_CASE("the end of a pool gives back that pool alone", "[torch]") {
    PoolsFixture torch;
    torch.cache(100);
    torch.cache(100, kSecondPool);
    const Address large = torch.cache(20_MiB, kFirstPool);
    const Address small = torch.cache(100, kFirstPool);
    torch.allocator->trim_pool(kFirstPool);
    CHECK(torch.released().empty());  // it may be asked for again

    torch.allocator->close_pool(kSecondPool);
    torch.allocator->close_pool(kFirstPool);
    torch.allocator->trim_pool(kFirstPool);

    CHECK(torch.released() == std::vector{small, large});
    CHECK(torch.usage().reserved == 4_MiB);
}

TEST_CASE("the end of a pool waits for the streams that use its blocks, no others", "[torch]") {
    PoolsFixture torch;
    const Allocation theirs = torch.allocate(100, kFirstPool);
    const Allocation mine = torch.allocate(100);
    torch.allocator->record_use(theirs, StreamId{5});
    torch.allocator->record_use(mine, StreamId{6});
    torch.device.await(StreamId{5});
    torch.device.await(StreamId{6});
    torch.free(theirs);
    torch.free(mine);
    torch.allocator->close_pool(kFirstPool);

    torch.allocator->trim_pool(kFirstPool);

    CHECK(torch.released() == std::vector{theirs.address});
    CHECK_FALSE(torch.device.is_awaited(StreamId{5}));
    CHECK(torch.device.is_awaited(StreamId{6}));
    CHECK(torch.usage().active == 512);
}

TEST_CASE("what outlives its pool goes back with a later trim", "[torch]") {
    PoolsFixture torch;
    const Allocation survivor = torch.allocate(20_MiB, kFirstPool);
    torch.allocator->close_pool(kFirstPool);
    torch.allocator->trim(TrimLevel::all);
    CHECK(torch.released().empty());

    torch.free(survivor);
    CHECK(torch.allocate(20_MiB).address != survivor.address);
    torch.allocator->trim(TrimLevel::all);

    CHECK(torch.released() == std::vector{survivor.address});
}

TEST_CASE("a pool's name begins again after its end", "[torch]") {
    PoolsFixture torch;
    torch.allocator->begin_pool(kFirstPool, {.serves_on_refusal = true, .splits = false});
    torch.allocator->end_pool(kFirstPool);
    torch.cache(100, kFirstPool);
    torch.allocator->close_pool(kFirstPool);
    torch.allocator->trim(TrimLevel::all);
    CHECK(torch.usage().reserved == 0);

    const Allocation block = torch.allocate(100, kFirstPool);

    CHECK(block.size == 512);  // of the old traits nothing is left
    torch.free(block);
    torch.allocator->trim(TrimLevel::all);
    CHECK(torch.usage().reserved == 2_MiB);
    CHECK(torch.allocate(512, kFirstPool).address == block.address);
    torch.allocate(512, kSecondPool);
    CHECK(torch.usage().reserved == 4_MiB);
}

TEST_CASE("a pool that does not split grants whole blocks", "[torch]") {
    const std::string expandable = GENERATE(as<std::string>{}, "", ":expandable_segments:True");
    PoolsFixture torch("torch" + expandable);
    torch.allocator->begin_pool(kFirstPool, {.serves_on_refusal = false, .splits = false});

    CHECK(torch.allocate(512, kFirstPool).size == 2_MiB);
    CHECK(torch.allocate(2_MiB, kFirstPool).size == 20_MiB);
    CHECK(torch.allocate(512).size == 512);
    CHECK(torch.usage().reserved == 24_MiB);
}

TEST_CASE("a pool may serve the default pool's last attempt", "[torch]") {
    const bool serves = GENERATE(true, false);
    PoolsFixture torch("torch:limit=64MiB");
    torch.allocator->begin_pool(kFirstPool, {.serves_on_refusal = serves, .splits = true});
    torch.allocator->end_pool(kFirstPool);
    const Address placement = torch.cache(40_MiB, kFirstPool);
    const Address mine = torch.cache(20_MiB);

    const auto granted = torch.allocator->allocate({.size = 30_MiB});

    CHECK(torch.allocator->stats().retries == 1);  // everything else came first
    CHECK(torch.released() == std::vector{mine});
    CHECK(granted.has_value() == serves);
    CHECK_FALSE(torch.allocator->allocate({.size = 50_MiB, .pool = kSecondPool}));
    if (!serves)
        return;
    CHECK(granted->address == placement);
    torch.free(*granted);
    torch.allocator->trim(TrimLevel::all);
    CHECK(torch.usage().reserved == 40_MiB);  // it went back to where it came from
    CHECK(torch.allocate(40_MiB, kFirstPool).address == placement);
}

TEST_CASE("blocks of private pools are not garbage", "[torch]") {
    PoolsFixture torch("torch:garbage_collection_threshold:0.1,limit=200MiB");
    torch.cache(40_MiB, kFirstPool);
    const Address mine = torch.cache(30_MiB);

    torch.allocate(1);

    CHECK(torch.released() == std::vector{mine});
}

TEST_CASE("pools have their own reservations, which go with them", "[torch]") {
    SimDevice device({.capacity = 1_GiB});
    const auto torch = support::make_policy("torch:expandable_segments:True", device);
    const auto get = [&](Bytes size, PoolId pool) {
        const auto granted = torch->allocate({.size = size, .pool = pool});
        REQUIRE(granted);
        return *granted;
    };
    const Allocation theirs = get(2_MiB, kFirstPool);
    get(2_MiB, PoolId::default_pool);
    torch->deallocate(theirs, StreamId::default_stream);
    torch->trim(TrimLevel::all);
    CHECK(torch->usage().reserved == 40_MiB);
    torch->close_pool(kFirstPool);
    torch->trim(TrimLevel::all);

    CHECK(torch->usage().reserved == 20_MiB);
    CHECK(support::calls(device, DeviceCall::reserve) == 2);
    CHECK(support::calls(device, DeviceCall::unreserve) == 1);
}

TEST_CASE("a copy of torch knows the pools and their scopes", "[torch]") {
    PoolsFixture torch("torch:limit=64MiB");
    torch.cache(40_MiB);
    torch.cache(20_MiB, kFirstPool);
    torch.allocator->begin_pool(kFirstPool, {});
    ScriptedDevice twin(torch.device);
    const auto copy = torch.allocator->clone(twin);
    torch.allocator->close_pool(kFirstPool);

    must_refuse(*copy, 60_MiB);
    CHECK(copy->stats().retries == 0);
    copy->trim(TrimLevel::all);
    CHECK(copy->usage().reserved == 60_MiB);
    must_refuse(*torch.allocator, 65_MiB);
    CHECK(torch.allocator->stats().retries == 1);
    CHECK(torch.usage().reserved == 0);
}

TEST_CASE("settings change for what comes after, not for what there is", "[torch]") {
    PoolsFixture torch;
    const Allocation first = torch.allocate(5'000);
    CHECK(first.size == 5'120);
    const auto options = [](const std::string& text) { return parse_policy(text)->options; };

    REQUIRE(torch.allocator->reconfigure(options("torch:roundup_power2_divisions:4,limit=4MiB")));
    const Allocation second = torch.allocate(5'200);
    CHECK(second.size == 6'144);
    CHECK(must_refuse(*torch.allocator, 2_MiB).cause == OutOfMemory::Cause::limit);
    torch.free(first);
    CHECK(torch.allocate(5'120).address == first.address);

    const auto refused = torch.allocator->reconfigure(options("torch:max_split_size_mb:10"));
    CHECK_FALSE(refused);
    CHECK(torch.allocate(5'200).size == 6'144);  // the settings before it still hold
}

// Refusals used to walk all pools, which took half a minute here.
TEST_CASE("thousands of pools on a card that is too small are refused as fast as one",
          "[policy][torch]") {
    PoolsFixture f("torch", 40'000 * 2_MiB);
    Bytes largest = 0;
    std::size_t refused = 0;
    for (std::uint32_t i = 1; i <= 80'000; ++i) {
        const auto granted = f.allocator->allocate({.size = 512, .pool = PoolId{i}});
        refused += granted ? 0U : 1U;
        largest = f.allocator->largest_free();
    }
    CHECK(refused == 40'000);
    CHECK(largest == 2_MiB - 512);
}

TEST_CASE("the largest free block is that of all pools and streams, whatever was taken",
          "[policy][torch]") {
    const std::string policy =
        GENERATE("torch", "torch:max_split_size_mb=21", "torch:expandable_segments=true");
    PoolsFixture f(policy, 512_MiB);
    Random random(7);
    std::vector<Allocation> live;
    for (int step = 0; step < 3000; ++step) {
        const PoolId pool{static_cast<std::uint32_t>(random.below(6))};
        if (live.empty() || random.below(3) != 0) {
            const auto granted = f.allocator->allocate(
                {.size = 1 + random.below(30_MiB) / (1 + random.below(4000)),
                 .stream = StreamId{static_cast<std::uint32_t>(random.below(3))},
                 .pool = pool});
            if (granted)
                live.push_back(*granted);
        } else {
            std::swap(live[random.below(live.size())], live.back());
            f.free(live.back());
            live.pop_back();
        }
        if (random.below(50) == 0)
            f.allocator->close_pool(pool);
        if (random.below(100) == 0)
            f.allocator->trim(TrimLevel::all);
        Bytes largest = 0;
        f.allocator->for_each_region([&](const Region& region) {
            if (region.state == Region::State::free)
                largest = std::max(largest, region.range.size);
        });
        REQUIRE(f.allocator->largest_free() == largest);
    }
}
