// The driver as a recorded program calls it: what TIDEMARK_CUDA_DRIVER names, loaded when the first
// step needs it.
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstdlib>

#include <dlfcn.h>

#include "backends/cuda/driver_api.h"

namespace tidemark::cuda {

constexpr std::size_t kMiB = std::size_t{1} << 20U;

inline void* find(const char* name) {
    static void* const driver = dlopen(std::getenv("TIDEMARK_CUDA_DRIVER"), RTLD_NOW | RTLD_LOCAL);
    void* const function = dlsym(driver, name);
    if (function == nullptr) {
        std::fprintf(stderr, "no %s\n", name);
        std::abort();
    }
    return function;
}

template <class... Args>
CUresult call(const char* name, Args... args) {
    return reinterpret_cast<CUresult (*)(Args...)>(find(name))(args...);
}

inline void must(CUresult result, int line) {
    if (result == CUresult::success)
        return;
    std::fprintf(stderr, "line %d: error %d\n", line, static_cast<int>(result));
    std::abort();
}

#define MUST(...) must(call(__VA_ARGS__), __LINE__)

inline CUcontext context = nullptr;

inline void start() {
    if (context != nullptr)
        return;
    MUST("cuInit", 0U);
    MUST("cuDevicePrimaryCtxRetain", &context, CUdevice{0});
    MUST("cuCtxSetCurrent", context);
}

inline CUdeviceptr take(std::size_t size) {
    CUdeviceptr address = 0;
    MUST("cuMemAlloc_v2", &address, size);
    return address;
}

}  // namespace tidemark::cuda
