// The simulator's plain memory, stream-ordered memory, order, capture and time.
#include "backends/sim/sim_device.h"

#include <set>

#include <catch2/catch.hpp>

#include "core/base/random.h"
#include "tests/support/device.h"

using namespace tidemark;
using support::kA;
using support::kB;
using support::status_of;

namespace {

const CostProfile& h200() {
    static const CostProfile profile = load_profile("h200").value();
    return profile;
}

std::uint64_t calls(const Device& device, DeviceCall call) {
    return device.counters().calls[static_cast<std::size_t>(call)];
}

Nanoseconds spent(const Device& device, DeviceCall call) {
    return device.counters().call_ns[static_cast<std::size_t>(call)];
}

}  // namespace

TEST_CASE("a device takes its memory from the profile unless told otherwise") {
    const SimDevice from_profile({.profile = &h200()});
    CHECK(from_profile.memory().total == 150109880320);
    CHECK(from_profile.memory().free == 150109880320);
    CHECK(from_profile.name() == "sim:h200");
    const SimDevice custom({.capacity = 1_GiB, .profile = &h200()});
    CHECK(custom.memory().total == 1_GiB);
    CHECK(custom.granularity() == 2_MiB);
    CHECK(custom.has(Feature::virtual_memory));
}

TEST_CASE("plain memory is counted in units of 512 bytes, and comes back") {
    SimDevice device({.capacity = 1_MiB});
    const Address a = device.malloc(1).value();
    CHECK(a == SimDevice::kFirstAddress);
    CHECK(device.memory().free == 1_MiB - 512);
    const Address b = device.malloc(513).value();
    CHECK(device.memory().free == 1_MiB - 512 - 1024);
    CHECK(device.free(a));
    CHECK(device.free(b));
    CHECK(device.memory().free == 1_MiB);
    CHECK(device.memory().total == 1_MiB);
}

TEST_CASE("a malloc beyond what is left is refused and changes nothing but the count") {
    SimDevice device({.capacity = 1_MiB, .profile = &h200()});
    REQUIRE(device.malloc(512_KiB));
    const Nanoseconds before = device.now();
    for (const Bytes size : {512_KiB + 1, 1_GiB, ~Bytes{0}, ~Bytes{0} - 510})
        CHECK(status_of(device.malloc(size)) == DeviceStatus::out_of_memory);
    CHECK(status_of(device.malloc(0)) == DeviceStatus::invalid_value);
    CHECK(device.memory().free == 512_KiB);
    CHECK(device.now() == before);
    CHECK(calls(device, DeviceCall::malloc) == 6);
    CHECK(device.malloc(512_KiB));
    CHECK(status_of(device.malloc(1)) == DeviceStatus::out_of_memory);
}

TEST_CASE("a capacity that is no multiple of 512 cannot be exceeded by rounding") {
    SimDevice device({.capacity = 1000});
    CHECK(device.malloc(512));
    CHECK(status_of(device.malloc(488)) == DeviceStatus::out_of_memory);
    SimDevice none({.capacity = 0});
    CHECK(status_of(none.malloc(1)) == DeviceStatus::out_of_memory);
}

TEST_CASE("free refuses what is not the beginning of live plain memory") {
    SimDevice device({.capacity = 1_GiB});
    const Address a = device.malloc(4096).value();
    const Address pool = device.malloc_async(4096, kA).value();
    const Address host = device.host_malloc(4096).value();
    const Range range = device.reserve(2_MiB).value();
    for (const Address wrong : {Address::null, a + 512, a + 4096, pool, host, range.begin})
        CHECK(status_of(device.free(wrong)) == DeviceStatus::invalid_value);
    CHECK(device.free(a));
    CHECK(status_of(device.free(a)) == DeviceStatus::invalid_value);
}

TEST_CASE("calls cost what the profile says, on the clock and in the counters") {
    SimDevice device({.profile = &h200()});
    const Address a = device.malloc(2_MiB).value();
    CHECK(device.now() == 28024);
    REQUIRE(device.free(a));
    CHECK(device.now() == 28024 + 24541);
    CHECK(spent(device, DeviceCall::malloc) == 28024);
    CHECK(spent(device, DeviceCall::free) == 24541);
    CHECK(device.counters().total_ns() == device.now());
    CHECK(device.counters().stall_ns == 0);
    device.replay_clock()->recorded = 1'000'000;
    CHECK(device.now() == 1'000'000 + 28024 + 24541);
}

TEST_CASE("free waits for all queued work, and the wait is a stall") {
    SimDevice device({.profile = &h200()});
    const Address a = device.malloc(1_GiB).value();
    const Nanoseconds begin = device.now();
    REQUIRE(device.fill(a, 0, 1_GiB, kA));
    CHECK(device.now() == begin);
    REQUIRE(device.free(a));
    CHECK(device.counters().stall_ns == 257946);
    CHECK(device.now() == begin + 257946 + h200().cost(DeviceCall::free, 1_GiB));
}

TEST_CASE("synchronize waits for one stream, synchronize_device for all") {
    SimDevice device({.profile = &h200()});
    const Address a = device.malloc(1_GiB).value();
    REQUIRE(device.fill(a, 0, 1_MiB, kA));
    REQUIRE(device.fill(a, 0, 1_GiB, kB));
    const Nanoseconds short_fill = h200().duration(Transfer::fill, 1_MiB);
    REQUIRE(device.synchronize(kA));
    CHECK(device.counters().stall_ns == short_fill);
    REQUIRE(device.synchronize_device());
    const Nanoseconds other_cost = h200().cost(DeviceCall::synchronize, 0);
    CHECK(device.counters().stall_ns == 257946 - other_cost);
    REQUIRE(device.synchronize_device());
    CHECK(device.counters().stall_ns == 257946 - other_cost);
}

TEST_CASE("an event is complete when the work before it is done, and orders streams") {
    SimDevice device({.profile = &h200()});
    const Address a = device.malloc(1_GiB).value();
    REQUIRE(device.fill(a, 0, 1_GiB, kA));
    const EventId event = device.record(kA).value();
    CHECK_FALSE(device.complete(event).value());
    REQUIRE(device.wait(kB, event));
    REQUIRE(device.synchronize(kB));
    CHECK(device.complete(event).value());
    CHECK(device.counters().stall_ns > 200'000);
    CHECK(device.record(kA).value() != event);
    CHECK(status_of(device.complete(EventId{99})) == DeviceStatus::invalid_value);
    CHECK(status_of(device.wait(kA, EventId{99})) == DeviceStatus::invalid_value);
}

TEST_CASE("stream-ordered memory is counted as what the pool holds, in 32 MiB") {
    SimDevice device({.capacity = 100_MiB});
    REQUIRE(device.malloc_async(1, kA));
    CHECK(device.memory().free == 68_MiB);
    REQUIRE(device.malloc_async(31_MiB, kA));
    CHECK(device.memory().free == 68_MiB);
    REQUIRE(device.malloc_async(33_MiB, kA));
    CHECK(device.memory().free == 4_MiB);
    CHECK(status_of(device.malloc_async(32_MiB, kA)) == DeviceStatus::out_of_memory);
    CHECK(status_of(device.malloc_async(0, kA)) == DeviceStatus::invalid_value);
    CHECK(status_of(device.malloc_async(~Bytes{0}, kA)) == DeviceStatus::out_of_memory);
    CHECK(device.memory().free == 4_MiB);
}

TEST_CASE("memory freed on a stream serves that stream at once, of equal pieces the first freed") {
    SimDevice device({.capacity = 100_MiB});
    const Address a = device.malloc_async(1_MiB, kA).value();
    const Address b = device.malloc_async(1_MiB, kA).value();
    const Address c = device.malloc_async(1_MiB, kA).value();
    REQUIRE(device.free_async(c, kA));
    REQUIRE(device.free_async(a, kA));
    CHECK(device.malloc_async(512_KiB, kA).value() == c);
    CHECK(device.malloc_async(1_MiB, kA).value() == a);
    REQUIRE(device.free_async(a, kA));
    REQUIRE(device.free_async(b, kA));
    CHECK(device.malloc_async(1536_KiB, kA).value() == a);  // and half of b
}

TEST_CASE("memory freed on a stream serves others when its point has passed") {
    SimDevice device({.profile = &h200()});
    const Address a = device.malloc_async(16_MiB, kA).value();
    REQUIRE(device.fill(a, 0, 16_MiB, kA));
    REQUIRE(device.free_async(a, kA));
    const Address other = device.malloc_async(16_MiB, kB).value();
    CHECK(other != a);
    device.replay_clock()->recorded += 1'000'000;
    CHECK(device.malloc_async(16_MiB, kB).value() == a);
}

TEST_CASE("the first malloc_async makes the pool; growing it costs extra; a warm one does not") {
    SimDevice device({.profile = &h200()});
    const Address first = device.malloc_async(512, kA).value();
    CHECK(device.now() == 7'348'591);
    REQUIRE(device.malloc_async(64_KiB, kA));
    CHECK(spent(device, DeviceCall::malloc_async) == 7'348'591 + 205);
    REQUIRE(device.malloc_async(64_MiB, kA));
    CHECK(spent(device, DeviceCall::malloc_async) == 7'348'591 + 205 + 26'465);
    REQUIRE(device.free_async(first, kA));
    CHECK(spent(device, DeviceCall::free_async) == 292);
}

TEST_CASE("the pool gives back what it holds beyond its threshold at a synchronization") {
    SimDevice device({.capacity = 1_GiB});
    const Address a = device.malloc_async(32_MiB, kA).value();
    const Address b = device.malloc_async(64_MiB, kA).value();
    REQUIRE(device.free_async(a, kA));
    REQUIRE(device.free_async(b, kA));
    CHECK(device.memory().free == 928_MiB);
    REQUIRE(device.set_pool_threshold(40_MiB));
    REQUIRE(device.synchronize(kA));
    CHECK(device.memory().free == 992_MiB);  // the highest chunks went
    CHECK(device.malloc_async(32_MiB, kA).value() == a);
    REQUIRE(device.set_pool_threshold(0));
    REQUIRE(device.synchronize_device());
    CHECK(device.memory().free == 992_MiB);  // it is in use
    REQUIRE(device.free_async(a, kA));
    REQUIRE(device.synchronize_device());
    CHECK(device.memory().free == 1_GiB);
}

TEST_CASE("trim_pool gives back free segments down to what is to be kept") {
    SimDevice device({.capacity = 1_GiB});
    REQUIRE(device.set_pool_threshold(1_GiB));
    const Address a = device.malloc_async(32_MiB, kA).value();
    const Address b = device.malloc_async(32_MiB, kA).value();
    REQUIRE(device.free_async(a, kA));
    REQUIRE(device.free_async(b, kA));
    REQUIRE(device.trim_pool(64_MiB));
    CHECK(device.memory().free == 960_MiB);
    REQUIRE(device.trim_pool(32_MiB));
    CHECK(device.memory().free == 992_MiB);
    REQUIRE(device.trim_pool(0));
    CHECK(device.memory().free == 1_GiB);
}

TEST_CASE("the pool empties itself before it refuses to grow") {
    SimDevice device({.capacity = 100_MiB});
    REQUIRE(device.set_pool_threshold(1_GiB));
    const Address a = device.malloc_async(32_MiB, kA).value();
    REQUIRE(device.free_async(a, kA));
    CHECK(device.malloc_async(96_MiB, kA));
    CHECK(device.memory().free == 4_MiB);
}

TEST_CASE("free_async refuses what is not live stream-ordered memory") {
    SimDevice device({.capacity = 1_GiB});
    const Address a = device.malloc_async(4096, kA).value();
    const Address plain = device.malloc(4096).value();
    for (const Address wrong : {Address::null, a + 512, plain})
        CHECK(status_of(device.free_async(wrong, kA)) == DeviceStatus::invalid_value);
    REQUIRE(device.free_async(a, kA));
    CHECK(status_of(device.free_async(a, kA)) == DeviceStatus::invalid_value);
}

TEST_CASE("live stream-ordered ranges never overlap") {
    SimDevice device({.capacity = 4_GiB, .profile = &h200()});
    Random random(7);
    std::vector<Range> live;
    for (int step = 0; step < 2000; ++step) {
        const StreamId stream{static_cast<std::uint32_t>(random.below(3))};
        if (random.below(5) < 3) {
            const Bytes size = 1 + random.below(Bytes{1} << random.below(25));
            if (const auto address = device.malloc_async(size, stream)) {
                live.push_back({*address, size});
                REQUIRE(device.fill(*address, 1, size, stream));
            }
        } else if (!live.empty()) {
            std::swap(live[random.below(live.size())], live.back());
            REQUIRE(device.free_async(live.back().begin, stream));
            live.pop_back();
        }
        if (random.below(100) == 0)
            REQUIRE(device.synchronize(stream));
    }
    REQUIRE(live.size() > 100);
    std::ranges::sort(live, {}, &Range::begin);
    for (std::size_t i = 1; i < live.size(); ++i)
        REQUIRE(live[i - 1].begin + live[i - 1].size <= live[i].begin);
    for (const Range& range : live)
        REQUIRE(device.free_async(range.begin, kA));
    REQUIRE(device.synchronize_device());
    CHECK(device.memory().free == 4_GiB);
}

TEST_CASE("while a graph is captured, calls that wait or ask are not permitted") {
    SimDevice device({.capacity = 1_GiB});
    const Address plain = device.malloc(512).value();
    const Address host = device.host_malloc(512).value();
    const EventId event = device.record(kB).value();
    CHECK_FALSE(device.end_capture(kA));
    REQUIRE(device.begin_capture(kA));
    CHECK_FALSE(device.begin_capture(kA));
    CHECK(device.capturing());
    CHECK(status_of(device.free(plain)) == DeviceStatus::not_permitted);
    CHECK(status_of(device.host_free(host)) == DeviceStatus::not_permitted);
    CHECK(status_of(device.complete(event)) == DeviceStatus::not_permitted);
    CHECK(status_of(device.synchronize(kB)) == DeviceStatus::not_permitted);
    CHECK(status_of(device.synchronize_device()) == DeviceStatus::not_permitted);
    CHECK(status_of(device.trim_pool(0)) == DeviceStatus::not_permitted);
    CHECK(device.malloc(512));
    CHECK(device.record(kA));
    CHECK(device.wait(kB, event));
    REQUIRE(device.end_capture(kA));
    CHECK_FALSE(device.capturing());
    CHECK(device.free(plain));
    CHECK(device.host_free(host));
    CHECK(device.synchronize_device());
}

TEST_CASE("what is queued on a captured stream takes no time") {
    SimDevice device({.profile = &h200()});
    const Address a = device.malloc(1_GiB).value();
    REQUIRE(device.begin_capture(kA));
    REQUIRE(device.fill(a, 0, 1_GiB, kA));
    REQUIRE(device.end_capture(kA));
    REQUIRE(device.synchronize_device());
    CHECK(device.counters().stall_ns == 0);
}

TEST_CASE("host memory is bounded, counted and given back") {
    SimDevice device({.capacity = 1_GiB, .host_capacity = 1_MiB});
    const Address a = device.host_malloc(512_KiB).value();
    CHECK(status_of(device.host_malloc(512_KiB + 1)) == DeviceStatus::out_of_memory);
    CHECK(status_of(device.host_malloc(~Bytes{0})) == DeviceStatus::out_of_memory);
    CHECK(status_of(device.host_malloc(0)) == DeviceStatus::invalid_value);
    CHECK(status_of(device.host_free(a + 512)) == DeviceStatus::invalid_value);
    CHECK(device.memory().free == 1_GiB);
    REQUIRE(device.host_free(a));
    CHECK(status_of(device.host_free(a)) == DeviceStatus::invalid_value);
    CHECK(device.host_malloc(1_MiB));
}

TEST_CASE("the same calls give the same addresses and times, also after a clone") {
    SimDevice first({.profile = &h200()});
    std::vector<Address> live;
    const auto work = [&live](SimDevice& device) {
        std::vector<std::uint64_t> answers;
        std::vector<Address> mine = live;
        Random random(3);
        for (int i = 0; i < 300; ++i) {
            device.replay_clock()->recorded += 100;
            if (random.below(3) != 0 || mine.empty()) {
                mine.push_back(device.malloc(1 + random.below(8_MiB)).value());
                answers.push_back(to_integer(mine.back()));
            } else {
                REQUIRE(device.free(mine.back()));
                mine.pop_back();
            }
            answers.push_back(static_cast<std::uint64_t>(device.now()));
        }
        return std::pair{answers, mine};
    };
    live = work(first).second;
    const std::unique_ptr<SimDevice> second = first.clone();
    CHECK(second->memory().free == first.memory().free);
    CHECK(work(first).first == work(*second).first);
    CHECK(second->now() == first.now());
}

TEST_CASE("kinds of memory never share addresses, whatever the capacity") {
    const Bytes capacity = GENERATE(as<Bytes>{}, 1_MiB, 141_GiB, SimDevice::kLargestCapacity);
    SimDevice device({.capacity = capacity});
    const Range plain{device.malloc(capacity).value(), capacity};
    REQUIRE(device.free(plain.begin));
    std::vector<Range> ranges = {
        plain, {device.host_malloc(1_MiB).value(), 1_MiB}, device.reserve(8192_GiB).value()};
    if (capacity > 32_MiB)
        ranges.push_back({device.malloc_async(32_MiB, kA).value(), 32_MiB});
    std::ranges::sort(ranges, {}, &Range::begin);
    for (std::size_t i = 1; i < ranges.size(); ++i)
        CHECK(ranges[i - 1].begin + ranges[i - 1].size <= ranges[i].begin);
}
