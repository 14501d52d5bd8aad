// What is reported of memory that is mapped at several places: which of them counts.
#include "backends/wrap/observed_device.h"

#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "tests/support/policy.h"

namespace tidemark {
namespace {

// Addresses and sizes in pages of 2 MiB behind the first reservation, "< n": counts at n.
class Reports final : public MemoryObserver {
  public:
    void on_segment(SegmentChange change, Range range, StreamId /*stream*/, Address home) override {
        if (change == SegmentChange::reserve && base == Address::null)
            base = range.begin;
        if (change != SegmentChange::map && change != SegmentChange::unmap)
            return;
        list.push_back(
            fmt::format("{}{} x{}{}", change == SegmentChange::map ? '+' : '-',
                        (range.begin - base) / 2_MiB, range.size / 2_MiB,
                        home == Address::null ? "" : fmt::format(" < {}", (home - base) / 2_MiB)));
    }

    std::vector<std::string> take() { return std::exchange(list, {}); }

    Address base = Address::null;
    std::vector<std::string> list;
};

using Lines = std::vector<std::string>;

TEST_CASE("A second mapping is reported with its home, and takes over when that ends") {
    SimDevice inner(support::small_device(256_MiB));
    Reports reports;
    ObservedDevice device(inner, reports);
    const Range all = *device.reserve(32_MiB);
    const auto at = [&](Bytes page, Bytes pages = 1) {
        return Range{all.begin + page * 2_MiB, pages * 2_MiB};
    };
    std::vector<PhysicalId> pages;
    for (Bytes i = 0; i < 3; ++i) {
        pages.push_back(*device.create({}, 2_MiB));
        REQUIRE(device.map(at(i), pages.back()));
    }
    CHECK(reports.take() == Lines{"+0 x1", "+1 x1", "+2 x1"});

    REQUIRE(device.map(at(8), pages[1]));
    REQUIRE(device.map(at(9), pages[2]));
    REQUIRE(device.map(at(12), pages[1]));
    CHECK(reports.take() == Lines{"+8 x1 < 1", "+9 x1 < 2", "+12 x1 < 1"});

    // All homes in one call: the oldest of the other places are it now.
    REQUIRE(device.unmap(at(0, 3)));
    CHECK(reports.take() ==
          Lines{"-0 x3", "-8 x1 < 1", "-12 x1 < 1", "-9 x1 < 2", "+8 x1", "+12 x1 < 8", "+9 x1"});

    REQUIRE(device.unmap(at(12)));
    REQUIRE(device.unmap(at(8, 2)));
    CHECK(reports.take() == Lines{"-12 x1 < 8", "-8 x2"});
    for (const PhysicalId page : pages)
        REQUIRE(device.release(page));
}

TEST_CASE("What was mapped before anybody looked is reported as it is unmapped") {
    SimDevice inner(support::small_device(256_MiB));
    const Range range = *inner.reserve(4_MiB);
    const PhysicalId page = *inner.create({}, 4_MiB);
    REQUIRE(inner.map(range, page));
    Reports reports;
    reports.base = range.begin;
    ObservedDevice device(inner, reports);

    REQUIRE(device.unmap(range));

    CHECK(reports.take() == Lines{"-0 x2"});
    REQUIRE(inner.release(page));
}

}  // namespace
}  // namespace tidemark
