// The contract's part on memory.
#include <cstring>
#include <vector>

#include "tests/backends/cuda/contract.h"
#include "tests/backends/cuda/machines.h"
#include "tests/support/device.h"

namespace tidemark::support {
namespace {

constexpr std::uint32_t kPattern = 0xc0ffee42;

// Reads a device's bytes through pinned memory.
std::vector<std::uint8_t> read_back(CudaDevice& device, Address from, Bytes size) {
    const Address host = must(device, device.host_malloc(size));
    must(device, device.copy(host, from, size, kStream));
    must(device, device.synchronize(kStream));
    std::vector<std::uint8_t> bytes(size);
    std::memcpy(bytes.data(), reinterpret_cast<const void*>(to_integer(host)), size);
    must(device, device.host_free(host));
    return bytes;
}

}  // namespace

void check_plain_memory(CudaDevice& device) {
    CHECK(status_of(device.malloc(0)) == DeviceStatus::invalid_value);
    CHECK(status_of(device.free(Address::null)) == DeviceStatus::invalid_value);

    const Address address = must(device, device.malloc(3_MiB));

    CHECK(to_integer(address) % 512 == 0);
    const Range whole = must(device, device.address_range(address + 1_MiB));
    CHECK(whole == Range{address, 3_MiB});
    CHECK(device.memory().free < device.memory().total);
    const auto too_large = device.malloc(Bytes{1} << 46);
    CHECK(status_of(too_large) == DeviceStatus::out_of_memory);
    CHECK(too_large.error().native_code == 2);
    must(device, device.free(address));
    CHECK(status_of(device.free(address)) == DeviceStatus::invalid_value);
}

void check_stream_ordered_memory(CudaDevice& device) {
    REQUIRE(device.has(Feature::async_pool));
    CHECK(status_of(device.malloc_async(0, kStream)) == DeviceStatus::invalid_value);
    must(device, device.set_pool_threshold(1_GiB));
    const Address address = must(device, device.malloc_async(4_MiB, kStream));
    must(device, device.write_pattern(address, kPattern, 4_MiB, kStream));
    CHECK(must(device, device.check_pattern(address, kPattern, 4_MiB, kStream)) == 0);
    CHECK(device.pool_held() >= 4_MiB);

    must(device, device.free_async(address, kStream));
    must(device, device.synchronize(kStream));

    CHECK(device.pool_held() >= 4_MiB);  // below the threshold it stays
    must(device, device.trim_pool(0));
    CHECK(device.pool_held() == 0);

    must(device, device.set_pool_threshold(0));
    const Address again = must(device, device.malloc_async(4_MiB, kStream));
    must(device, device.free_async(again, kStream));
    must(device, device.synchronize(kStream));
    CHECK(device.pool_held() == 0);  // above it, a wait gives back
}

void check_virtual_memory(CudaDevice& device) {
    REQUIRE(device.has(Feature::virtual_memory));
    const Bytes page = device.granularity();
    const Range range = must(device, device.reserve(4 * page));
    const PhysicalId first = must(device, device.create({}, page));
    const PhysicalId second = must(device, device.create({}, page));
    must(device, device.map({range.begin, page}, first));
    must(device, device.map({range.begin + page, page}, second));
    must(device, device.set_access({range.begin, 2 * page}, true));
    must(device, device.write_pattern(range.begin, kPattern, 2 * page, kStream));
    must(device, device.map({range.begin + 2 * page, page}, second));  // the same memory again
    must(device, device.set_access({range.begin + 2 * page, page}, false));

    CHECK(must(device, device.check_pattern(range.begin + 2 * page, kPattern, page, kStream)) == 0);
    must(device, device.fill(range.begin + page, 0, page, kStream));
    CHECK(must(device, device.check_pattern(range.begin + 2 * page, kPattern, page, kStream)) ==
          page);
    must(device, device.release(first));
    must(device, device.release(second));  // mapped, so it lives on
    CHECK(must(device, device.check_pattern(range.begin, kPattern, page, kStream)) == 0);
    must(device, device.unmap({range.begin, 3 * page}));
    must(device, device.unreserve(range));
    CHECK(status_of(device.reserve(Bytes{1} << 58)) == DeviceStatus::address_space);
}

void check_unknown_handle(CudaDevice& device) {
    const Bytes page = device.granularity();
    const Range range = must(device, device.reserve(page));
    CHECK(status_of(device.map({range.begin, page}, PhysicalId{999})) ==
          DeviceStatus::invalid_value);
    must(device, device.unreserve(range));
}

void check_host_memory(CudaDevice& device) {
    const Address pinned = must(device, device.host_malloc(1_MiB));
    const Address memory = must(device, device.malloc(1_MiB));
    std::memset(reinterpret_cast<void*>(to_integer(pinned)), 0x5a, 1_MiB);
    must(device, device.copy(memory, pinned, 1_MiB, kStream));
    CHECK(must(device, device.check_pattern(memory, 0x5a5a5a5a, 1_MiB, kStream)) == 0);
    must(device, device.host_free(pinned));
    CHECK(status_of(device.host_free(pinned)) == DeviceStatus::invalid_value);

    std::vector<std::uint8_t> own(64_KiB, 0x11);
    const Address begin{reinterpret_cast<std::uintptr_t>(own.data())};
    must(device, device.host_register({begin, own.size()}));
    CHECK(status_of(device.host_register({begin, own.size()})) == DeviceStatus::invalid_value);
    must(device, device.copy(memory, begin, own.size(), kStream));
    CHECK(must(device, device.check_pattern(memory, 0x11111111, own.size(), kStream)) == 0);
    must(device, device.host_unregister(begin));
    CHECK(status_of(device.host_unregister(begin)) == DeviceStatus::invalid_value);
    must(device, device.free(memory));
}

void check_copies(CudaDevice& device) {
    const Address source = must(device, device.malloc(64_KiB));
    const Address target = must(device, device.malloc(64_KiB));
    must(device, device.fill(target, 0, 64_KiB, kStream));
    for (std::uint32_t i = 0; i < 64; ++i)
        must(device, device.write_pattern(source + i * 1_KiB, i, 1_KiB, kStream));

    // More than one batch of the driver's, in reverse, and an empty one among them.
    std::vector<CopyRange> batch;
    for (std::uint32_t i = 0; i < 64; ++i) {
        for (std::uint32_t part = 0; part < 8; ++part) {
            const Bytes from = i * 1_KiB + part * 128;
            batch.push_back({target + (63 - i) * 1_KiB + part * 128, source + from, 128});
        }
    }
    batch.push_back({target, source, 0});
    for (const StreamId stream : {kStream, StreamId::default_stream}) {
        must(device, device.synchronize_device());
        must(device, device.fill(target, 0xff, 64_KiB, stream));
        must(device, device.copy_batch(batch, stream));
        for (std::uint32_t i = 0; i < 64; ++i) {
            INFO("piece " << i << " on stream " << to_integer(stream));
            const Address piece = target + (63 - i) * 1_KiB;
            CHECK(must(device, device.check_pattern(piece, i, 1_KiB, stream)) == 0);
        }
    }
    const auto& counters = device.counters();
    CHECK(counters.copied_on_device == 2 * 64_KiB);
    must(device, device.copy_batch({}, kStream));
    must(device, device.free(source));
    must(device, device.free(target));
}

void check_patterns(CudaDevice& device) {
    REQUIRE(device.has(Feature::patterns));
    constexpr Bytes kSize = 1_MiB;
    constexpr Bytes kSizes[] = {0, 1, 2, 3, 4, 5, 7, 15, 16, 17, 31, 33, 4099, 65536};
    const Address memory = must(device, device.malloc(kSize));
    // Each start and length, relative to the pieces of 16 that the kernel reads.
    for (const Bytes start : {0UL, 4UL, 8UL, 16UL}) {
        for (const Bytes size : kSizes) {
            INFO("from " << start << ", " << size << " bytes");
            must(device, device.fill(memory, 0xee, kSize, kStream));
            must(device, device.write_pattern(memory + start, kPattern, size, kStream));
            CHECK(must(device, device.check_pattern(memory + start, kPattern, size, kStream)) == 0);
            const auto bytes = read_back(device, memory, start + size + 8);
            Bytes outside = 0;
            for (Bytes i = 0; i < bytes.size(); ++i) {
                const bool inside = i >= start && i < start + size;
                const auto wanted =
                    inside ? static_cast<std::uint8_t>(kPattern >> (8 * ((i - start) % 4))) : 0xee;
                outside += bytes[i] != wanted ? 1U : 0U;
            }
            CHECK(outside == 0);
            if (size == 0)
                continue;
            must(device, device.fill(memory + (start + size - 1), 0, 1, kStream));
            CHECK(must(device, device.check_pattern(memory + start, kPattern, size, kStream)) == 1);
        }
    }
    CHECK(status_of(device.write_pattern(memory + 2, 1, 4, kStream)) ==
          DeviceStatus::invalid_value);
    CHECK(status_of(device.check_pattern(memory + 1, 1, 4, kStream)) ==
          DeviceStatus::invalid_value);
    must(device, device.free(memory));
}

void check_plain_handles(CudaDevice& device) {
    const Address memory = must(device, device.malloc(2_MiB));
    const IpcHandle handle = must(device, device.ipc_export(memory));
    CHECK(handle == must(device, device.ipc_export(memory)));
    CHECK(!(handle == IpcHandle{}));
    must(device, device.free(memory));
}

void check_stale_ids(CudaDevice& device) {
    const PhysicalId handle = must(device, device.create({}, device.granularity()));
    must(device, device.release(handle));
    CHECK(status_of(device.release(handle)) == DeviceStatus::invalid_value);
    CHECK(status_of(device.release(PhysicalId{12345})) == DeviceStatus::invalid_value);
    CHECK(status_of(device.launch(GraphId{77}, kStream)) == DeviceStatus::invalid_value);
    CHECK(status_of(device.destroy_graph(GraphId{77})) == DeviceStatus::invalid_value);
    CHECK(status_of(device.complete(EventId{0})) == DeviceStatus::invalid_value);
    CHECK(status_of(device.complete(EventId{~0ULL})) == DeviceStatus::invalid_value);
    CHECK(status_of(device.wait(kStream, EventId{5ULL << 40})) == DeviceStatus::invalid_value);
    CHECK(status_of(device.record(StreamId{CudaDevice::kFirstAdopted + 9})) ==
          DeviceStatus::invalid_value);
    CHECK(status_of(device.create({Location::Kind::disk, 0}, 2_MiB)) ==
          DeviceStatus::not_supported);
}

void check_peers(CudaDevice& device, CudaDevice& other) {
    REQUIRE(device.has(Feature::peer_access));
    const Bytes page = device.granularity();
    const Location there{Location::Kind::device, static_cast<std::uint16_t>(other.ordinal())};
    const Location here{Location::Kind::device, static_cast<std::uint16_t>(device.ordinal())};
    const Range range = must(device, device.reserve(page));
    const PhysicalId handle = must(device, device.create({}, page));
    must(device, device.map(range, handle));
    must(device, device.set_access(range, true));
    must(device, device.set_access_for(there, range, true));

    // The other one writes, and this one still reads and writes.
    must(other, other.write_pattern(range.begin, kPattern, page, kStream));
    must(other, other.synchronize(kStream));
    CHECK(must(device, device.check_pattern(range.begin, kPattern, page, kStream)) == 0);
    must(device, device.write_pattern(range.begin, 7, page, kStream));
    must(device, device.synchronize(kStream));
    CHECK(must(other, other.check_pattern(range.begin, 7, page, kStream)) == 0);

    CHECK(status_of(device.set_access_for(here, range, true)) == DeviceStatus::invalid_value);
    CHECK(!device.set_access_for({Location::Kind::device, 99}, range, true));
    must(device, device.unmap(range));
    must(device, device.release(handle));

    // Once for all: what is mapped already, and what comes.
    const Range more = must(device, device.reserve(page));
    const PhysicalId first = must(device, device.create({}, page));
    const PhysicalId second = must(device, device.create({}, page));
    must(device, device.map(range, first));
    must(device, device.set_access(range, true));
    must(device, device.open_to(other.ordinal()));
    must(device, device.open_to(other.ordinal()));
    must(device, device.map(more, second));
    must(device, device.set_access(more, true));
    for (const Range& each : {range, more}) {
        must(other, other.write_pattern(each.begin, 9, page, kStream));
        must(other, other.synchronize(kStream));
        CHECK(must(device, device.check_pattern(each.begin, 9, page, kStream)) == 0);
    }
    CHECK(!device.open_to(99));
    for (const Range& each : {range, more}) {
        must(device, device.unmap(each));
        must(device, device.unreserve(each));
    }
    must(device, device.release(first));
    must(device, device.release(second));
}

}  // namespace tidemark::support
