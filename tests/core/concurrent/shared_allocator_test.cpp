// SharedAllocator in one thread: what it answers, what it counts, and how it ends.
#include "core/concurrent/shared_allocator.h"

#include <catch2/catch.hpp>

#include "backends/wrap/checked.h"
#include "core/allocator/spec.h"
#include "tests/support/policy.h"

using namespace tidemark;
using support::make_policy;
using support::small_device;

namespace {

struct Shell {
    explicit Shell(std::string_view policy = "best-fit", Bytes capacity = 256_MiB)
        : device(small_device(capacity)), shared(make_policy(policy, device), device) {}

    Address must_allocate(Bytes size, StreamId stream = StreamId::default_stream) {
        const auto range = shared.allocate({.size = size, .stream = stream});
        REQUIRE(range);
        return range->begin;
    }

    BadAddress must_reject(Address address) {
        const auto freed = shared.free(address, StreamId::default_stream);
        REQUIRE_FALSE(freed);
        return freed.error();
    }

    SimDevice device;
    SharedAllocator shared;
};

OutOfMemory::Cause cause_of(const tl::expected<Range, OutOfMemory>& refused) {
    REQUIRE_FALSE(refused);
    return refused.error().cause;
}

}  // namespace

TEST_CASE("an address is enough to free what was granted there", "[concurrent]") {
    Shell shell;
    const Address a = shell.must_allocate(1000);
    const Address b = shell.must_allocate(2000);

    CHECK(shell.shared.free(a, StreamId::default_stream));
    CHECK(shell.shared.free(b));

    const SharedStatus status = shell.shared.status();
    CHECK(status.live == 0);
    CHECK(status.granted == 2);
    CHECK(status.freed == 2);
    CHECK(status.requested == 0);
    CHECK(status.peak_requested.at_least == 3000);
    CHECK(status.peak_requested.at_most == 3000);
    CHECK(status.usage.allocated == 0);
    CHECK(status.peak_allocated.at_least >= 3000);
    CHECK(status.bad_addresses == 0);
}

TEST_CASE("an address that is not one comes back as a value and changes nothing", "[concurrent]") {
    Shell shell;
    const Address a = shell.must_allocate(1_MiB);
    const Address b = shell.must_allocate(1_MiB);
    REQUIRE(shell.shared.free(a));
    const SharedStatus before = shell.shared.status();

    CHECK(shell.must_reject(a) == BadAddress::freed_already);
    CHECK(shell.must_reject(b + 4096) == BadAddress::inside);
    CHECK(shell.must_reject(Address{0x77}) == BadAddress::unknown);
    CHECK(shell.shared.record_use(a, StreamId{3}).error() == BadAddress::freed_already);
    CHECK(shell.shared.record_use(Address::null, StreamId{3}).error() == BadAddress::unknown);

    const SharedStatus after = shell.shared.status();
    CHECK(after.bad_addresses == 5);
    CHECK(after.live == 1);
    CHECK(after.usage.allocated == before.usage.allocated);
    CHECK(after.freed == before.freed);
    CHECK(shell.shared.free(b));
}

TEST_CASE("an address that was freed and granted again is a good one", "[concurrent]") {
    Shell shell;
    const Address first = shell.must_allocate(1_MiB);
    REQUIRE(shell.shared.free(first));
    const Address second = shell.must_allocate(1_MiB);
    REQUIRE(second == first);

    CHECK(shell.shared.free(second));
    CHECK(shell.must_reject(second) == BadAddress::freed_already);
}

TEST_CASE("a free with another size than was requested is refused", "[concurrent]") {
    Shell shell;
    const Address a = shell.must_allocate(1000);

    CHECK(shell.shared.free(a, StreamId::default_stream, 1024).error() == BadAddress::other_size);
    CHECK(shell.shared.status().bad_addresses == 1);
    CHECK(shell.shared.status().live == 1);
    CHECK(shell.shared.free(a, StreamId::default_stream, 1000));
}

TEST_CASE("a tag is told again", "[concurrent]") {
    Shell shell;
    const auto range = shell.shared.allocate({.size = 1000}, 77);
    REQUIRE(range);

    CHECK(shell.shared.range_of(range->begin + 5)->tag == 77);
    CHECK(shell.shared.live()[0].tag == 77);
}

TEST_CASE("null is freed without effect", "[concurrent]") {
    Shell shell;

    CHECK(shell.shared.free(Address::null));
    CHECK(shell.shared.status().freed == 0);
    CHECK(shell.shared.status().bad_addresses == 0);
}

TEST_CASE("an interior pointer is answered with its allocation, not its segment", "[concurrent]") {
    Shell shell;
    const Address a = shell.must_allocate(5000, StreamId{2});
    const Address b = shell.must_allocate(700'000);

    const auto at_begin = shell.shared.range_of(a);
    const auto inside = shell.shared.range_of(b + 699'999);

    REQUIRE(at_begin);
    CHECK(at_begin->address == a);
    CHECK(at_begin->requested == 5000);
    CHECK(at_begin->size >= 5000);
    CHECK(at_begin->stream == StreamId{2});
    REQUIRE(inside);
    CHECK(inside->address == b);
    CHECK_FALSE(shell.shared.range_of(Address{0x77}));
    REQUIRE(shell.shared.free(b));
    CHECK_FALSE(shell.shared.range_of(b + 5));
}

TEST_CASE("a free without a stream is on the stream of the grant", "[concurrent]") {
    Shell shell("torch");
    const Address a = shell.must_allocate(4_MiB, StreamId{5});
    REQUIRE(shell.shared.free(a));

    CHECK(shell.must_allocate(4_MiB, StreamId{5}) == a);
}

TEST_CASE("memory in use on another stream is not granted again before that is done",
          "[concurrent]") {
    Shell shell("torch");
    const Address a = shell.must_allocate(4_MiB, StreamId{1});
    shell.shared.locked([&](Allocator&, Device& device) {
        REQUIRE(device.fill(a, 1, 4_MiB, StreamId{2}));
        return 0;
    });
    REQUIRE(shell.shared.record_use(a, StreamId{2}));
    REQUIRE(shell.shared.free(a));

    CHECK(shell.must_allocate(4_MiB, StreamId{1}) != a);
    CHECK(shell.shared.status().record_uses == 1);
}

TEST_CASE("a limit on what is asked for refuses, and lifting it grants", "[concurrent]") {
    Shell shell;
    shell.shared.set_limit(10_MiB);
    const Address a = shell.must_allocate(8_MiB);

    CHECK(cause_of(shell.shared.allocate({.size = 4_MiB})) == OutOfMemory::Cause::limit);
    CHECK(shell.shared.status().refused == 1);
    CHECK(shell.shared.status().requested == 8_MiB);
    CHECK(shell.shared.status().limit == 10_MiB);
    CHECK(shell.shared.allocate({.size = 2_MiB}));

    shell.shared.set_limit(0);
    CHECK(shell.shared.allocate({.size = 4_MiB}));
    CHECK(shell.shared.free(a));
}

TEST_CASE("requests that no policy may be shown are refused", "[concurrent]") {
    Shell shell;

    const auto crooked = shell.shared.allocate({.size = 4096, .alignment = 24});
    const auto none = shell.shared.allocate({.size = 4096, .alignment = 0});
    const auto wide = shell.shared.allocate({.size = 4096, .alignment = 4_GiB});

    CHECK(cause_of(crooked) == OutOfMemory::Cause::device_error);
    CHECK(crooked.error().status == DeviceStatus::invalid_value);
    CHECK(cause_of(none) == OutOfMemory::Cause::device_error);
    CHECK(cause_of(wide) == OutOfMemory::Cause::device_error);
    CHECK(cause_of(shell.shared.allocate({.size = kLargestRequest})) ==
          OutOfMemory::Cause::too_large);
    CHECK(cause_of(shell.shared.allocate({.size = 1_GiB})) == OutOfMemory::Cause::device_full);
    CHECK(shell.shared.status().refused == 5);
}

TEST_CASE("what still lives is told when the allocator is closed, and later frees are harmless",
          "[concurrent]") {
    Shell shell;
    const Address a = shell.must_allocate(1000);
    const Address b = shell.must_allocate(2000, StreamId{4});
    const Address c = shell.must_allocate(3000);
    REQUIRE(shell.shared.free(a));

    const std::vector<LiveAllocation> left = shell.shared.close();

    REQUIRE(left.size() == 2);
    CHECK(left[0].address == b);
    CHECK(left[0].requested == 2000);
    CHECK(left[0].stream == StreamId{4});
    CHECK(left[0].number == 1);
    CHECK(left[1].address == c);
    CHECK(shell.must_reject(b) == BadAddress::closed);
    CHECK(cause_of(shell.shared.allocate({.size = 1})) == OutOfMemory::Cause::device_error);
    CHECK_FALSE(shell.shared.range_of(b));
    CHECK_FALSE(shell.shared.reconfigure({}));
    shell.shared.trim(TrimLevel::all);
    CHECK(shell.shared.close().empty());
    CHECK(shell.shared.status().granted == 3);
}

TEST_CASE("the report of leaks is made once, and not at all if there are none", "[concurrent]") {
    SimDevice device(small_device(64_MiB));
    int reports = 0;
    std::size_t leaks = 0;
    const auto report = [&](std::span<const LiveAllocation> left) {
        ++reports;
        leaks = left.size();
    };
    {
        SharedAllocator shared(make_policy("torch", device), device, report);
        REQUIRE(shared.free(shared.allocate({.size = 512})->begin));
    }
    CHECK(reports == 0);
    {
        SharedAllocator shared(make_policy("torch", device), device, report);
        REQUIRE(shared.allocate({.size = 512}));
        REQUIRE(shared.allocate({.size = 512}));
    }
    CHECK(reports == 1);
    CHECK(leaks == 2);
}

TEST_CASE("every policy closes with all memory back on the device, or with what lives alone",
          "[concurrent]") {
    for (const PolicyInfo& policy : support::general_policies()) {
        INFO(policy.name);
        Shell shell(policy.name, 2_GiB);
        const Bytes free_before = shell.device.memory().free;
        REQUIRE(shell.shared.free(shell.must_allocate(3_MiB)));
        REQUIRE(shell.shared.free(shell.must_allocate(100)));

        CHECK(shell.shared.close().empty());
        CHECK(shell.device.memory().free == free_before);
    }
}

TEST_CASE("pools and new options reach the policy through the shell", "[concurrent]") {
    Shell shell("torch");
    const PoolId pool{1};
    shell.shared.begin_pool(pool, {});
    const auto pooled = shell.shared.allocate({.size = 4_MiB, .pool = pool});
    shell.shared.end_pool(pool);
    REQUIRE(pooled);
    CHECK(shell.shared.range_of(pooled->begin)->pool == pool);
    REQUIRE(shell.shared.free(pooled->begin));
    shell.shared.close_pool(pool);
    shell.shared.trim_pool(pool);
    CHECK(shell.shared.status().usage.reserved == 0);

    const auto spec = parse_policy("torch:limit=20MiB");
    REQUIRE(spec);
    REQUIRE(shell.shared.reconfigure(spec->options));
    CHECK(cause_of(shell.shared.allocate({.size = 64_MiB})) == OutOfMemory::Cause::limit);
}
