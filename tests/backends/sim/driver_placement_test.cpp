// Where the driver puts plain memory: against addresses that one gave, rule by rule, and beside a
// simulated device's other memory.
#include "backends/sim/driver_placement.h"

#include <algorithm>
#include <map>
#include <vector>

#include <catch2/catch.hpp>

#include "backends/sim/sim_device.h"
#include "core/base/random.h"

using namespace tidemark;

namespace {

constexpr Range kSpan{Address{Bytes{1} << 44}, Bytes{1} << 44};

// A request of so many MiB, or with 0 the free of what lies there; and where it lies, in MiB from
// the lowest address.
struct Recorded {
    Bytes size;
    Bytes at;
};

// The segments of a PyTorch program under a limit of 2.9 GiB on an H200, from its first one on.
// clang-format off
constexpr Recorded kRecorded[] = {
    {20, 4456}, {2, 4382}, {184, 3776}, {12, 3744}, {96, 3648}, {38, 3584}, {96, 3488},
    {14, 3622}, {44, 3424}, {2, 3468}, {2, 3470}, {2, 3472}, {48, 3360}, {200, 3136},
    {88, 3040}, {224, 2816}, {2, 3128}, {2, 3130}, {2, 3132}, {2, 3134}, {2, 3336},
    {248, 2560}, {2, 2808}, {176, 2368}, {136, 2208}, {208, 1984}, {256, 1728}, {2, 2192},
    {224, 1504}, {256, 1248}, {2, 2194}, {2, 2196}, {2, 2198}, {2, 2200}, {2, 2202},
    {2, 2204}, {0, 2560}, {0, 1728}, {256, 992}, {184, 2560}, {0, 3360}, {0, 2368},
    {0, 2196}, {0, 2198}, {0, 2200}, {0, 2204}, {0, 2808}, {0, 3134}, {168, 1792}, {2, 1960},
    {2, 1962}, {88, 2464}, {2, 2552}, {2, 2554}, {40, 2744}, {232, 736}, {108, 608},
    {0, 2744}, {0, 608}, {0, 3136}, {224, 512}, {0, 736}, {256, 256}, {120, 3136}, {2, 2556},
    {2, 2558}, {0, 3136}, {0, 2560}, {0, 2552}, {0, 2558}, {208, 2592}, {2, 2800}, {2, 2802},
    {0, 3488}, {0, 1792}, {0, 2592}, {0, 512}, {0, 1504}, {0, 1248}, {0, 2556}, {224, 1568},
    {0, 1568}, {248, 1536}, {112, 2592}, {136, 1792}, {216, 1312}, {144, 3136}, {240, 736},
    {2, 976}, {2, 978}, {2, 980}, {0, 2592}, {240, 0}, {0, 3744}, {0, 3648}, {0, 1792},
    {0, 3136}, {0, 0}, {0, 736}, {0, 3128}, {2, 982}, {124, 736}, {100, 860}, {184, 2592},
    {240, 0}, {2, 240}, {108, 1792}, {2, 242}, {2, 244}, {136, 3136}
};

// clang-format on

// How many of the others lie below `address`.
template <class Key>
auto rank(const std::map<Key, Key>& live, Key address) {
    return std::distance(live.begin(), live.find(address));
}

Address taken(DriverPlacement& memory, Bytes size) {
    const std::optional<Address> address = memory.take(size);
    REQUIRE(address.has_value());
    return *address;
}

// Memory whose context's holes are filled.
DriverPlacement without_first_holes() {
    DriverPlacement memory(kSpan);
    memory.take(24_MiB);
    memory.take(2_MiB);
    return memory;
}

}  // namespace

TEST_CASE("a recorded sequence of sizes gets addresses in the recorded order") {
    DriverPlacement memory(kSpan);
    std::map<Bytes, Bytes> recorded;  // live: where, and as what address of ours
    std::map<Bytes, Bytes> ours;      // the other way round
    for (const Recorded& step : kRecorded) {
        if (step.size == 0) {
            const auto gone = recorded.find(step.at);
            REQUIRE(memory.give(Address{gone->second}) != 0);
            ours.erase(gone->second);
            recorded.erase(gone);
            continue;
        }
        const Bytes address = to_integer(taken(memory, step.size * 1_MiB));
        recorded.emplace(step.at, address);
        ours.emplace(address, step.at);
        INFO(step.size << " MiB at " << step.at);
        REQUIRE(rank(ours, address) == rank(recorded, step.at));
    }
    CHECK(ours.size() > 20);
}

TEST_CASE("the context leaves a hole of 24 MiB and, in a younger chunk, one of 2 MiB") {
    DriverPlacement memory(kSpan);
    const Address small = taken(memory, 2_MiB);
    const Address large = taken(memory, 20_MiB);
    const Address next = taken(memory, 2_MiB);
    const Address chunk = taken(memory, 20_MiB);
    CHECK(small < large);
    CHECK(next == large + 20_MiB);
    CHECK(chunk < small);
    CHECK(to_integer(chunk) % DriverPlacement::kChunk == 0);
    CHECK(to_integer(small + 2_MiB) % DriverPlacement::kChunk == 0);
}

TEST_CASE("what a context gives back late is filled from then on, its youngest chunk first") {
    DriverPlacement memory(kSpan, DriverPlacement::kLargestPage, {.after = 3, .size = 414_MiB});
    std::vector<Address> taken;
    for (int i = 0; i < 8; ++i)
        taken.push_back(*memory.take(30_MiB));
    // Three chunks below the context's, then the hole, upwards.
    CHECK(taken[2] < taken[1]);
    CHECK(taken[1] < taken[0]);
    CHECK(taken[3] > taken[0]);
    for (std::size_t i = 4; i < taken.size(); ++i)
        CHECK(taken[i] == taken[i - 1] + 30_MiB);
    for (const Address address : taken)
        CHECK(memory.give(address) == 30_MiB);
    CHECK(memory.take(414_MiB) == taken[3]);
}

TEST_CASE("chunks are taken downwards and filled upwards, the youngest first") {
    DriverPlacement memory = without_first_holes();
    const Address a = taken(memory, 40_MiB);
    const Address b = taken(memory, 40_MiB);
    CHECK(b == Address{to_integer(a) - 64_MiB});
    CHECK(taken(memory, 20_MiB) == b + 40_MiB);
    CHECK(taken(memory, 20_MiB) == a + 40_MiB);
    CHECK(taken(memory, 2_MiB) == b + 60_MiB);
    CHECK(taken(memory, 4_MiB) == a + 60_MiB);
}

TEST_CASE("within a chunk the smallest hole is taken, of equals the lowest") {
    DriverPlacement memory = without_first_holes();
    const Address begin = taken(memory, 40_MiB);
    const Address hole = taken(memory, 4_MiB);
    taken(memory, 2_MiB);
    const Address equal = taken(memory, 4_MiB);
    taken(memory, 2_MiB);
    const Address rest = taken(memory, 12_MiB);
    CHECK(rest == begin + 52_MiB);
    for (const Address freed : {begin, hole, equal})
        memory.give(freed);
    CHECK(taken(memory, 4_MiB) == equal);  // the hole before it has merged with 40 MiB
    memory.give(rest);
    CHECK(taken(memory, 2_MiB) == rest);
    CHECK(taken(memory, 12_MiB) == begin);
}

TEST_CASE("a chunk that is free is given back, and its gap is used when it is more than filled") {
    DriverPlacement memory = without_first_holes();
    const Address high = taken(memory, 64_MiB);
    const Address low = taken(memory, 64_MiB);
    memory.give(high);
    const Address lowest = taken(memory, 64_MiB);
    CHECK(lowest == Address{to_integer(low) - 64_MiB});  // the gap has exactly 64 MiB
    CHECK(taken(memory, 32_MiB) == high + 32_MiB);
    memory.give(low);
    CHECK(taken(memory, 64_MiB) == low + 32_MiB);  // from the merged gap of 96 MiB
}

TEST_CASE("multiples of 512 MiB are aligned to as much") {
    DriverPlacement memory = without_first_holes();
    const Address below = taken(memory, 510_MiB);
    CHECK(to_integer(below) % 512_MiB == 448_MiB);  // beneath the context's two chunks
    const Address aligned = taken(memory, 1024_MiB);
    CHECK(aligned == Address{to_integer(below) - 448_MiB - 1024_MiB});
    CHECK(taken(memory, 256_MiB) == Address{to_integer(below) - 256_MiB});  // between the two
}

TEST_CASE("only live beginnings of driver placement can be given back, once") {
    DriverPlacement memory(kSpan);
    const Address a = taken(memory, 3_MiB);
    CHECK(memory.find(a) == Range{a, 3_MiB});
    CHECK(memory.find(a + (3_MiB - 1)) == Range{a, 3_MiB});
    CHECK(memory.find(a + 3_MiB).size == 0);
    CHECK(memory.give(a + 2_MiB) == 0);
    CHECK(memory.give(Address::null) == 0);
    CHECK(memory.give(a) == 3_MiB);
    CHECK(memory.give(a) == 0);
    CHECK(memory.find(a).size == 0);
}

TEST_CASE("when no gap is as large there is no address") {
    DriverPlacement memory({kSpan.begin, 1_GiB});
    CHECK_FALSE(memory.take(2_GiB));
    CHECK_FALSE(memory.take(1_GiB));
    const Address a = taken(memory, 900_MiB);
    CHECK_FALSE(memory.take(200_MiB));
    memory.give(a);
    CHECK(memory.take(200_MiB));
}

TEST_CASE("driver placement never overlaps, and what was given back can be had again") {
    DriverPlacement memory(kSpan);
    Random random(11);
    std::map<Address, Bytes> live;
    std::vector<Address> order;
    for (int step = 0; step < 20000; ++step) {
        if (random.below(9) < 5 || order.empty()) {
            const Bytes size = (1 + random.below(Bytes{1} << (1 + random.below(9)))) * 2_MiB;
            const Address address = taken(memory, size);
            const auto next = live.lower_bound(address);
            REQUIRE((next == live.end() || address + size <= next->first));
            REQUIRE((next == live.begin() ||
                     std::prev(next)->first + std::prev(next)->second <= address));
            live.emplace(address, size);
            order.push_back(address);
        } else {
            std::swap(order[random.below(order.size())], order.back());
            REQUIRE(memory.give(order.back()) == live.at(order.back()));
            live.erase(order.back());
            order.pop_back();
        }
    }
    for (const Address address : order)
        memory.give(address);
    const DriverPlacement fresh(kSpan);
    DriverPlacement copy = fresh;
    CHECK(memory.take(1_GiB) == copy.take(1_GiB));
    CHECK(memory.take(20_MiB) == copy.take(20_MiB));
}

TEST_CASE("a device in the driver's order puts plain memory above its reservations") {
    SimDevice device({.capacity = 1_GiB, .backed = true, .placement = Placement::driver});
    const Address a = device.malloc(100_MiB).value();
    const Address b = device.malloc(100_MiB).value();
    const Address small = device.malloc(512).value();
    const Range range = device.reserve(64_MiB).value();
    CHECK(b == Address{to_integer(a) - 128_MiB});
    CHECK(range.begin < b);
    CHECK(device.memory().free == 1_GiB - 200_MiB - 512);
    const std::byte value{7};
    CHECK(device.write(b + 99_MiB, {&value, 1}));
    const std::unique_ptr<SimDevice> copy = device.clone();
    CHECK(device.free(b));
    CHECK_FALSE(device.free(b));
    CHECK(device.free(small));
    CHECK(device.malloc(100_MiB).value() == b);
    std::byte read{};
    CHECK(copy->read(b + 99_MiB, {&read, 1}));
    CHECK(read == value);
    CHECK(copy->free(b));
}
