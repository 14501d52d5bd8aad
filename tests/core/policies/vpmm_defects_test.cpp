// vpmm: what the original gets wrong and we must not, each with a test of its name. Stream capture
// and other streams' uses are in vpmm_streams_test.cpp, small requests in vpmm_small_test.cpp.
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "core/allocator/spec.h"
#include "tests/core/policies/vpmm_pool.h"

namespace tidemark {
namespace {

using support::each_harvest;
using support::pages_after;
using support::small_device;
using support::VpmmPool;

Bytes sum(const AddressTotals& totals) {
    return totals.allocated + totals.free + totals.waiting + totals.zombies + totals.holes +
           totals.stuck;
}

TEST_CASE("vpmm loses no addresses when a buffer grows page by page", "[policy][vpmm][defect]") {
    constexpr Bytes kPages = 200;  // the original loses n * n / 4 pages of addresses
    VpmmPool pool(each_harvest() + ",va_size=2GiB");
    Allocation buffer = pool.take(1);
    for (Bytes pages = 2; pages <= kPages; ++pages) {
        pool.give(buffer);
        buffer = pool.take(pages);
        CHECK(sum(pool.totals()) == pool.totals().reserved);
    }

    CHECK(pool.totals().reserved == 2_GiB);
    CHECK(pool.layout() == "[+200]");
}

TEST_CASE("vpmm gives back the addresses that a growth in place does not need",
          "[policy][vpmm][defect]") {
    VpmmPool pool(each_harvest() + ",va_size=20MiB");
    pool.give(pool.take(2));
    pool.give(pool.take(4));  // takes a hole of 4 and needs 2

    pool.take(6);

    CHECK(pool.totals().reserved == 20_MiB);
    CHECK(pool.layout() == "[+6]");
}

TEST_CASE("vpmm by the document grows in place to the last address of a root",
          "[policy][vpmm][defect]") {
    VpmmPool pool("va_size=16MiB");
    pool.give(pool.take(6));

    pool.take(8);  // no hole has 8

    CHECK(pool.totals().reserved == 16_MiB);
    CHECK(pool.layout() == "[+8]");
}

// The state after a refused request: the same but for an empty root.
struct Snapshot {
    std::string layout;
    Usage usage;
    Bytes borrowed;

    explicit Snapshot(VpmmPool& pool)
        : layout(pool.layout()),
          usage(pool.allocator().usage()),
          borrowed(pool.sim().memory().total - pool.sim().memory().free) {}
};

// New pages, pages of the same stream and of another that is busy: all ways at once.
void prepare_mixed(VpmmPool& pool) {
    const Allocation own = pool.take(2, 1);
    pool.take(1, 1);
    const Allocation other = pool.take(3, 2);
    pool.take(1, 1);
    pool.work(other, 2);
    pool.work(own, 1);
    pool.give(own);
    pool.give(other);
}

TEST_CASE("vpmm undoes everything when the device refuses a call on the way",
          "[policy][vpmm][defect]") {
    const std::string harvest = each_harvest();
    const DeviceStatus status = GENERATE(DeviceStatus::out_of_memory, DeviceStatus::fault);
    for (std::uint64_t nth = 1; nth < 1000; ++nth) {
        CAPTURE(harvest, nth);
        VpmmPool pool(harvest);
        prepare_mixed(pool);
        const Snapshot before(pool);
        pool.faulty().set_plan({.nth = nth, .call = {}, .status = status});
        const auto granted =
            pool.allocator().allocate({.size = 8 * VpmmPool::kPage, .stream = StreamId{1}});
        const bool struck = pool.faulty().failures() != 0;
        pool.faulty().set_plan({});
        if (granted) {
            pool.allocator().deallocate(*granted, StreamId{1});
        } else {
            const Snapshot after(pool);
            CHECK(after.layout == before.layout);
            CHECK(after.usage.reserved == before.usage.reserved);
            CHECK(after.usage.mapped == before.usage.mapped);
            CHECK(after.usage.allocated == before.usage.allocated);
            CHECK(after.usage.active == before.usage.active);
            CHECK(after.borrowed == before.borrowed);
        }
        if (!struck) {
            REQUIRE(granted);
            CHECK(nth > 10);  // it does take some calls
            return;
        }
    }
    FAIL("the plan strikes for ever");
}

TEST_CASE("vpmm holds on to what the device will not take back, and tries again",
          "[policy][vpmm][defect]") {
    const std::string harvest = each_harvest();
    for (std::uint64_t nth = 1; nth < 1000; ++nth) {
        CAPTURE(harvest, nth);
        VpmmPool pool(harvest);
        prepare_mixed(pool);
        pool.faulty().set_plan(
            {.nth = nth, .call = {}, .status = DeviceStatus::fault, .and_all_after = true});
        const auto granted =
            pool.allocator().allocate({.size = 8 * VpmmPool::kPage, .stream = StreamId{1}});
        const bool struck = pool.faulty().failures() != 0;
        pool.faulty().set_plan({});
        const AddressTotals totals = pool.totals();
        CHECK(sum(totals) == totals.reserved);
        CHECK(pool.allocator().usage().reserved ==
              pool.sim().memory().total - pool.sim().memory().free);
        pool.pass_time();
        pool.allocator().trim(TrimLevel::unused);
        CHECK(pool.totals().stuck == 0);
        CHECK(pool.totals().zombies == 0);
        if (granted)
            pool.allocator().deallocate(*granted, StreamId{1});
        if (!struck)
            return;
    }
    FAIL("the plan strikes for ever");
}

TEST_CASE("vpmm does not take a range for a hole that could not be unmapped",
          "[policy][vpmm][defect]") {
    VpmmPool pool(each_harvest());
    const Allocation ten = pool.take(10);
    pool.take(1);
    pool.give(ten);
    pool.take(11);
    REQUIRE(pool.layout() == "[*10][1][+11]");
    pool.faulty().set_plan({.nth = 1,
                            .call = DeviceCall::unmap,
                            .status = DeviceStatus::fault,
                            .and_all_after = true});

    pool.take(5);
    CHECK(pool.layout() == "[*10][1][11][+5]");
    pool.faulty().set_plan({});
    pool.take(5);
    CHECK(pool.layout() == "[+5][.5][1][11][5]");
}

TEST_CASE("vpmm asks again after an event that could not be asked for", "[policy][vpmm][defect]") {
    VpmmPool pool(each_harvest());
    const Allocation a = pool.take(4, 1);
    pool.work(a, 1);
    pool.give(a);
    pool.pass_time();
    pool.faulty().set_plan({.nth = 1,
                            .call = DeviceCall::complete,
                            .status = DeviceStatus::fault,
                            .and_all_after = true});
    pool.take(2, 2);  // the region cannot be seen to be free, so the stream waits for it
    CHECK(pool.calls(DeviceCall::wait) == 1);
    CHECK(pool.layout() == "[*2][-2][+2]");
    CHECK_FALSE(pool.spans(AddressSpan::State::free).front().done);
    pool.faulty().set_plan({});

    const Allocation b = pool.take(2, 2);
    CHECK(pool.layout() == "[.2][+2][2]");
    CHECK(b.address == pages_after(a.address, 2));
}

TEST_CASE("vpmm waits in a full trim for what it cannot be told about", "[policy][vpmm][defect]") {
    VpmmPool pool(each_harvest());
    const Allocation a = pool.take(4, 1);
    pool.work(a, 1);
    pool.faulty().set_plan({.nth = 1, .call = DeviceCall::record, .status = DeviceStatus::fault});
    pool.give(a);
    pool.faulty().set_plan({.nth = 1,
                            .call = DeviceCall::complete,
                            .status = DeviceStatus::fault,
                            .and_all_after = true});

    pool.allocator().trim(TrimLevel::all);

    CHECK(pool.allocator().usage().reserved == 0);
    CHECK(pool.allocator().stats().synchronizations == 1);
}

TEST_CASE("vpmm serves the device that it was made for, each pool its own",
          "[policy][vpmm][defect]") {
    VpmmPool first;
    VpmmPool second;

    first.take(3);

    CHECK(first.sim().memory().free < second.sim().memory().free);
    CHECK(second.mapped_pages() == 0);
}

TEST_CASE("vpmm lets peers reach its pages, new ones and moved ones", "[policy][vpmm][defect]") {
    const std::string peers = GENERATE(as<std::string>{}, "peers=2", "peers=[1,2]", "peers=[2]");
    SimConfig config = small_device(1_GiB);
    config.peers = 2;
    VpmmPool pool(each_harvest() + "," + peers, config);
    const Allocation two = pool.take(2);
    pool.take(1);
    pool.give(two);

    const Allocation four = pool.take(4);  // two of them moved, two new

    const Range range{four.address, 4 * VpmmPool::kPage};
    CHECK(pool.totals().zombies == 2 * VpmmPool::kPage);
    CHECK(pool.sim().reachable_by({Location::Kind::device, 2}, range, true));
    CHECK(pool.sim().reachable_by({Location::Kind::device, 1}, range, true) ==
          (peers != "peers=[2]"));
}

// However many regions others have let go, whether they are free takes a few questions.
TEST_CASE("vpmm does not ask for every candidate's event", "[policy][vpmm][defect]") {
    constexpr Bytes kRegions = 64;
    VpmmPool pool(each_harvest());
    std::vector<Allocation> busy;
    for (Bytes i = 0; i < 2 * kRegions; ++i)
        busy.push_back(pool.take(1, 1));
    for (std::size_t i = 0; i < busy.size(); i += 2)
        pool.give(busy[i]);
    const std::uint64_t queries = pool.calls(DeviceCall::complete);

    pool.take(1, 2);

    CHECK(pool.calls(DeviceCall::complete) <= queries + 2);
    CHECK(pool.mapped_pages() == 2 * kRegions);
}

TEST_CASE("vpmm records no event for memory that is known to be done with",
          "[policy][vpmm][defect]") {
    VpmmPool pool(each_harvest());
    pool.retire(pool.take(3, 1));
    CHECK(pool.spans(AddressSpan::State::free).front().done);
    CHECK(pool.calls(DeviceCall::record) == 0);

    pool.take(3, 2);

    CHECK(pool.calls(DeviceCall::complete) == 0);
    CHECK(pool.mapped_pages() == 3);
}

// The simulator puts reservations of 32 MiB right behind each other.
TEST_CASE("vpmm joins nothing across roots, even if they are neighbours",
          "[policy][vpmm][defect]") {
    VpmmPool pool(each_harvest() + ",va_size=32MiB");
    const Allocation a = pool.take(16);
    const Allocation b = pool.take(16);
    REQUIRE(b.address == pages_after(a.address, 16));
    pool.give(a);
    pool.give(b);
    CHECK(pool.layout() == "[-16] | [-16]");

    pool.take(17);  // a root of its own

    CHECK(pool.mapped_pages() == 32);
    CHECK(pool.totals().reserved == 64_MiB + 34_MiB);
}

TEST_CASE("vpmm keeps nothing alive for a stream but a number", "[policy][vpmm][defect]") {
    VpmmPool pool(each_harvest());
    for (std::uint32_t stream = 1; stream < 50; ++stream) {
        const Allocation a = pool.take(1, stream);
        pool.give(a);
    }
    CHECK(pool.mapped_pages() == 1);
    CHECK(pool.layout() == "[-1]");
}

TEST_CASE("vpmm cuts a region only for its n-th part if told so, while there is memory",
          "[policy][vpmm][defect]") {
    VpmmPool pool(each_harvest() + ",waste=4,limit=98MiB");
    const Allocation large = pool.take(40);
    pool.take(1);
    pool.give(large);

    pool.take(2);
    CHECK(pool.layout() == "[-40][1][+2]");
    pool.take(10);
    CHECK(pool.spans(AddressSpan::State::free).front().range.size == 30 * VpmmPool::kPage);
    pool.take(5);  // a new region of five
    pool.take(2);  // the limit is reached, so the large one is cut
    CHECK(pool.mapped_pages() == 48);
    CHECK(pool.spans(AddressSpan::State::free).front().range.size == 28 * VpmmPool::kPage);
}

TEST_CASE("vpmm that must not cut a region looks for room elsewhere, not behind it",
          "[policy][vpmm]") {
    VpmmPool pool("waste=2,va_size=8MiB");
    pool.give(pool.take(3));

    pool.take(1);

    CHECK(pool.layout() == "[+1][-3]");  // the new page is joined before the cut
    CHECK(pool.totals().reserved == 8_MiB);
    pool.take(3);
    pool.take(1);  // the root is used up
    CHECK(pool.layout() == "[1][3] | [+1]");
}

TEST_CASE("vpmm keeps its limit, and says that it is the reason", "[policy][vpmm][defect]") {
    VpmmPool pool(each_harvest() + ",limit=20MiB");
    const Allocation a = pool.take(6);
    CHECK(pool.refuse(5).cause == OutOfMemory::Cause::limit);
    CHECK(pool.refuse(11).cause == OutOfMemory::Cause::limit);
    pool.take(4);
    CHECK(pool.allocator().usage().reserved == 20_MiB);
    pool.give(a);
    pool.take(6);

    CHECK(pool.allocator().usage().reserved == 20_MiB);
    CHECK(pool.allocator().stats().out_of_memory == 2);
}

TEST_CASE("vpmm gives memory back when it is trimmed, but nothing that is used",
          "[policy][vpmm][defect]") {
    VpmmPool pool(each_harvest());
    const Allocation a = pool.take(4, 1);
    const Allocation b = pool.take(2, 1);
    const Allocation c = pool.take(3, 1);
    pool.work(c, 1);
    pool.retire(a);
    pool.give(c);

    pool.allocator().trim(TrimLevel::unused);
    CHECK(pool.layout() == "[.4][2][-3]");
    pool.allocator().trim(TrimLevel::all);
    CHECK(pool.layout() == "[.4][2]");
    CHECK(pool.allocator().usage().reserved == 2 * VpmmPool::kPage);

    pool.give(b);
    pool.take(9, 1);
    CHECK(pool.mapped_pages() == 9);
}

TEST_CASE("vpmm refuses sizes that cannot be rounded", "[policy][vpmm][defect]") {
    VpmmPool pool(each_harvest());
    for (const Bytes size : {kLargestRequest, ~Bytes{0}, ~Bytes{0} - VpmmPool::kPage}) {
        const auto granted = pool.allocator().allocate({.size = size});
        REQUIRE_FALSE(granted);
        CHECK(granted.error().cause == OutOfMemory::Cause::too_large);
    }
    const auto granted = pool.allocator().allocate({.size = kLargestRequest - 1});
    REQUIRE_FALSE(granted);
    CHECK(granted.error().cause == OutOfMemory::Cause::device_full);
}

TEST_CASE("vpmm grants nothing as one minimal piece", "[policy][vpmm][defect]") {
    VpmmPool pool(each_harvest());
    CHECK(pool.take_bytes(0).size == 512);
}

TEST_CASE("vpmm reserves a larger root for a request that no root would hold",
          "[policy][vpmm][defect]") {
    VpmmPool pool(each_harvest() + ",va_size=8MiB");
    pool.take(10);
    CHECK(pool.totals().reserved == 20_MiB);
}

}  // namespace
}  // namespace tidemark
