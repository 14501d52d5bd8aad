// vpmm: requests below a page, and what the device's pool and the pages have to do with each other.
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "backends/wrap/device_call.h"
#include "tests/core/policies/vpmm_pool.h"

namespace tidemark {
namespace {

using support::small_device;
using support::VpmmPool;

// A simulated device without some of its groups.
class PoorDevice final : public WrappedDevice<PoorDevice> {
  public:
    PoorDevice(Device& inner, std::vector<Feature> lacks)
        : WrappedDevice(inner), lacks_(std::move(lacks)) {}

    bool has(Feature feature) const override {
        return std::ranges::find(lacks_, feature) == lacks_.end() && inner_.has(feature);
    }

    template <class Make>
    auto around(const CallArguments& /*arguments*/, Make make) -> decltype(make()) {
        return make();
    }

  private:
    std::vector<Feature> lacks_;
};

TEST_CASE("vpmm leaves requests below a page to the device's pool", "[policy][vpmm]") {
    VpmmPool pool;
    const Allocation a = pool.take_bytes(VpmmPool::kPage - 1);
    const Allocation b = pool.take_bytes(1000, 3);
    CHECK(pool.layout().empty());
    CHECK(a.size == VpmmPool::kPage);
    CHECK(b.size == 1024);
    CHECK(pool.calls(DeviceCall::malloc_async) == 2);
    CHECK(pool.allocator().usage().reserved == 32_MiB);
    CHECK(pool.allocator().usage().allocated == a.size + b.size);

    CHECK(pool.take_bytes(VpmmPool::kPage).size == VpmmPool::kPage);
    CHECK(pool.layout() == "[+1]");
}

TEST_CASE("vpmm's small requests stay in the pool between synchronizations",
          "[policy][vpmm][defect]") {
    VpmmPool pool;
    for (int i = 0; i < 10; ++i) {
        pool.give(pool.take_bytes(1_MiB));
        REQUIRE(pool.device().synchronize(StreamId::default_stream));
        CHECK(pool.allocator().usage().reserved == 32_MiB);
    }
    CHECK(pool.calls(DeviceCall::set_pool_threshold) == 1);

    pool.allocator().trim(TrimLevel::unused);
    CHECK(pool.allocator().usage().reserved == 0);
}

TEST_CASE("vpmm waits for every stream that used a small allocation", "[policy][vpmm][defect]") {
    VpmmPool pool;
    const Allocation a = pool.take_bytes(1_MiB, 1);
    pool.use(a, 2);
    pool.give(a);
    CHECK(pool.calls(DeviceCall::wait) == 1);

    const Allocation b = pool.take_bytes(1_MiB, 1);
    CHECK(b.address == a.address);
    pool.use(b, 1);  // its own stream
    pool.give(b);
    CHECK(pool.calls(DeviceCall::wait) == 1);
}

TEST_CASE("vpmm keeps small allocations that cannot be given back yet", "[policy][vpmm][defect]") {
    const DeviceCall refused =
        GENERATE(DeviceCall::record, DeviceCall::wait, DeviceCall::free_async);
    VpmmPool pool;
    const Allocation a = pool.take_bytes(1_MiB, 1);
    pool.use(a, 2);
    pool.faulty().set_plan({.nth = 1, .call = refused, .status = DeviceStatus::fault});
    pool.give(a);
    CHECK(pool.allocator().usage().allocated == 0);
    CHECK(pool.allocator().usage().active == 1_MiB);

    const Allocation b = pool.take_bytes(1_MiB, 1);
    CHECK(b.address == a.address);
    CHECK(pool.allocator().usage().active == 1_MiB);
}

TEST_CASE("vpmm empties the small pool before it says no to pages", "[policy][vpmm][defect]") {
    VpmmPool pool({}, small_device(64_MiB));
    const Allocation small = pool.take_bytes(1_MiB, 1);
    pool.work(small, 1);
    pool.give(small);
    const Allocation large = pool.take(16);

    pool.take(16);

    CHECK(pool.allocator().stats().retries == 1);
    CHECK(pool.allocator().usage().reserved == 64_MiB);
    pool.give(large);
}

TEST_CASE("vpmm serves a small request from a page when the pool cannot grow",
          "[policy][vpmm][defect]") {
    VpmmPool pool({}, small_device(40_MiB));
    const Allocation large = pool.take(18);
    const Allocation small = pool.take_bytes(1000);
    CHECK(small.size == VpmmPool::kPage);
    CHECK(pool.layout() == "[18][+1]");
    pool.give(large);
    pool.take_bytes(1000);
    CHECK(pool.mapped_pages() == 19);
}

TEST_CASE("vpmm's limit counts the small pool", "[policy][vpmm][defect]") {
    VpmmPool pool("limit=16MiB");
    CHECK(pool.take_bytes(1000).size == VpmmPool::kPage);  // the pool would take 32 MiB
    pool.take(7);
    CHECK(pool.refuse(1).cause == OutOfMemory::Cause::limit);
    const auto small = pool.allocator().allocate({.size = 1000});
    REQUIRE_FALSE(small);
    CHECK(small.error().cause == OutOfMemory::Cause::limit);
}

TEST_CASE("vpmm keeps its limit even if the small pool grows unforeseen",
          "[policy][vpmm][defect]") {
    VpmmPool pool("limit=40MiB");
    std::vector<Allocation> pieces;
    for (int i = 0; i < 32; ++i)
        pieces.push_back(pool.take_bytes(1_MiB));
    CHECK(pool.allocator().usage().reserved == 32_MiB);
    for (std::size_t i = 0; i < pieces.size(); i += 2)
        pool.give(pieces[i]);  // 16 MiB, but nowhere more than one in a row

    for (int i = 0; i < 4; ++i) {
        CHECK(pool.take_bytes(1536_KiB).size == VpmmPool::kPage);
        CHECK(pool.allocator().usage().reserved <= 40_MiB);
    }
    CHECK(pool.calls(DeviceCall::malloc_async) == 33);  // not tried again in vain
    CHECK(pool.allocator().usage().reserved == 40_MiB);
    const auto granted = pool.allocator().allocate({.size = 1536_KiB});
    REQUIRE_FALSE(granted);
    CHECK(granted.error().cause == OutOfMemory::Cause::limit);
    CHECK(pool.allocator().usage().reserved == 40_MiB);
}

TEST_CASE("vpmm waits for the small pool's own memory before a small request is refused",
          "[policy][vpmm][defect]") {
    SimDevice sim(small_device(33_MiB));
    PoorDevice device(sim, {Feature::virtual_memory});
    const auto allocator = support::make_policy("vpmm", device);
    const Allocation a = support::must_allocate(*allocator, 20_MiB, StreamId{1});
    REQUIRE(sim.fill(a.address, 1, a.size, StreamId{1}));
    allocator->deallocate(a, StreamId{1});

    const Allocation b = support::must_allocate(*allocator, 20_MiB, StreamId{2});

    CHECK(allocator->stats().retries == 1);
    CHECK(allocator->stats().out_of_memory == 0);
    allocator->deallocate(b, StreamId{2});
}

TEST_CASE("vpmm on a device without virtual memory takes everything for small", "[policy][vpmm]") {
    SimDevice sim(small_device(1_GiB));
    PoorDevice device(sim, {Feature::virtual_memory});
    const auto allocator = support::make_policy("vpmm", device);

    const Allocation a = support::must_allocate(*allocator, 100_MiB);

    CHECK(support::calls(sim, DeviceCall::reserve) == 0);
    CHECK(support::calls(sim, DeviceCall::malloc_async) == 1);
    CHECK(support::must_refuse(*allocator, 1_GiB).cause == OutOfMemory::Cause::device_full);
    allocator->deallocate(a, StreamId::default_stream);
    allocator->trim(TrimLevel::all);
    CHECK(sim.memory().free == sim.memory().total);
}

TEST_CASE("vpmm on a device without a pool takes plain memory for small requests",
          "[policy][vpmm]") {
    SimDevice sim(small_device(1_GiB));
    PoorDevice device(sim, {Feature::async_pool});
    const auto allocator = support::make_policy("vpmm", device);

    const Allocation a = support::must_allocate(*allocator, 1000, StreamId{1});
    allocator->record_use(a, StreamId{2});
    CHECK(support::calls(sim, DeviceCall::malloc) == 1);
    CHECK(allocator->usage().reserved == 1024);
    allocator->deallocate(a, StreamId{1});  // which waits for all
    CHECK(allocator->usage().reserved == 0);
    CHECK(support::calls(sim, DeviceCall::wait) == 0);
}

TEST_CASE("vpmm does not touch the pool before it has been told to keep its memory",
          "[policy][vpmm]") {
    VpmmPool pool;
    pool.faulty().set_plan(
        {.nth = 1, .call = DeviceCall::set_pool_threshold, .status = DeviceStatus::fault});
    const Allocation a = pool.take_bytes(1000);
    const Allocation b = pool.take_bytes(1000);
    CHECK(pool.calls(DeviceCall::malloc) == 1);
    CHECK(pool.calls(DeviceCall::malloc_async) == 1);
    pool.give(a);
    pool.give(b);
    CHECK(pool.calls(DeviceCall::free) == 1);
}

TEST_CASE("vpmm shows the small pool's unused memory as free", "[policy][vpmm]") {
    VpmmPool pool;
    const Allocation a = pool.take_bytes(1_MiB);
    Bytes free = 0;
    pool.allocator().for_each_region([&](const Region& region) {
        if (region.state == Region::State::free)
            free += region.range.size;
    });
    CHECK(free == 31_MiB);
    CHECK(pool.allocator().largest_free() == 0);  // not for pages
    pool.give(a);
}

}  // namespace
}  // namespace tidemark
