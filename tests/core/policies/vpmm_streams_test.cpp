// vpmm: streams that share memory, growth or waiting, and what happens while a graph is captured.
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/core/policies/vpmm_pool.h"

namespace tidemark {
namespace {

using support::each_harvest;
using support::pages_after;
using support::small_device;
using support::VpmmPool;

TEST_CASE("vpmm reuses a stream's own memory while its work is still queued", "[policy][vpmm]") {
    VpmmPool pool(each_harvest());
    const Allocation a = pool.take(3, 1);
    pool.work(a, 1);
    pool.give(a);

    CHECK(pool.take(3, 1).address == a.address);
    CHECK(pool.calls(DeviceCall::complete) == 0);
}

TEST_CASE("vpmm takes another stream's memory as soon as its work is over, and keeps it",
          "[policy][vpmm]") {
    VpmmPool pool(each_harvest());
    const Allocation a = pool.take(4, 1);
    pool.work(a, 1);
    pool.give(a);
    pool.pass_time();

    const Allocation b = pool.take(3, 2);

    CHECK(b.address == a.address);
    CHECK(pool.mapped_pages() == 4);
    CHECK(pool.calls(DeviceCall::wait) == 0);
    CHECK(pool.spans(AddressSpan::State::free).front().stream == StreamId{2});  // the rest, too
}

TEST_CASE("vpmm takes the smallest region of other streams that is done, at the lowest address",
          "[policy][vpmm]") {
    VpmmPool pool("harvest=source");
    std::vector<Allocation> held;
    for (const Bytes pages : {4U, 1U, 2U, 1U, 2U, 1U, 3U, 1U})
        held.push_back(pool.take(pages, held.size() % 2 == 0 ? 1 : 3));
    for (const std::size_t i : {0U, 2U, 4U, 6U})
        pool.give(held[i]);

    CHECK(pool.take(2, 2).address == held[2].address);
    CHECK(pool.take(2, 2).address == held[4].address);
    CHECK(pool.take(2, 2).address == held[6].address);
    CHECK(pool.take(2, 2).address == held[0].address);
}

TEST_CASE("vpmm learns from one event what it says of the earlier ones", "[policy][vpmm]") {
    VpmmPool pool(each_harvest());
    std::vector<Allocation> held;
    for (int i = 0; i < 12; ++i)
        held.push_back(pool.take(1, 1));
    for (std::size_t i = 0; i < held.size(); ++i) {
        if (i == 6)
            pool.work(held[i], 1);  // the first three that are let go are done, the others not
        if (i % 2 == 0)
            pool.give(held[i]);
    }

    for (int i = 0; i < 3; ++i)
        pool.take(1, 2);
    std::vector<AddressSpan> left = pool.spans(AddressSpan::State::free);
    REQUIRE(left.size() == 3);
    CHECK(left[0].range.begin == held[6].address);
    CHECK(pool.mapped_pages() == 12);
    pool.take(1, 2);  // waits: all that is free is taken before a page is made
    CHECK(pool.calls(DeviceCall::wait) == 1);
    CHECK(pool.mapped_pages() == 12);
}

TEST_CASE("vpmm's growth says whether to wait for other streams", "[policy][vpmm]") {
    const std::string harvest = each_harvest();
    const auto run = [&](const std::string& growth, Bytes others_pages) {
        VpmmPool pool(harvest + "," + growth);
        const Allocation other = pool.take(others_pages, 1);
        pool.take(1, 2);
        const Allocation own = pool.take(2, 2);
        pool.take(1, 2);
        pool.work(other, 1);
        pool.give(other);
        pool.give(own);
        pool.take(3, 2);
        return pool.layout();
    };
    CHECK(run("growth=wait", 2) == "[*1][-1][1][*2][1][+3]");
    CHECK(run("growth=grow", 2) == "[-2][1][-2][1][+3]");
    CHECK(run("growth=cost,worth_waiting=4MiB", 2) == "[*1][-1][1][*2][1][+3]");
    CHECK(run("growth=cost,worth_waiting=6MiB", 2) == "[-2][1][*2][1][+3]");
}

TEST_CASE("vpmm waits rather than grow beyond its soft limit, or where it cannot grow",
          "[policy][vpmm]") {
    const std::string option =
        GENERATE(as<std::string>{}, "growth=grow,soft_limit=8MiB", "growth=grow,limit=8MiB",
                 "growth=cost,worth_waiting=1GiB,limit=8MiB");
    VpmmPool pool(each_harvest() + "," + option);
    const Allocation a = pool.take(3, 1);
    const Allocation b = pool.take(1, 1);
    pool.work(a, 1);
    pool.give(a);

    pool.take(2, 2);

    CHECK(pool.mapped_pages() == 4);
    CHECK(pool.calls(DeviceCall::wait) == 1);
    pool.give(b);
}

TEST_CASE("vpmm puts a stream behind another once, however much it takes from it",
          "[policy][vpmm]") {
    VpmmPool pool(each_harvest());
    std::vector<Allocation> held;
    for (int i = 0; i < 8; ++i)
        held.push_back(pool.take(1, 1));
    for (std::size_t i = 0; i < held.size(); i += 2) {
        pool.work(held[i], 1);
        pool.give(held[i]);
    }
    pool.take(4, 2);
    CHECK(pool.calls(DeviceCall::wait) == 1);
    CHECK(pool.mapped_pages() == 8);
}

// The original hands the memory out when the allocation's own stream is done with it.
TEST_CASE("vpmm waits for every stream that used an allocation", "[policy][vpmm][defect]") {
    VpmmPool pool(each_harvest());
    const Allocation a = pool.take(4, 1);
    pool.use(a, 2);
    pool.give(a);

    const Allocation b = pool.take(4, 1);
    CHECK(b.address == a.address);  // stream 1 is behind stream 2 now
    pool.give(b);
    const Allocation c = pool.take(4, 3);
    CHECK(pool.calls(DeviceCall::wait) == 2);
    pool.work(c, 3);
}

TEST_CASE("vpmm keeps what it cannot put in order until it can", "[policy][vpmm][defect]") {
    VpmmPool pool(each_harvest());
    const Allocation a = pool.take(4, 1);
    pool.use(a, 2);
    pool.faulty().set_plan({.nth = 1, .call = DeviceCall::wait, .status = DeviceStatus::fault});
    pool.give(a);
    CHECK(pool.layout() == "[?4]");
    CHECK(pool.allocator().usage().allocated == 0);
    CHECK(pool.allocator().usage().active == 4 * VpmmPool::kPage);

    CHECK(pool.take(4, 1).address == a.address);
}

TEST_CASE("vpmm gives a zombie's addresses back only when its work is over",
          "[policy][vpmm][defect]") {
    VpmmPool pool(each_harvest());
    const Allocation a = pool.take(2, 1);
    pool.take(1, 1);
    pool.work(a, 1);
    pool.give(a);
    const Allocation b = pool.take(3, 1);
    REQUIRE(pool.layout() == "[*2][1][+3]");
    for (int i = 0; i < 5; ++i) {
        pool.take(1, 2);
        pool.allocator().trim(TrimLevel::unused);
        CHECK(pool.totals().zombies == 2 * VpmmPool::kPage);
    }
    CHECK(pool.calls(DeviceCall::unmap) == 0);

    pool.work(b, 1);
    pool.allocator().trim(TrimLevel::all);
    CHECK(pool.totals().zombies == 0);
    CHECK(pool.calls(DeviceCall::unmap) == 1);
}

TEST_CASE("vpmm does not give back pages that a zombie still maps", "[policy][vpmm]") {
    VpmmPool pool(each_harvest());
    const Allocation a = pool.take(2, 1);
    const Allocation b = pool.take(1, 1);
    pool.work(a, 1);
    pool.give(a);
    const Allocation c = pool.take(3, 1);
    pool.retire(c);  // done with, as its stream is not
    pool.allocator().trim(TrimLevel::unused);
    CHECK(pool.layout() == "[*2][1][-3]");
    CHECK(pool.allocator().usage().reserved == 4 * VpmmPool::kPage);

    pool.pass_time();
    pool.allocator().trim(TrimLevel::unused);
    CHECK(pool.layout() == "[.2][1]");
    pool.give(b);
}

// A capture on stream 9.
class Capture {
  public:
    explicit Capture(VpmmPool& pool) : pool_(pool) {
        REQUIRE(pool.device().begin_capture(StreamId{9}));
    }

    ~Capture() { CHECK(pool_.device().end_capture(StreamId{9})); }

  private:
    VpmmPool& pool_;
};

TEST_CASE("vpmm serves a capture from free regions, without asking the device anything",
          "[policy][vpmm][defect]") {
    const std::string capture = GENERATE(as<std::string>{}, "capture=reject", "capture=survive");
    VpmmPool pool(each_harvest() + "," + capture);
    const Allocation own = pool.take(3, 9);
    const Allocation other = pool.take(2, 1);
    pool.give(own);
    pool.retire(other);
    const std::uint64_t calls = pool.sim().counters().total_calls();
    {
        const Capture captured(pool);
        const Allocation a = pool.take(3, 9);
        CHECK(a.address == own.address);
        CHECK(pool.take(2, 9).address == other.address);  // known to be done
        pool.give(a);
        CHECK(pool.take(3, 9).address == own.address);
    }
    CHECK(pool.sim().counters().total_calls() == calls + 2);  // begin and end
}

TEST_CASE("vpmm rejects in a capture what needs the device", "[policy][vpmm][defect]") {
    VpmmPool pool(each_harvest());
    const Allocation busy = pool.take(3, 1);
    pool.work(busy, 1);
    pool.give(busy);
    const std::string before = pool.layout();
    const Capture captured(pool);

    const OutOfMemory why = pool.refuse(2, 9);
    CHECK(why.cause == OutOfMemory::Cause::device_error);
    CHECK(why.status == DeviceStatus::not_permitted);
    const auto small = pool.allocator().allocate({.size = 1000, .stream = StreamId{9}});
    REQUIRE_FALSE(small);
    CHECK(small.error().status == DeviceStatus::not_permitted);
    CHECK(pool.layout() == before);
}

TEST_CASE("vpmm survives a capture with new pages", "[policy][vpmm][defect]") {
    VpmmPool pool(each_harvest() + ",capture=survive");
    const Allocation busy = pool.take(3, 1);
    pool.work(busy, 1);
    pool.give(busy);
    {
        const Capture captured(pool);
        pool.take(2, 9);
        CHECK(pool.layout() == "[-3][+2]");
        const Allocation small = pool.take_bytes(1000, 9);  // no node of the graph
        CHECK(small.size == VpmmPool::kPage);
        CHECK(pool.calls(DeviceCall::malloc_async) == 0);
        pool.give(small);
        pool.take(4, 9);
        CHECK(pool.layout() == "[-3][2][+4]");
    }
    CHECK(pool.calls(DeviceCall::complete) == 0);
    CHECK(pool.calls(DeviceCall::unmap) == 0);
}

TEST_CASE("vpmm does after a capture what it could not do in it", "[policy][vpmm][defect]") {
    VpmmPool pool(each_harvest());
    const Allocation a = pool.take(2, 1);
    const Allocation b = pool.take(2, 1);
    const Allocation small = pool.take_bytes(1000, 1);
    pool.use(b, 2);
    {
        const Capture captured(pool);
        pool.give(a);
        pool.give(b);
        pool.give(small);
        CHECK(pool.layout() == "[-2][?2]");
        CHECK(pool.allocator().usage().allocated == 0);
        CHECK(pool.allocator().usage().active == 2 * VpmmPool::kPage + small.size);
        pool.allocator().trim(TrimLevel::all);
        CHECK(pool.allocator().usage().active == 2 * VpmmPool::kPage + small.size);
    }
    pool.take(4, 1);
    CHECK(pool.layout() == "[+4]");
    CHECK(pool.allocator().usage().active == 4 * VpmmPool::kPage);
}

TEST_CASE("vpmm takes what was let go in a capture for done when its stream is", "[policy][vpmm]") {
    VpmmPool pool(each_harvest());
    const Allocation a = pool.take(2, 1);
    pool.work(a, 1);
    {
        const Capture captured(pool);
        pool.give(a);
    }
    CHECK(pool.calls(DeviceCall::record) == 0);
    pool.take(1, 2);  // asks: recorded now, not done
    CHECK(pool.calls(DeviceCall::record) == 2);
    CHECK(pool.calls(DeviceCall::wait) == 1);
    pool.pass_time();
    CHECK(pool.take(1, 2).address == pages_after(a.address, 1));
}

}  // namespace
}  // namespace tidemark
