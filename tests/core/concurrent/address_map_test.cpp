// AddressMap against an ordered map that is searched the slow way.
#include "core/concurrent/address_map.h"

#include <map>

#include <catch2/catch.hpp>

#include "core/base/random.h"

using namespace tidemark;

namespace {

AddressMap::Entry entry_at(std::uint64_t begin, Bytes size, std::uint64_t number = 0) {
    AddressMap::Entry entry;
    entry.allocation = {Address{begin}, size, 0, false};
    entry.requested = size;
    entry.number = number;
    return entry;
}

// The answer of `containing` in a map from beginnings to sizes.
std::uint64_t slow_containing(const std::map<std::uint64_t, Bytes>& model, std::uint64_t address) {
    const auto after = model.upper_bound(address);
    if (after == model.begin())
        return 0;
    const auto& [begin, size] = *std::prev(after);
    return address - begin < size ? begin : 0;
}

std::uint64_t begin_of(const AddressMap::Entry* entry) {
    return entry == nullptr ? 0 : to_integer(entry->allocation.address);
}

}  // namespace

TEST_CASE("an allocation is found at its beginning and anywhere inside", "[concurrent]") {
    AddressMap map;
    map.insert(entry_at(0x1000, 0x300));

    CHECK(map.find(Address{0x1000}) != nullptr);
    CHECK(map.find(Address{0x1001}) == nullptr);
    CHECK(begin_of(map.containing(Address{0x1000})) == 0x1000);
    CHECK(begin_of(map.containing(Address{0x12ff})) == 0x1000);
    CHECK(map.containing(Address{0x1300}) == nullptr);
    CHECK(map.containing(Address{0xfff}) == nullptr);
    CHECK(map.containing(Address::null) == nullptr);
}

TEST_CASE("what was taken is gone, and what is left stays where it was", "[concurrent]") {
    AddressMap map;
    AddressMap::Entry taken;
    CHECK_FALSE(map.take(Address{0x1000}, taken));
    map.insert(entry_at(0x1000, 0x300, 7));
    map.insert(entry_at(0x2000, 0x300, 8));

    REQUIRE(map.take(Address{0x1000}, taken));

    CHECK(taken.number == 7);
    CHECK(map.size() == 1);
    CHECK(map.containing(Address{0x1100}) == nullptr);
    CHECK(begin_of(map.containing(Address{0x2100})) == 0x2000);
    CHECK_FALSE(map.take(Address{0x1000}, taken));
}

TEST_CASE("addresses at both ends of the address space are found", "[concurrent]") {
    AddressMap map;
    const std::uint64_t last = ~std::uint64_t{0} - 0xff;
    map.insert(entry_at(1, 1));
    map.insert(entry_at(last, 0x100));
    map.insert(entry_at(Bytes{1} << 60, Bytes{1} << 59));

    CHECK(begin_of(map.containing(Address{1})) == 1);
    CHECK(begin_of(map.containing(Address{~std::uint64_t{0}})) == last);
    CHECK(begin_of(map.containing(Address{(Bytes{1} << 60) + (Bytes{1} << 58)})) == Bytes{1} << 60);
    CHECK(map.containing(Address{2}) == nullptr);
}

TEST_CASE("all are listed in the order of their numbers", "[concurrent]") {
    AddressMap map;
    AddressMap::Entry taken;
    map.insert(entry_at(0x3000, 16, 0));
    map.insert(entry_at(0x2000, 16, 1));
    map.insert(entry_at(0x4000, 16, 2));
    map.take(Address{0x2000}, taken);
    map.insert(entry_at(0x1000, 16, 3));

    const std::vector<LiveAllocation> all = map.all();

    REQUIRE(all.size() == 3);
    CHECK(all[0].address == Address{0x3000});
    CHECK(all[1].address == Address{0x4000});
    CHECK(all[2].address == Address{0x1000});
}

TEST_CASE("the map answers as an ordered map does, whatever comes and goes", "[concurrent]") {
    AddressMap map;
    std::map<std::uint64_t, Bytes> model;
    Random random(1);
    AddressMap::Entry taken;
    for (int step = 0; step < 200'000; ++step) {
        // Slots of 1 MiB hold one range each, so that ranges never meet.
        const std::uint64_t slot = (1 + random.below(3000)) << 20U;
        const auto found = model.lower_bound(slot);
        const bool used = found != model.end() && found->first < slot + 1_MiB;
        if (!used) {
            const Bytes offset = random.below(4) * 77;
            const Bytes size = 1 + random.below(Bytes{1} << random.below(20));
            model.emplace(slot + offset, size);
            map.insert(entry_at(slot + offset, size));
        } else if (random.below(2) == 0) {
            REQUIRE(map.take(Address{found->first}, taken));
            REQUIRE(taken.allocation.size == found->second);
            model.erase(found);
        } else {
            const std::uint64_t address = found->first + random.below(found->second + 2);
            REQUIRE(begin_of(map.containing(Address{address})) == slow_containing(model, address));
            REQUIRE((map.find(Address{address}) != nullptr) == model.contains(address));
        }
    }
    CHECK(map.size() == model.size());
    CHECK(map.all().size() == model.size());
}
