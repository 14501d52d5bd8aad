// The fake CUDA driver's memory: it lends what it has, refuses what CUDA refuses, and two mappings
// of one handle are the same bytes.
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "core/base/units.h"
#include "tests/backends/cuda/fake/fake_driver.h"

namespace tidemark::cuda {
namespace {

using fake::Config;
using fake::FakeDriver;
using fake::word_at;

CUmemAllocationProp device_memory(int device = 0) {
    CUmemAllocationProp wanted;
    wanted.location = {CUmemLocationType::device, device};
    return wanted;
}

constexpr CUmemAccessDesc kReadWrite{{CUmemLocationType::device, 0}, CUmemAccess_flags::read_write};

std::size_t free_bytes(const FakeDriver& fake) {
    std::size_t free = 0;
    std::size_t total = 0;
    REQUIRE(fake->cuMemGetInfo_v2(&free, &total) == CUresult::success);
    return free;
}

CUdeviceptr reserve(const FakeDriver& fake, std::size_t size) {
    CUdeviceptr address = 0;
    REQUIRE(fake->cuMemAddressReserve(&address, size, 0, 0, 0) == CUresult::success);
    return address;
}

CUmemHandle create(const FakeDriver& fake, std::size_t size) {
    const CUmemAllocationProp wanted = device_memory();
    CUmemHandle handle = 0;
    REQUIRE(fake->cuMemCreate(&handle, size, &wanted, 0) == CUresult::success);
    return handle;
}

}  // namespace

TEST_CASE("the fake driver has every function that Tidemark calls", "[cuda][fake]") {
    const FakeDriver fake;
#define TIDEMARK_CUDA_SYMBOL(name, need, ...) CHECK(static_cast<bool>(fake.driver->name));
#include "backends/cuda/driver_symbols.inc"
#undef TIDEMARK_CUDA_SYMBOL
}

TEST_CASE("the fake lends plain memory in pieces of 2 MiB and takes it back", "[cuda][fake]") {
    FakeDriver fake(Config{.memory = 8_MiB});
    std::array<CUdeviceptr, 3> small{};
    for (CUdeviceptr& each : small)
        REQUIRE(fake->cuMemAlloc_v2(&each, 1000) == CUresult::success);
    CHECK(free_bytes(fake) == 6_MiB);
    CHECK(small[1] % 512 == 0);

    CUdeviceptr large = 0;
    CHECK(fake->cuMemAlloc_v2(&large, 6_MiB + 1) == CUresult::out_of_memory);
    REQUIRE(fake->cuMemAlloc_v2(&large, 3_MiB) == CUresult::success);
    CHECK(free_bytes(fake) == 2_MiB);
    CHECK(fake->cuMemAlloc_v2(&large, 0) == CUresult::invalid_value);

    CHECK(fake->cuMemFree_v2(small[0] + 512) == CUresult::invalid_value);
    for (const CUdeviceptr each : small)
        CHECK(fake->cuMemFree_v2(each) == CUresult::success);
    CHECK(fake->cuMemFree_v2(small[0]) == CUresult::invalid_value);
    CHECK(fake.leaks() == "1 allocations, 1 contexts");
    CHECK(fake->cuMemFree_v2(large) == CUresult::success);
    CHECK(fake.leaks().empty());
    CHECK(free_bytes(fake) == 8_MiB);
}

TEST_CASE("two mappings of a handle of the fake are the same bytes", "[cuda][fake]") {
    FakeDriver fake;
    const CUdeviceptr address = reserve(fake, 8_MiB);
    const CUmemHandle handle = create(fake, 2_MiB);
    REQUIRE(fake->cuMemMap(address, 2_MiB, 0, handle, 0) == CUresult::success);
    REQUIRE(fake->cuMemMap(address + 4_MiB, 2_MiB, 0, handle, 0) == CUresult::success);
    CHECK(fake->cuMemSetAccess(address, 8_MiB, &kReadWrite, 1) == CUresult::invalid_value);
    REQUIRE(fake->cuMemSetAccess(address, 2_MiB, &kReadWrite, 1) == CUresult::success);
    REQUIRE(fake->cuMemSetAccess(address + 4_MiB, 2_MiB, &kReadWrite, 1) == CUresult::success);

    REQUIRE(fake->cuMemsetD32Async(address + 4096, 0xabcd1234, 16, nullptr) == CUresult::success);
    CHECK(word_at(fake, address + 4_MiB + 4096) == 0xabcd1234);

    CHECK(fake->cuMemRelease(handle) == CUresult::success);
    CHECK(free_bytes(fake) == 1_GiB - 2_MiB);  // its mappings hold it
    CHECK(fake->cuMemUnmap(address, 2_MiB) == CUresult::success);
    CHECK(fake->cuMemUnmap(address + 4_MiB, 2_MiB) == CUresult::success);
    CHECK(free_bytes(fake) == 1_GiB);
    CHECK(fake->cuMemAddressFree(address, 8_MiB) == CUresult::success);
    CHECK(fake.leaks().empty());
}

TEST_CASE("memory of the fake keeps its bytes while other requests fail", "[cuda][fake]") {
    FakeDriver fake(Config{.memory = 8_MiB});
    const CUmemAllocationProp wanted = device_memory();
    const CUdeviceptr address = reserve(fake, 4_MiB);
    REQUIRE(fake->cuMemMap(address, 4_MiB, 0, create(fake, 4_MiB), 0) == CUresult::success);
    REQUIRE(fake->cuMemSetAccess(address, 4_MiB, &kReadWrite, 1) == CUresult::success);
    REQUIRE(fake->cuMemsetD32Async(address, 5, 1_MiB, nullptr) == CUresult::success);
    CUmemHandle handle = 0;
    CUdeviceptr plain = 0;
    CHECK(fake->cuMemCreate(&handle, 6_MiB, &wanted, 0) == CUresult::out_of_memory);
    CHECK(fake->cuMemAlloc_v2(&plain, 6_MiB) == CUresult::out_of_memory);
    for (Bytes offset = 0; offset < 4_MiB; offset += 64_KiB)
        CHECK(word_at(fake, address + offset) == 5);
}

TEST_CASE("the fake's virtual memory refuses what CUDA refuses", "[cuda][fake]") {
    FakeDriver fake(Config{.memory = 8_MiB});
    const CUdeviceptr address = reserve(fake, 8_MiB);
    const CUmemHandle handle = create(fake, 4_MiB);
    const CUmemAllocationProp wanted = device_memory();
    CUmemHandle other = 0;

    CHECK(fake->cuMemCreate(&other, 3_MiB, &wanted, 0) == CUresult::invalid_value);
    CHECK(fake->cuMemCreate(&other, 6_MiB, &wanted, 0) == CUresult::out_of_memory);
    CHECK(fake->cuMemMap(address + 1_MiB, 4_MiB, 0, handle, 0) == CUresult::invalid_value);
    CHECK(fake->cuMemMap(address + 6_MiB, 4_MiB, 0, handle, 0) == CUresult::invalid_value);
    CHECK(fake->cuMemMap(address, 4_MiB, 0, handle + 0x10, 0) == CUresult::invalid_value);
    CHECK(fake->cuMemMap(address, 2_MiB, 0, handle, 0) == CUresult::not_supported);
    CHECK(fake->cuMemMap(address, 2_MiB, 2_MiB, handle, 0) == CUresult::not_supported);
    REQUIRE(fake->cuMemMap(address, 4_MiB, 0, handle, 0) == CUresult::success);
    CHECK(fake->cuMemMap(address + 2_MiB, 4_MiB, 0, handle, 0) == CUresult::invalid_value);
    CHECK(fake->cuMemUnmap(address, 2_MiB) == CUresult::invalid_value);
    CHECK(fake->cuMemUnmap(address, 6_MiB) == CUresult::invalid_value);
    CHECK(fake->cuMemAddressFree(address, 8_MiB) == CUresult::invalid_value);
    CHECK(fake->cuMemAddressFree(address, 4_MiB) == CUresult::invalid_value);
    CHECK(fake->cuMemRelease(handle + 0x10) == CUresult::invalid_value);
    CHECK(fake->cuMemRelease(handle) == CUresult::success);
    CHECK(fake->cuMemRelease(handle) == CUresult::invalid_value);
    CHECK(fake->cuMemUnmap(address, 4_MiB) == CUresult::success);
    CHECK(fake->cuMemUnmap(address, 4_MiB) == CUresult::invalid_value);
    CHECK(fake->cuMemAddressFree(address, 8_MiB) == CUresult::success);
    CHECK(fake.leaks().empty());
}

TEST_CASE("reservations of the fake lie apart and end where the address space does",
          "[cuda][fake]") {
    FakeDriver fake(Config{.address_space = 16_MiB});
    const CUdeviceptr first = reserve(fake, 8_MiB);
    const CUdeviceptr second = reserve(fake, 8_MiB);
    CHECK((second >= first + 8_MiB || first >= second + 8_MiB));
    CUdeviceptr third = 0;
    CHECK(fake->cuMemAddressReserve(&third, 2_MiB, 0, 0, 0) == CUresult::out_of_memory);
    REQUIRE(fake->cuMemAddressFree(first, 8_MiB) == CUresult::success);
    CHECK(fake->cuMemAddressReserve(&third, 2_MiB, 0, first + 4_MiB, 0) == CUresult::success);
    CHECK(third == first + 4_MiB);
}

TEST_CASE("memory of the fake that is mapped without access faults", "[cuda][fake]") {
    FakeDriver fake;
    const CUdeviceptr address = reserve(fake, 2_MiB);
    REQUIRE(fake->cuMemMap(address, 2_MiB, 0, create(fake, 2_MiB), 0) == CUresult::success);
    CHECK(fake->cuMemsetD8Async(address, 1, 16, nullptr) == CUresult::invalid_value);
    REQUIRE(fake->cuMemSetAccess(address, 2_MiB, &kReadWrite, 1) == CUresult::success);
    CHECK(fake->cuMemsetD8Async(address, 1, 16, nullptr) == CUresult::success);
    const CUmemAccessDesc read{{CUmemLocationType::device, 0}, CUmemAccess_flags::read};
    REQUIRE(fake->cuMemSetAccess(address, 2_MiB, &read, 1) == CUresult::success);
    CHECK(fake->cuMemsetD8Async(address, 1, 16, nullptr) == CUresult::invalid_value);
}

TEST_CASE("plain memory of the fake can be opened by its IPC handle", "[cuda][fake]") {
    FakeDriver fake;
    std::array<CUdeviceptr, 2> pieces{};
    for (CUdeviceptr& each : pieces)
        REQUIRE(fake->cuMemAlloc_v2(&each, 4096) == CUresult::success);
    CUipcMemHandle handle{};
    REQUIRE(fake->cuIpcGetMemHandle(&handle, pieces[1]) == CUresult::success);
    CUdeviceptr opened = 0;
    REQUIRE(fake->cuIpcOpenMemHandle_v2(&opened, handle, kIpcLazyEnablePeerAccess) ==
            CUresult::success);
    CHECK(opened != pieces[1]);
    REQUIRE(fake->cuMemsetD32Async(pieces[1], 99, 4, nullptr) == CUresult::success);
    CHECK(word_at(fake, opened) == 99);
    CHECK(fake->cuMemFree_v2(opened) == CUresult::invalid_value);
    CHECK(fake->cuIpcCloseMemHandle(opened) == CUresult::success);
    CHECK(fake->cuIpcCloseMemHandle(opened) == CUresult::invalid_value);
}

TEST_CASE("a pool of the fake gives memory back at a wait, beyond its threshold", "[cuda][fake]") {
    FakeDriver fake;
    CUmemoryPool pool = nullptr;
    REQUIRE(fake->cuDeviceGetDefaultMemPool(&pool, 0) == CUresult::success);
    std::uint64_t threshold = 1_MiB;
    REQUIRE(fake->cuMemPoolSetAttribute(pool, CUmemPool_attribute::release_threshold, &threshold) ==
            CUresult::success);
    std::vector<CUdeviceptr> pieces(3);
    for (CUdeviceptr& each : pieces)
        REQUIRE(fake->cuMemAllocAsync(&each, 1_MiB, nullptr) == CUresult::success);
    const auto reserved = [&] {
        std::uint64_t bytes = 0;
        REQUIRE(fake->cuMemPoolGetAttribute(pool, CUmemPool_attribute::reserved_mem_current,
                                            &bytes) == CUresult::success);
        return bytes;
    };
    CHECK(reserved() == 3_MiB);
    for (const CUdeviceptr each : pieces)
        CHECK(fake->cuMemFreeAsync(each, nullptr) == CUresult::success);
    CHECK(fake->cuMemFreeAsync(pieces[0], nullptr) == CUresult::invalid_value);
    CHECK(fake->cuMemsetD8Async(pieces[0], 1, 16, nullptr) == CUresult::invalid_value);
    CHECK(reserved() == 3_MiB);
    REQUIRE(fake->cuStreamSynchronize(nullptr) == CUresult::success);
    CHECK(reserved() == 1_MiB);
    REQUIRE(fake->cuMemPoolTrimTo(pool, 0) == CUresult::success);
    CHECK(reserved() == 0);
    CHECK(free_bytes(fake) == 1_GiB);
}

TEST_CASE("what the fake's configuration takes away is not supported", "[cuda][fake]") {
    FakeDriver fake(Config{.vmm = 0, .pools = 0, .ipc = 0});
    const CUmemAllocationProp wanted = device_memory();
    CUmemHandle handle = 0;
    CUdeviceptr address = 0;
    int value = -1;
    CHECK(fake->cuMemCreate(&handle, 2_MiB, &wanted, 0) == CUresult::not_supported);
    CHECK(fake->cuMemAllocAsync(&address, 1, nullptr) == CUresult::not_supported);
    REQUIRE(fake->cuMemAlloc_v2(&address, 1) == CUresult::success);
    CUipcMemHandle ipc{};
    CHECK(fake->cuIpcGetMemHandle(&ipc, address) == CUresult::not_supported);
    REQUIRE(fake->cuDeviceGetAttribute(&value,
                                       CUdevice_attribute::virtual_memory_management_supported,
                                       0) == CUresult::success);
    CHECK(value == 0);
}

TEST_CASE("a device of the fake reaches another's memory when it was given access",
          "[cuda][fake]") {
    FakeDriver fake(Config{.devices = 2});
    const CUmemAllocationProp there = device_memory(1);
    CUmemHandle handle = 0;
    REQUIRE(fake->cuMemCreate(&handle, 2_MiB, &there, 0) == CUresult::success);
    CHECK(free_bytes(fake) == 1_GiB);
    const CUdeviceptr address = reserve(fake, 2_MiB);
    REQUIRE(fake->cuMemMap(address, 2_MiB, 0, handle, 0) == CUresult::success);
    REQUIRE(fake->cuMemSetAccess(address, 2_MiB, &kReadWrite, 1) == CUresult::success);
    const CUmemLocation owner{CUmemLocationType::device, 1};
    unsigned long long flags = 7;
    REQUIRE(fake->cuMemGetAccess(&flags, &owner, address) == CUresult::success);
    CHECK(flags == 0);
    const CUmemAccessDesc nobody{{CUmemLocationType::device, 2}, CUmemAccess_flags::read};
    CHECK(fake->cuMemSetAccess(address, 2_MiB, &nobody, 1) == CUresult::invalid_value);
}

}  // namespace tidemark::cuda
