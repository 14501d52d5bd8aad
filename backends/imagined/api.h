// How every file of the imagined CUDA declares its entry points.
//
// A stub library with the name of one of NVIDIA's (python/tidemark/predicting/stubs.py) forwards
// each function X to imagined_X if that exists, and otherwise to imagined_unknown. Own declarations
// only: no header of CUDA is needed, and a function takes what the call passes by the ABI.
#pragma once

#include <cstddef>
#include <cstdint>

// Defines imagined_NAME, visible to the stubs.
#define IMAGINED(result, name) \
    extern "C" __attribute__((visibility("default"))) result imagined_##name

// Defines imagined_DRIVERS with the body of imagined_RUNTIMES, from the same file: the driver's
// name for a function with the same arguments.
#define SAME_OF_DRIVER(drivers, runtimes)                    \
    extern "C" __attribute__((                               \
        visibility("default"), alias("imagined_" #runtimes), \
        copy(imagined_##runtimes))) decltype(imagined_##runtimes) imagined_##drivers

namespace tidemark::imagined {

// cudaError_t and CUresult, which agree in the values that are used here.
enum CudaStatus : int {
    kSuccess = 0,
    kInvalidValue = 1,
    kOutOfMemory = 2,
    kNoDevice = 100,
    kInvalidDevice = 101,
    kNotFound = 500,
    kNotReady = 600,
    kNotPermitted = 800,
    kNotSupported = 801,
};

}  // namespace tidemark::imagined
