// vpmm: the acceptance tests of the original (its repository's tests, strengthened to layouts where
// they only look at addresses), in both ways to harvest.
#include <algorithm>
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

TEST_CASE("vpmm joins three neighbours that are let go out of order", "[policy][vpmm]") {
    VpmmPool pool(each_harvest(), small_device(8_GiB));
    const Allocation a = pool.take(1024);
    const Allocation b = pool.take(1024);
    const Allocation c = pool.take(1024);
    pool.give(b);
    pool.give(a);
    pool.give(c);
    CHECK(pool.layout() == "[-3072]");

    CHECK(pool.take(3072).address == a.address);
}

TEST_CASE("vpmm reserves more addresses when a root is used up", "[policy][vpmm]") {
    VpmmPool pool(each_harvest() + ",va_size=4MiB");
    for (int i = 0; i < 4; ++i)
        pool.take(1);

    CHECK(pool.layout() == "[1][1] | [1][+1]");
    CHECK(pool.totals().reserved == 8_MiB);
    CHECK(pool.calls(DeviceCall::reserve) == 2);
}

// +10 > +1 > -10 > +4 > +11 from `spare` pages more than the first two need.
struct Walk {
    VpmmPool pool;
    Allocation ten;
    Allocation one;
    Allocation four;
    Allocation eleven;

    explicit Walk(const std::string& options) : pool(options) {
        ten = pool.take(10);
        one = pool.take(1);
        pool.give(ten);
        four = pool.take(4);
        eleven = pool.take(11);
        CHECK(one.address == pages_after(ten.address, 10));
    }
};

TEST_CASE("vpmm's case A: enough pages in a row", "[policy][vpmm]") {
    Walk walk(each_harvest() + ",pages=22");

    CHECK(walk.pool.mapped_pages() == 22);
    CHECK(walk.four.address == walk.ten.address);
    CHECK(walk.eleven.address > walk.one.address);
}

TEST_CASE("vpmm's case B: enough pages, but not in a row", "[policy][vpmm]") {
    Walk walk(each_harvest() + ",pages=18");

    CHECK(walk.pool.mapped_pages() == 18);
    CHECK(walk.four.address == pages_after(walk.one.address, 1));
}

TEST_CASE("vpmm's case C: one page is missing", "[policy][vpmm]") {
    Walk walk(each_harvest() + ",pages=15");

    CHECK(walk.pool.mapped_pages() == 16);
    CHECK(walk.four.address == pages_after(walk.one.address, 1));
}

TEST_CASE("vpmm's case D: several pages are missing", "[policy][vpmm]") {
    Walk walk(each_harvest() + ",pages=12");

    CHECK(walk.pool.mapped_pages() == 16);
    CHECK(walk.four.address == walk.ten.address);
}

// The original does this on four threads; tests/core/concurrent has that.
TEST_CASE("vpmm serves small and large requests that come and go on four streams",
          "[policy][vpmm]") {
    VpmmPool pool(each_harvest(), small_device(16_GiB));
    std::vector<std::vector<Allocation>> held(4);
    for (std::uint32_t i = 0; i < 15; ++i) {
        for (std::uint32_t stream = 0; stream < 4; ++stream) {
            const std::uint32_t step = i + stream;
            const Bytes size =
                step % 3 == 0 ? (1 + 100 * (step % 2)) * 1_KiB : (100 + 20 * (step % 16)) * 1_MiB;
            held[stream].push_back(pool.take_bytes(size, stream));
            pool.work(held[stream].back(), stream);
            if (i % 2 == 0) {
                pool.give(held[stream].front());
                held[stream].erase(held[stream].begin());
            }
        }
    }

    pool.take_bytes(1_GiB);
}

TEST_CASE("vpmm is filled to the last page and still serves what is left", "[policy][vpmm]") {
    VpmmPool pool(each_harvest(), small_device(1_GiB + 128_MiB));
    pool.take(256);
    pool.take(256);
    CHECK(pool.refuse(256).cause == OutOfMemory::Cause::device_full);

    pool.take_bytes(1_MiB);
    const Bytes left = pool.sim().memory().free;
    pool.take_bytes(left);
    CHECK(pool.sim().memory().free == 0);
    CHECK(pool.allocator().stats().out_of_memory == 1);
}

TEST_CASE("vpmm serves eight pages in three rounds of four times two", "[policy][vpmm]") {
    VpmmPool pool(each_harvest() + ",pages=8");
    for (int round = 0; round < 3; ++round) {
        CAPTURE(round);
        std::vector<Allocation> twos;
        for (int i = 0; i < 4; ++i)
            twos.push_back(pool.take(2));
        pool.give(twos[0]);
        pool.give(twos[2]);
        const Allocation four = pool.take(4);
        if (round == 0)
            CHECK(pool.layout() == "[*2][2][*2][2][+4]");
        CHECK(pool.mapped_pages() == 8);
        pool.give(twos[1]);
        pool.give(twos[3]);
        pool.give(four);
    }
}

TEST_CASE("vpmm joins with the region before, the one behind, and both", "[policy][vpmm]") {
    VpmmPool pool(each_harvest() + ",pages=6");
    const Allocation a = pool.take(2);
    const Allocation b = pool.take(2);
    const Allocation c = pool.take(2);
    pool.give(a);
    pool.give(b);
    CHECK(pool.layout() == "[-4][2]");
    const Allocation four = pool.take(4);
    CHECK(four.address == a.address);
    pool.give(c);
    pool.give(four);
    CHECK(pool.layout() == "[-6]");

    CHECK(pool.take(6).address == a.address);
    CHECK(pool.mapped_pages() == 6);
}

TEST_CASE("vpmm keeps regions of streams apart and takes a stream's own first", "[policy][vpmm]") {
    VpmmPool pool(each_harvest());
    const Allocation a = pool.take(2, 1);
    const Allocation b = pool.take(3, 2);
    const Allocation c = pool.take(2, 1);
    pool.work(a, 1);
    pool.work(b, 2);
    pool.work(c, 1);
    pool.give(a);
    pool.give(b);
    pool.give(c);
    CHECK(pool.layout() == "[-2][-3][-2]");
    const std::uint64_t waits = pool.calls(DeviceCall::wait);

    const Allocation five = pool.take(5, 2);

    CHECK(pool.layout() == "[*2][*3][-2][+5]");
    CHECK(pool.mapped_pages() == 7);
    CHECK(pool.calls(DeviceCall::wait) == waits + 1);  // for the two pages of stream 1
    CHECK(pool.spans(AddressSpan::State::free).front().stream == StreamId{1});
    pool.give(five);
}

TEST_CASE("vpmm moves no more pages than it needs, and its rest serves the next request",
          "[policy][vpmm]") {
    const std::string harvest = each_harvest();
    VpmmPool pool(harvest + ",pages=10");
    std::vector<Allocation> twos;
    for (int i = 0; i < 5; ++i)
        twos.push_back(pool.take(2));
    for (const std::size_t i : {0U, 2U, 4U})
        pool.give(twos[i]);
    pool.take(5);
    CHECK(pool.layout() ==
          (harvest == "harvest=source" ? "[*2][2][*2][2][*1][+5][-1]" : "[*2][2][*2][2][+5][-1]"));
    CHECK(pool.mapped_pages() == 10);

    pool.take(1);
    CHECK(pool.mapped_pages() == 10);
    pool.take(1);
    CHECK(pool.mapped_pages() == 11);
}

TEST_CASE("vpmm grows a free region at the end where it is", "[policy][vpmm]") {
    VpmmPool pool(each_harvest() + ",pages=6");
    const Allocation a = pool.take(3);
    const Allocation b = pool.take(3);
    pool.give(b);
    pool.give(a);

    const Allocation seven = pool.take(7);

    CHECK(seven.address == a.address);
    CHECK(pool.layout() == "[+7]");
    CHECK(pool.mapped_pages() == 7);
    CHECK(pool.totals().zombies == 0);
}

TEST_CASE("vpmm grows an empty pool only by what is missing", "[policy][vpmm]") {
    VpmmPool pool(each_harvest());
    const Allocation two = pool.take(2);
    pool.give(two);
    const Allocation four = pool.take(4);
    CHECK(pool.layout() == "[+4]");
    CHECK(pool.mapped_pages() == 4);
    pool.give(four);

    const Allocation first = pool.take(2);
    const Allocation second = pool.take(2);
    pool.give(std::min(first, second, [](const Allocation& a, const Allocation& b) {
        return a.address < b.address;
    }));
    pool.take(4);
    CHECK(pool.layout() == "[*2][2][+4]");
    CHECK(pool.mapped_pages() == 6);
}

TEST_CASE("vpmm puts scattered pages together again and again", "[policy][vpmm]") {
    VpmmPool pool(each_harvest() + ",pages=10");
    std::vector<Allocation> ones;
    for (int i = 0; i < 10; ++i)
        ones.push_back(pool.take(1));
    for (const std::size_t i : {1U, 3U, 5U, 7U, 9U, 0U, 2U, 4U, 6U, 8U})
        pool.give(ones[i]);
    const Allocation ten = pool.take(10);
    CHECK(pool.layout() == "[+10]");
    pool.give(ten);

    const Allocation six = pool.take(6);
    pool.take(4);
    pool.give(six);
    pool.take(7);
    CHECK(pool.layout() == "[*6][4][+7]");
    CHECK(pool.mapped_pages() == 11);
}

// What is left of a harvested region keeps its stream, its age and its event: nothing is recorded
// for it, and the wait that follows is for what it was let go after.
TEST_CASE("vpmm leaves the rest of a harvested region as it was", "[policy][vpmm]") {
    VpmmPool pool(each_harvest());
    const Allocation before = pool.take(1, 2);
    const Allocation two = pool.take(2, 1);
    const Allocation behind = pool.take(1, 2);
    pool.work(two, 1);
    pool.give(two);
    const AddressSpan region = pool.spans(AddressSpan::State::free).front();
    CHECK_FALSE(region.done);

    const Allocation one = pool.take(1, 2);

    CHECK(pool.layout() == "[1][*1][-1][1][+1]");
    const AddressSpan rest = pool.spans(AddressSpan::State::free).front();
    CHECK(rest.stream == StreamId{1});
    CHECK(rest.id == region.id);
    CHECK_FALSE(rest.done);
    CHECK(pool.spans(AddressSpan::State::zombie).front().id == region.id);
    // One for the region, when it was let go, and one for what the request was served from.
    CHECK(pool.calls(DeviceCall::record) == 2);
    pool.give(one);
    pool.give(before);
    pool.give(behind);
}

}  // namespace
}  // namespace tidemark
