// For recorder_bench: a driver and a CUPTI that do nothing but answer, so that what is measured is
// the recorder alone.
#include <cstddef>
#include <cstdint>

using Callback = void (*)(void* user, int domain, std::uint32_t id, const void* data);

static Callback callback = nullptr;

// NOLINTBEGIN: the names are the driver's and CUPTI's
extern "C" {
// What the recorder has CUPTI call.
Callback bench_callback() {
    return callback;
}

int cuDriverGetVersion(int* version) {
    *version = 13000;
    return 0;
}

int cuDeviceGetCount(int* count) {
    *count = 1;
    return 0;
}

int cuDeviceGet(int* device, int ordinal) {
    *device = ordinal;
    return 0;
}

int cuDeviceTotalMem_v2(std::size_t* bytes, int /*device*/) {
    *bytes = std::size_t{1} << 36U;
    return 0;
}

int cuptiSubscribe(void** subscriber, Callback function, void* /*user*/) {
    callback = function;
    *subscriber = &callback;
    return 0;
}

int cuptiUnsubscribe(void* /*subscriber*/) {
    callback = nullptr;
    return 0;
}

int cuptiEnableCallback(std::uint32_t /*enable*/, void* /*subscriber*/, int /*domain*/,
                        std::uint32_t /*id*/) {
    return 0;
}

int cuptiGetDeviceId(void* /*context*/, std::uint32_t* device) {
    *device = 0;
    return 0;
}

int cuptiGetResultString(int /*code*/, const char** text) {
    *text = "";
    return 0;
}
}

// NOLINTEND
