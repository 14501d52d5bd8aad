// A simulated GPU whose memory is memory of this process.
#include "backends/sim/process_device.h"

#include <cstring>

#include <catch2/catch.hpp>

#include "tests/support/device.h"

using namespace tidemark;
using support::status_of;

namespace {

constexpr Bytes kPage = ProcessDevice::kGranularity;

std::byte* at(Address address) {
    return reinterpret_cast<std::byte*>(to_integer(address));
}

}  // namespace

TEST_CASE("memory comes and goes behind addresses that stay") {
    const auto device = *ProcessDevice::open(4 * kPage);
    const Range range = *device->reserve(2 * kPage);
    CHECK(to_integer(range.begin) % kPage == 0);
    for (int i = 0; i < 3; ++i) {
        const PhysicalId physical = *device->create({}, 2 * kPage);
        CHECK(device->memory().free == 2 * kPage);
        CHECK(device->map(range, physical));
        CHECK(status_of(device->fill(range.begin, 7, 1, {})) == DeviceStatus::invalid_value);
        CHECK(device->set_access(range, true));
        CHECK(device->fill(range.begin, 7, range.size, {}));
        CHECK(at(range.begin)[range.size - 1] == std::byte{7});
        at(range.begin)[5] = std::byte{9};
        std::byte copied{};
        CHECK(device->copy(Address{reinterpret_cast<std::uintptr_t>(&copied)}, range.begin + 5, 1,
                           {}));
        CHECK(copied == std::byte{9});
        CHECK(status_of(device->unreserve(range)) == DeviceStatus::invalid_value);
        CHECK(device->unmap(range));
        CHECK(device->release(physical));
        CHECK(device->memory().free == 4 * kPage);
        CHECK(status_of(device->copy(range.begin, range.begin, 1, {})) ==
              DeviceStatus::invalid_value);
    }
    CHECK(device->unreserve(range));
}

TEST_CASE("what a driver refuses is refused, and nothing changes") {
    const auto device = *ProcessDevice::open(2 * kPage);
    const Range range = *device->reserve(2 * kPage);
    CHECK(status_of(device->create({}, 3 * kPage)) == DeviceStatus::out_of_memory);
    CHECK(status_of(device->create({}, 1)) == DeviceStatus::invalid_value);
    CHECK(status_of(device->reserve(1)) == DeviceStatus::invalid_value);
    const PhysicalId physical = *device->create({}, kPage);
    CHECK(status_of(device->map(range, physical)) == DeviceStatus::invalid_value);  // not its size
    CHECK(status_of(device->map({range.begin + 2 * kPage, kPage}, physical)) ==
          DeviceStatus::invalid_value);
    CHECK(device->map({range.begin + kPage, kPage}, physical));
    CHECK(status_of(device->map({range.begin + kPage, kPage}, physical)) ==
          DeviceStatus::invalid_value);
    CHECK(device->map({range.begin, kPage}, physical));  // twice, in two places
    CHECK(device->release(physical));
    CHECK(status_of(device->release(physical)) == DeviceStatus::invalid_value);
    CHECK(device->memory().free == kPage);
    CHECK(device->unmap(range));
    CHECK(device->memory().free == 2 * kPage);
    CHECK(status_of(device->unmap(range)) == DeviceStatus::invalid_value);
    CHECK(status_of(device->free(range.begin)) == DeviceStatus::invalid_value);
    CHECK(status_of(device->host_free(range.begin)) == DeviceStatus::invalid_value);
    CHECK(status_of(device->complete(EventId{1})) == DeviceStatus::invalid_value);
    CHECK(*device->complete(*device->record({})));
}

TEST_CASE("plain memory and host memory can be used at once") {
    const auto device = *ProcessDevice::open(kPage);
    const Address plain = *device->malloc(1000);
    const Address host = *device->host_malloc(1000);
    std::memset(at(host), 3, 1000);
    CHECK(device->copy(plain, host, 1000, {}));
    CHECK(at(plain)[999] == std::byte{3});
    CHECK(device->memory().free == kPage - 1000);
    CHECK(status_of(device->malloc(kPage)) == DeviceStatus::out_of_memory);
    CHECK(device->free(plain));
    CHECK(device->host_free(host));
}
