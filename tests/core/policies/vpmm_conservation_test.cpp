// vpmm: over long random runs on several streams every reserved address is in exactly one state
// after every operation, the books agree with the device, and the checker finds nothing.
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "core/base/random.h"
#include "tests/core/policies/vpmm_pool.h"

namespace tidemark {
namespace {

using support::small_device;
using support::VpmmPool;

// The spans tile every root, and their sums are what usage says.
std::string violation(VpmmPool& pool) {
    const AddressTotals totals = pool.totals();
    const Usage& usage = pool.allocator().usage();
    if (totals.allocated + totals.free + totals.waiting + totals.zombies + totals.holes +
            totals.stuck !=
        totals.reserved)
        return "addresses are lost";
    if (usage.reserved != pool.sim().memory().total - pool.sim().memory().free)
        return "the device has lent something else";
    if (totals.allocated + totals.free + totals.waiting + totals.stuck > usage.reserved)
        return "more is mapped than held";
    return {};
}

struct Held {
    Allocation allocation;
    std::uint32_t stream = 0;
};

void take_step(VpmmPool& pool, std::vector<Held>& held, Random& random) {
    const auto stream = static_cast<std::uint32_t>(random.below(3));
    const std::uint64_t kind = random.below(100);
    const std::size_t which = held.empty() ? 0 : random.below(held.size());
    if (kind < 45 || held.empty()) {
        const Bytes most = random.below(8) == 0 ? 40 : 8;
        const Bytes size = (1 + random.below(most)) * VpmmPool::kPage;
        const auto granted = pool.allocator().allocate({.size = size, .stream = StreamId{stream}});
        if (granted)
            held.push_back({*granted, stream});
    } else if (kind < 60) {
        pool.work(held[which].allocation, held[which].stream);
    } else if (kind < 62) {
        pool.sim().replay_clock()->recorded += 50'000'000;
    } else if (kind < 63) {
        pool.allocator().trim(random.below(4) == 0 ? TrimLevel::all : TrimLevel::unused);
    } else {
        pool.allocator().deallocate(held[which].allocation, StreamId{stream});
        held[which] = held.back();
        held.pop_back();
    }
}

void run(const std::string& options, std::uint64_t operations) {
    CAPTURE(options);
    VpmmPool pool(options, small_device(256_MiB));
    std::vector<Held> held;
    Random random(1);
    std::string bad;
    for (std::uint64_t i = 0; i < operations && bad.empty(); ++i) {
        take_step(pool, held, random);
        bad = violation(pool);
        if (held.size() > 24) {
            pool.allocator().deallocate(held.back().allocation, StreamId::default_stream);
            held.pop_back();
        }
    }
    CHECK(bad == "");
    CHECK(pool.allocator().stats().maps > operations / 1000);
    CHECK(pool.allocator().stats().unmaps > operations / 1000);
    for (const Held& one : held)
        pool.allocator().deallocate(one.allocation, StreamId::default_stream);
}

constexpr std::string_view kOptions[] = {
    "harvest=document",
    "harvest=source",
    "harvest=document,growth=cost,worth_waiting=8MiB,va_size=512MiB",
    "harvest=source,growth=grow,va_size=512MiB",
};

TEST_CASE("vpmm conserves addresses over random operations", "[policy][vpmm][defect]") {
    for (const std::string_view options : kOptions)
        run(std::string(options), 25'000);
}

TEST_CASE("vpmm conserves addresses over a million random operations", "[.long]") {
    for (const std::string_view options : kOptions)
        run(std::string(options), 1'000'000);
}

}  // namespace
}  // namespace tidemark
