// Records of what a GPU that does nothing ran, laid out as NVIDIA's headers have them. Its clock is
// not that of the program. Buffers are given back full, within the call that filled them, and what
// is in them comes in no order.
//
// Variables: TIDEMARK_TEST_NO_ACTIVITIES: there are none; TIDEMARK_TEST_DROPS: there is no room for
// every fourth record.
#include "tests/cli/recorded/reported_activities.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>

namespace tidemark::cuda {
namespace {

constexpr std::uint64_t kOtherClock = 1'000'000'000'000'000'000;
constexpr std::size_t kRecordSize = 208;  // of the largest, a multiple of 8
constexpr std::size_t kRecordsOfBuffer = 3;

using Requested = void (*)(std::uint8_t** buffer, std::size_t* size, std::size_t* most);
using Completed = void (*)(void* context, std::uint32_t stream, std::uint8_t* buffer,
                           std::size_t size, std::size_t filled);

struct Gpu {
    std::mutex mutex;
    Requested requested = nullptr;
    Completed completed = nullptr;
    bool enabled[32]{};
    std::uint8_t* buffer = nullptr;
    std::size_t size = 0;
    std::size_t filled = 0;
    std::uint64_t busy_until = 0;
    std::size_t records = 0;
    std::size_t dropped = 0;
};

Gpu gpu;

std::uint64_t now() {
    return kOtherClock +
           static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

template <class Number>
void put(std::uint8_t* record, std::size_t at, Number number) {
    std::memcpy(record + at, &number, sizeof number);
}

void give_back(std::unique_lock<std::mutex>& lock) {
    std::uint8_t* const buffer = std::exchange(gpu.buffer, nullptr);
    const std::size_t filled = std::exchange(gpu.filled, 0);
    if (buffer == nullptr)
        return;
    lock.unlock();
    gpu.completed(nullptr, 0, buffer, gpu.size, filled);
    lock.lock();
}

}  // namespace

void run_on_gpu(int kind, std::uint32_t correlation, const char* name) {
    std::unique_lock lock(gpu.mutex);
    if (gpu.completed == nullptr || !gpu.enabled[kind])
        return;
    if (std::getenv("TIDEMARK_TEST_DROPS") != nullptr && ++gpu.records % 4 == 0) {
        ++gpu.dropped;
        return;
    }
    if (gpu.buffer == nullptr) {
        std::size_t most = 0;
        gpu.requested(&gpu.buffer, &gpu.size, &most);
    }
    std::uint8_t* const record = gpu.buffer + gpu.filled;
    std::memset(record, 0, kRecordSize);
    const std::uint64_t begin = std::max(gpu.busy_until, now());
    gpu.busy_until = begin + 2000;
    put(record, 0, kind);
    put(record, 16, begin);
    put(record, 24, gpu.busy_until);
    put(record, kind == 10 ? 92 : 44, correlation);
    if (kind == 10)
        put(record, 104, name);
    gpu.filled += kRecordSize;
    if (gpu.filled == kRecordsOfBuffer * kRecordSize)
        give_back(lock);
}

}  // namespace tidemark::cuda

#define EXPORT extern "C" __attribute__((visibility("default")))

// NOLINTBEGIN: the names are CUPTI's
using namespace tidemark::cuda;

EXPORT int cuptiActivityRegisterCallbacks(Requested requested, Completed completed) {
    gpu.requested = requested;
    gpu.completed = completed;
    return 0;
}

EXPORT int cuptiActivityEnable(int kind) {
    gpu.enabled[kind] = std::getenv("TIDEMARK_TEST_NO_ACTIVITIES") == nullptr;
    return gpu.enabled[kind] ? 0 : 17;
}

EXPORT int cuptiActivityDisable(int kind) {
    gpu.enabled[kind] = false;
    return 0;
}

// From the last to the first.
EXPORT int cuptiActivityGetNextRecord(std::uint8_t* buffer, std::size_t filled,
                                      std::uint8_t** record) {
    if (*record == buffer)
        return 12;  // CUPTI_ERROR_MAX_LIMIT_REACHED
    *record = (*record == nullptr ? buffer + filled : *record) - kRecordSize;
    return 0;
}

EXPORT int cuptiActivityGetNumDroppedRecords(void* /*context*/, std::uint32_t /*stream*/,
                                             std::size_t* dropped) {
    *dropped = std::exchange(gpu.dropped, 0);
    return 0;
}

EXPORT int cuptiActivityFlushAll(std::uint32_t /*flag*/) {
    std::unique_lock lock(gpu.mutex);
    give_back(lock);
    return 0;
}

EXPORT int cuptiGetTimestamp(std::uint64_t* time) {
    *time = now();
    return 0;
}

// NOLINTEND
