// What a CudaDevice promises, on the fake driver and, tagged [gpu], on the real one.
#include "tests/backends/cuda/contract.h"

#include "tests/backends/cuda/machines.h"

namespace tidemark {
namespace {

using namespace support;

struct Promise {
    const char* text;
    void (*check)(CudaDevice& device);
};

constexpr Promise kPromises[] = {
    {"plain memory is taken, refused and given back", check_plain_memory},
    {"the pool keeps memory up to its threshold", check_stream_ordered_memory},
    {"handles are mapped where and how they are asked to be", check_virtual_memory},
    {"a handle that nobody made is not mapped", check_unknown_handle},
    {"a point that passed implies the earlier ones", check_points},
    {"copies arrive, one by one and in batches", check_copies},
    {"patterns tell each byte that differs", check_patterns},
    {"host memory is pinned and registered", check_host_memory},
    {"a capture records, and forbids what would spoil it", check_capture},
    {"a capture follows events to other streams", check_capture_of_two_streams},
    {"a capture that went wrong is over", check_failed_capture},
    {"plain memory has one handle for other processes", check_plain_handles},
    {"ids that are not there are refused", check_stale_ids},
    {"calls are counted and timed", check_counters},
};

TEST_CASE("a CUDA device keeps its promises on the fake driver", "[cuda]") {
    for (const Promise& promise : kPromises) {
        DYNAMIC_SECTION(promise.text) {
            on_fake(promise.check);
        }
    }
}

TEST_CASE("a CUDA device keeps its promises on the real driver", "[cuda][gpu]") {
    if (!real_driver())
        return;
    for (const Promise& promise : kPromises) {
        DYNAMIC_SECTION(promise.text) {
            on_gpu(promise.check);
        }
    }
}

TEST_CASE("devices reach each other's memory on the fake driver", "[cuda]") {
    const auto driver = fake_driver({.devices = 3});
    auto device = open_device(driver, {.ordinal = 1});
    auto other = open_device(driver, {.ordinal = 2});

    check_peers(*device, *other);

    device.reset();
    other.reset();
    CHECK(fake_cuda().leaks_text() == "");
}

TEST_CASE("devices reach each other's memory on the real driver", "[cuda][gpu]") {
    const auto driver = real_driver();
    if (!driver)
        return;
    if (driver->device_count() < 2) {
        WARN("skipped: one GPU only");
        return;
    }
    const auto device = open_device(driver, {.ordinal = 0});
    const auto other = open_device(driver, {.ordinal = 1});
    check_peers(*device, *other);
    check_peers(*other, *device);
}

}  // namespace
}  // namespace tidemark
