// Reservations, handles, mappings, and the bytes behind them.
#include <array>
#include <cstring>

#include <catch2/catch.hpp>

#include "backends/sim/sim_device.h"
#include "tests/support/device.h"

using namespace tidemark;
using support::kA;
using support::status_of;

namespace {

constexpr Location kHere{};

Range part(Range range, Bytes offset, Bytes size) {
    return {range.begin + offset, size};
}

// The byte at `address`, which must be accessible.
std::byte byte_at(const SimDevice& device, Address address) {
    std::array<std::byte, 1> bytes{};
    REQUIRE(device.read(address, bytes));
    return bytes[0];
}

}  // namespace

TEST_CASE("each reservation begins at the end of the one before, rounded up to 32 MiB") {
    SimDevice device({.capacity = 1_GiB});
    const Range a = device.reserve(30_MiB).value();
    const Range b = device.reserve(32_MiB).value();
    const Range c = device.reserve(2_MiB).value();
    CHECK(to_integer(a.begin) % 32_MiB == 0);
    CHECK(a.size == 30_MiB);
    CHECK(b.begin == a.begin + 32_MiB);
    CHECK(c.begin == b.begin + 32_MiB);
    CHECK(device.memory().free == 1_GiB);
}

TEST_CASE("reservations have their own limits") {
    SimDevice device({.capacity = 1_GiB});
    CHECK(status_of(device.reserve(0)) == DeviceStatus::invalid_value);
    CHECK(status_of(device.reserve(1_MiB)) == DeviceStatus::invalid_value);
    CHECK(status_of(device.reserve(Bytes{1} << 60)) == DeviceStatus::address_space);
    const Range half = device.reserve(Bytes{1} << 49).value();
    CHECK(device.reserve(Bytes{1} << 49));
    CHECK(status_of(device.reserve(2_MiB)) == DeviceStatus::address_space);
    CHECK(status_of(device.unreserve(part(half, 0, 2_MiB))) == DeviceStatus::invalid_value);
    CHECK(status_of(device.unreserve(part(half, 2_MiB, half.size))) == DeviceStatus::invalid_value);
    REQUIRE(device.unreserve(half));
    CHECK(status_of(device.unreserve(half)) == DeviceStatus::invalid_value);
    CHECK(device.reserve(2_MiB).value().begin == half.begin);
}

TEST_CASE("handles are counted until they are released") {
    SimDevice device({.capacity = 8_MiB});
    const PhysicalId a = device.create(kHere, 6_MiB).value();
    CHECK(device.memory().free == 2_MiB);
    CHECK(status_of(device.create(kHere, 4_MiB)) == DeviceStatus::out_of_memory);
    CHECK(status_of(device.create(kHere, 0)) == DeviceStatus::invalid_value);
    CHECK(status_of(device.create(kHere, 1_MiB)) == DeviceStatus::invalid_value);
    CHECK(status_of(device.create({Location::Kind::host, 0}, 2_MiB)) ==
          DeviceStatus::not_supported);
    CHECK(status_of(device.create({Location::Kind::device, 1}, 2_MiB)) ==
          DeviceStatus::not_supported);
    REQUIRE(device.release(a));
    CHECK(device.memory().free == 8_MiB);
    CHECK(status_of(device.release(a)) == DeviceStatus::invalid_value);
    CHECK(status_of(device.release(PhysicalId{77})) == DeviceStatus::invalid_value);
    CHECK(device.create(kHere, 2_MiB).value() != a);
}

TEST_CASE("a mapping must lie in one reservation, on free addresses, on a live handle") {
    SimDevice device({.capacity = 1_GiB});
    const Range range = device.reserve(32_MiB).value();
    REQUIRE(device.reserve(32_MiB));  // adjacent
    const PhysicalId four = device.create(kHere, 4_MiB).value();
    const PhysicalId dead = device.create(kHere, 2_MiB).value();
    REQUIRE(device.release(dead));
    REQUIRE(device.map(part(range, 4_MiB, 4_MiB), four));

    const auto refused = [&](Range where, PhysicalId what) {
        return !device.map(where, what).has_value();
    };
    CHECK(refused(part(range, 0, 2_MiB), dead));
    CHECK(refused(part(range, 0, 2_MiB), PhysicalId{99}));
    CHECK(refused(part(range, 0, 0), four));
    CHECK(refused(part(range, 512_KiB, 2_MiB), four));
    CHECK(refused(part(range, 0, 1_MiB), four));
    CHECK(refused(part(range, 8_MiB, 6_MiB), four));     // larger than the handle
    CHECK(refused(part(range, 4_MiB, 4_MiB), four));     // taken
    CHECK(refused(part(range, 2_MiB, 4_MiB), four));     // taken at its end
    CHECK(refused(part(range, 6_MiB, 4_MiB), four));     // taken at its begin
    CHECK(refused(part(range, 30_MiB, 4_MiB), four));    // into the next reservation
    CHECK(refused({Address{2_MiB}, 2_MiB}, four));       // no reservation
    CHECK(device.map(part(range, 8_MiB, 4_MiB), four));  // a second mapping of the handle
    CHECK(device.map(part(range, 0, 2_MiB), four));      // a part of the handle
}

TEST_CASE("unmap takes whole mappings, one or several") {
    SimDevice device({.capacity = 1_GiB});
    const Range range = device.reserve(32_MiB).value();
    const PhysicalId handle = device.create(kHere, 2_MiB).value();
    for (const Bytes offset : {0_MiB, 2_MiB, 4_MiB, 8_MiB})
        REQUIRE(device.map(part(range, offset, 2_MiB), handle));
    CHECK(status_of(device.unmap(part(range, 0, 0))) == DeviceStatus::invalid_value);
    CHECK(status_of(device.unmap(part(range, 0, 1_MiB))) == DeviceStatus::invalid_value);
    CHECK(status_of(device.unmap(part(range, 1_MiB, 1_MiB))) == DeviceStatus::invalid_value);
    CHECK(status_of(device.unmap(part(range, 4_MiB, 6_MiB))) == DeviceStatus::invalid_value);
    CHECK(status_of(device.unmap(part(range, 6_MiB, 2_MiB))) == DeviceStatus::invalid_value);
    CHECK(device.unmap(part(range, 0, 6_MiB)));
    CHECK(status_of(device.unmap(part(range, 0, 2_MiB))) == DeviceStatus::invalid_value);
    CHECK(status_of(device.unreserve(range)) == DeviceStatus::invalid_value);
    CHECK(device.unmap(part(range, 8_MiB, 2_MiB)));
    CHECK(device.unreserve(range));
}

TEST_CASE("a handle's memory comes back when it is released and no longer mapped") {
    SimDevice device({.capacity = 4_MiB});
    const Range range = device.reserve(32_MiB).value();
    const PhysicalId handle = device.create(kHere, 2_MiB).value();
    REQUIRE(device.map(part(range, 0, 2_MiB), handle));
    REQUIRE(device.map(part(range, 2_MiB, 2_MiB), handle));
    REQUIRE(device.release(handle));
    CHECK(device.memory().free == 2_MiB);
    CHECK(status_of(device.map(part(range, 4_MiB, 2_MiB), handle)) == DeviceStatus::invalid_value);
    REQUIRE(device.unmap(part(range, 0, 2_MiB)));
    CHECK(device.memory().free == 2_MiB);
    REQUIRE(device.unmap(part(range, 2_MiB, 2_MiB)));
    CHECK(device.memory().free == 4_MiB);
}

TEST_CASE("access is set on whole mappings and decides what may be read and written") {
    SimDevice device({.capacity = 1_GiB, .backed = true});
    const Range range = device.reserve(32_MiB).value();
    const PhysicalId handle = device.create(kHere, 2_MiB).value();
    REQUIRE(device.map(part(range, 0, 2_MiB), handle));
    CHECK(status_of(device.set_access(part(range, 0, 4_MiB), true)) == DeviceStatus::invalid_value);
    CHECK(status_of(device.set_access(part(range, 0, 1_MiB), true)) == DeviceStatus::invalid_value);
    std::array<std::byte, 4> bytes{};
    CHECK_FALSE(device.read(range.begin, bytes));
    REQUIRE(device.set_access(part(range, 0, 2_MiB), false));
    CHECK(device.read(range.begin, bytes));
    CHECK_FALSE(device.write(range.begin, bytes));
    CHECK(status_of(device.fill(range.begin, 1, 4, kA)) == DeviceStatus::invalid_value);
    REQUIRE(device.set_access(part(range, 0, 2_MiB), true));
    CHECK(device.fill(range.begin, 1, 4, kA));
}

TEST_CASE("two mappings of one handle show the same bytes") {
    SimDevice device({.capacity = 1_GiB, .backed = true});
    const Range range = device.reserve(32_MiB).value();
    const PhysicalId a = device.create(kHere, 2_MiB).value();
    const PhysicalId b = device.create(kHere, 2_MiB).value();
    REQUIRE(device.map(part(range, 0, 2_MiB), a));
    REQUIRE(device.map(part(range, 2_MiB, 2_MiB), b));
    REQUIRE(device.map(part(range, 4_MiB, 2_MiB), a));
    REQUIRE(device.set_access(part(range, 0, 6_MiB), true));
    // Across the border between two mappings.
    REQUIRE(device.fill(range.begin + (2_MiB - 2), 0x11, 4, kA));
    CHECK(byte_at(device, range.begin + (6_MiB - 1)) == std::byte{0x11});
    CHECK(byte_at(device, range.begin + 4_MiB) == ByteStore::kUnwritten);
    CHECK(byte_at(device, range.begin + (2_MiB + 1)) == std::byte{0x11});
    REQUIRE(device.unmap(part(range, 0, 2_MiB)));
    CHECK(byte_at(device, range.begin + (6_MiB - 1)) == std::byte{0x11});
    REQUIRE(device.release(b));
    REQUIRE(device.unmap(part(range, 2_MiB, 2_MiB)));
    const PhysicalId fresh = device.create(kHere, 2_MiB).value();
    REQUIRE(device.map(part(range, 2_MiB, 2_MiB), fresh));
    REQUIRE(device.set_access(part(range, 2_MiB, 2_MiB), true));
    CHECK(byte_at(device, range.begin + (2_MiB + 1)) == ByteStore::kUnwritten);
}

TEST_CASE("calls on several mappings cost the sum of what each would") {
    const CostProfile profile = load_profile("h200").value();
    SimDevice device({.profile = &profile});
    const Range range = device.reserve(1_GiB).value();
    CHECK(device.now() == 1077);
    const PhysicalId handle = device.create(kHere, 2_MiB).value();
    CHECK(device.now() == 1077 + 5648);
    REQUIRE(device.map(part(range, 0, 2_MiB), handle));
    REQUIRE(device.map(part(range, 2_MiB, 2_MiB), handle));
    CHECK(device.now() == 1077 + 5648 + 2 * 511);
    REQUIRE(device.set_access(part(range, 0, 4_MiB), true));
    REQUIRE(device.unmap(part(range, 0, 4_MiB)));
    REQUIRE(device.release(handle));
    REQUIRE(device.unreserve(range));
    CHECK(device.now() == 1077 + 5648 + 2 * 511 + 2 * 18345 + 2 * 12261 + 6973 + 969);
}

TEST_CASE("copies move bytes between plain, pool, mapped and host memory") {
    const CostProfile profile = load_profile("h200").value();
    SimDevice device({.profile = &profile, .backed = true});
    const Bytes size = 200_KiB;
    const Address plain = device.malloc(size).value();
    const Address pool = device.malloc_async(size, kA).value();
    const Address host = device.host_malloc(size).value();
    const Range range = device.reserve(2_MiB).value();
    const PhysicalId handle = device.create(kHere, 2_MiB).value();
    REQUIRE(device.map(range, handle));
    REQUIRE(device.set_access(range, true));
    std::vector<std::byte> bytes(size);
    for (std::size_t i = 0; i < size; ++i)
        bytes[i] = static_cast<std::byte>(i * 7 >> 3);
    REQUIRE(device.write(host, bytes));
    REQUIRE(device.copy(plain, host, size, kA));
    REQUIRE(device.copy(pool, plain, size, kA));
    REQUIRE(device.copy(range.begin + 333, pool, size, kA));
    std::vector<std::byte> found(size);
    REQUIRE(device.read(range.begin + 333, found));
    CHECK(found == bytes);
    REQUIRE(device.copy(host, range.begin + 334, size - 1, kA));
    REQUIRE(device.read(host, found));
    CHECK(std::equal(bytes.begin() + 1, bytes.end(), found.begin()));
    CHECK(device.counters().copied_to_device == size);
    CHECK(device.counters().copied_on_device == 2 * size);
    CHECK(device.counters().copied_to_host == size - 1);
    const Nanoseconds begin = device.now();
    REQUIRE(device.synchronize(kA));
    CHECK(device.now() > begin + 20'000);
}

TEST_CASE("content is forgotten when memory is given back") {
    SimDevice device({.capacity = 1_GiB, .backed = true});
    const Address a = device.malloc(300_KiB).value();
    const Address next = device.malloc(300_KiB).value();
    REQUIRE(device.fill(a, 0x22, 300_KiB, kA));
    REQUIRE(device.fill(next, 0x33, 300_KiB, kA));
    CHECK(byte_at(device, a + (300_KiB - 1)) == std::byte{0x22});
    REQUIRE(device.free(a));
    const Address again = device.malloc(290_KiB).value();
    REQUIRE(again == a);
    CHECK(byte_at(device, a) == ByteStore::kUnwritten);
    CHECK(byte_at(device, a + (290_KiB - 1)) == ByteStore::kUnwritten);
    CHECK(byte_at(device, next) == std::byte{0x33});
}

TEST_CASE("copy and fill refuse anything outside one live piece of memory") {
    SimDevice device({.capacity = 1_GiB, .backed = true});
    const Address a = device.malloc(4096).value();
    const Address b = device.malloc(4096).value();
    REQUIRE(b == a + 4096);
    CHECK(status_of(device.fill(a, 0, 4097, kA)) == DeviceStatus::invalid_value);
    CHECK(status_of(device.fill(a, 0, 0, kA)) == DeviceStatus::invalid_value);
    CHECK(status_of(device.fill(a + 1, 0, ~Bytes{0}, kA)) == DeviceStatus::invalid_value);
    CHECK(status_of(device.fill(Address::null, 0, 1, kA)) == DeviceStatus::invalid_value);
    CHECK(status_of(device.copy(a, b, 4097, kA)) == DeviceStatus::invalid_value);
    CHECK(status_of(device.copy(a, b + 1, 4096, kA)) == DeviceStatus::invalid_value);
    CHECK(status_of(device.copy(b + 1, a, 4096, kA)) == DeviceStatus::invalid_value);
    CHECK(device.copy(a, b, 4096, kA));
    REQUIRE(device.free(b));
    CHECK(status_of(device.copy(a, b, 4096, kA)) == DeviceStatus::invalid_value);
}

TEST_CASE("without backing, content cannot be read or written, but moved in time") {
    SimDevice device({.capacity = 1_GiB});
    const Address a = device.malloc(4096).value();
    std::array<std::byte, 4> bytes{};
    CHECK(status_of(device.read(a, bytes)) == DeviceStatus::not_supported);
    CHECK(status_of(device.write(a, bytes)) == DeviceStatus::not_supported);
    CHECK(device.fill(a, 1, 4096, kA));
}

TEST_CASE("a clone has content of its own") {
    SimDevice device({.capacity = 1_GiB, .backed = true});
    const Address a = device.malloc(4096).value();
    REQUIRE(device.fill(a, 0x44, 4096, kA));
    const std::unique_ptr<SimDevice> other = device.clone();
    REQUIRE(device.fill(a, 0x55, 4096, kA));
    CHECK(byte_at(*other, a) == std::byte{0x44});
    CHECK(byte_at(device, a) == std::byte{0x55});
}

TEST_CASE("a store fills and forgets ranges of any size across pages") {
    ByteStore store;
    const auto at = [&](std::uint64_t address) {
        std::array<std::byte, 1> bytes{};
        store.read(Address{address}, bytes);
        return bytes[0];
    };
    store.fill(Address{10}, 300_KiB, std::byte{1});
    CHECK(at(9) == ByteStore::kUnwritten);
    CHECK(at(10) == std::byte{1});
    CHECK(at(300_KiB + 9) == std::byte{1});
    CHECK(at(300_KiB + 10) == ByteStore::kUnwritten);
    store.drop({Address{20}, 5});
    CHECK(at(19) == std::byte{1});
    CHECK(at(20) == ByteStore::kUnwritten);
    CHECK(at(24) == ByteStore::kUnwritten);
    CHECK(at(25) == std::byte{1});
    store.drop({Address{64_KiB - 1}, 2});
    CHECK(at(64_KiB - 2) == std::byte{1});
    CHECK(at(64_KiB - 1) == ByteStore::kUnwritten);
    CHECK(at(64_KiB) == ByteStore::kUnwritten);
    CHECK(at(64_KiB + 1) == std::byte{1});
    store.drop({Address{100}, 200_KiB});
    CHECK(at(99) == std::byte{1});
    CHECK(at(100) == ByteStore::kUnwritten);
    CHECK(at(150_KiB) == ByteStore::kUnwritten);
    CHECK(at(200_KiB + 99) == ByteStore::kUnwritten);
    CHECK(at(200_KiB + 100) == std::byte{1});
    store.drop({Address{0}, 0});
    CHECK(at(10) == std::byte{1});
}
