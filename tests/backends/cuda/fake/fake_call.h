// What every call of the fake driver begins with: the lock, its count, the failure that a test
// asked for, and the rules that hold for all calls.
#pragma once

#include <mutex>

#include "tests/backends/cuda/fake/fake_state.h"

namespace tidemark::fake {

// What a call needs, as a sum.
enum Needs : unsigned {
    kNothing = 0,
    kStarted = 1,     // cuInit
    kContext = 4,     // a current context without a fault
    kUncaptured = 8,  // forbidden while a graph is captured: it may wait
};

// success, or why the call fails before it begins.
Code admit(const char* name, unsigned needs);

// A call: `body` runs under the lock if the call is admitted.
template <class Body>
Code call(const char* name, unsigned needs, Body body) {
    const std::lock_guard lock(state().mutex);
    if (const Code refused = admit(name, needs); refused != Code::success)
        return refused;
    return body();
}

}  // namespace tidemark::fake

// Every function of the driver's list, as it is exported: a definition that differs does not build.
#define TIDEMARK_FAKE_EXPORT extern "C" __attribute__((visibility("default")))

namespace tidemark::cuda {
#define TIDEMARK_CUDA_SYMBOL(name, need, ...) TIDEMARK_FAKE_EXPORT CUresult name(__VA_ARGS__);
#include "backends/cuda/driver_symbols.inc"
#undef TIDEMARK_CUDA_SYMBOL

// Calls that Tidemark does not make, but tests of it do.
TIDEMARK_FAKE_EXPORT CUresult cuDevicePrimaryCtxReset_v2(CUdevice device);
TIDEMARK_FAKE_EXPORT CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags,
                                                         int* active);
TIDEMARK_FAKE_EXPORT CUresult cuCtxCreate_v2(CUcontext* context, unsigned flags, CUdevice device);
TIDEMARK_FAKE_EXPORT CUresult cuCtxDestroy_v2(CUcontext context);
TIDEMARK_FAKE_EXPORT CUresult cuCtxGetDevice(CUdevice* device);
}  // namespace tidemark::cuda
