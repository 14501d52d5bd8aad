// AddressMap against an ordered map that is searched the slow way.
#include "core/concurrent/address_map.h"

#include <map>

#include <catch2/catch.hpp>

#include "core/base/random.h"

using namespace tidemark;

namespace {

constexpr std::uint32_t kOwner = 3;

AddressMap::Entry& insert(AddressMap& map, std::uint64_t begin, Bytes size,
                          std::uint64_t number = 0) {
    if (map.full())
        map.make_room();
    return map.insert(
        {.address = Address{begin}, .requested = size, .size = size, .number = number}, 0, kOwner);
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
    insert(map, 0x1000, 0x300);

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
    AddressMap::Entry& first = insert(map, 0x1000, 0x300, 7);
    AddressMap::Entry& second = insert(map, 0x2000, 0x300, 8);
    CHECK(first.number == 7);
    CHECK(first.owner == kOwner);

    map.erase(first);

    CHECK(first.owner == AddressMap::kNobody);
    CHECK(map.size() == 1);
    CHECK(map.find(Address{0x1000}) == nullptr);
    CHECK(map.containing(Address{0x1100}) == nullptr);
    CHECK(map.containing(Address{0x2100}) == &second);
    CHECK(map.find(Address{0x2000}) == &second);
}

TEST_CASE("addresses at both ends of the address space are found", "[concurrent]") {
    AddressMap map;
    const std::uint64_t last = ~std::uint64_t{0} - 0xff;
    insert(map, 1, 1);
    insert(map, last, 0x100);
    insert(map, Bytes{1} << 60, Bytes{1} << 59);

    CHECK(begin_of(map.containing(Address{1})) == 1);
    CHECK(begin_of(map.containing(Address{~std::uint64_t{0}})) == last);
    CHECK(begin_of(map.containing(Address{(Bytes{1} << 60) + (Bytes{1} << 58)})) == Bytes{1} << 60);
    CHECK(map.containing(Address{2}) == nullptr);
}

TEST_CASE("a map that was cleared is empty and goes on", "[concurrent]") {
    AddressMap map;
    insert(map, 0x3000, 16);
    insert(map, 0x2000, 16);

    map.clear();

    CHECK(map.size() == 0);
    CHECK(map.find(Address{0x3000}) == nullptr);
    insert(map, 0x3000, 16);
    std::size_t visited = 0;
    map.for_each([&](const AddressMap::Entry&) { ++visited; });
    CHECK(visited == 1);
}

TEST_CASE("the map answers as an ordered map does, whatever comes and goes",
          "[concurrent][one-thread]") {
    AddressMap map;
    std::map<std::uint64_t, Bytes> model;
    Random random(1);
    for (int step = 0; step < 200'000; ++step) {
        // Slots of 1 MiB hold one range each, so that ranges never meet.
        const std::uint64_t slot = (1 + random.below(3000)) << 20U;
        const auto found = model.lower_bound(slot);
        const bool used = found != model.end() && found->first < slot + 1_MiB;
        if (!used) {
            const Bytes offset = random.below(4) * 77;
            const Bytes size = 1 + random.below(Bytes{1} << random.below(20));
            model.emplace(slot + offset, size);
            insert(map, slot + offset, size);
        } else if (random.below(2) == 0) {
            AddressMap::Entry* const entry = map.find(Address{found->first});
            REQUIRE(entry != nullptr);
            REQUIRE(entry->allocation.size == found->second);
            map.erase(*entry);
            model.erase(found);
        } else {
            const std::uint64_t address = found->first + random.below(found->second + 2);
            REQUIRE(begin_of(map.containing(Address{address})) == slow_containing(model, address));
            REQUIRE((map.find(Address{address}) != nullptr) == model.contains(address));
        }
    }
    CHECK(map.size() == model.size());
}

TEST_CASE("addresses that never come again don't make the map grow", "[concurrent][one-thread]") {
    AddressMap map;
    int rooms = 0;
    for (std::uint64_t i = 1; i < 200'000; ++i) {
        rooms += map.full() ? 1 : 0;
        map.erase(insert(map, i * 512, 512));
        REQUIRE(map.find(Address{i * 512}) == nullptr);
    }
    CHECK(rooms < 200);
}
