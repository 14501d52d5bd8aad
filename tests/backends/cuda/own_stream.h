// A stream of the program's own, on a device's context, for tests.
#pragma once

#include <catch2/catch.hpp>

#include "backends/cuda/cuda_device.h"

namespace tidemark::support {

class OwnStream {
  public:
    explicit OwnStream(const CudaDevice& device) : driver_(device.driver()) {
        REQUIRE(driver_.cuCtxGetCurrent(&previous_) == cuda::CUresult::success);
        REQUIRE(driver_.cuCtxSetCurrent(device.native_context()) == cuda::CUresult::success);
        REQUIRE(driver_.cuStreamCreate(&stream_, cuda::kStreamNonBlocking) ==
                cuda::CUresult::success);
    }

    OwnStream(const OwnStream&) = delete;
    OwnStream& operator=(const OwnStream&) = delete;

    ~OwnStream() {
        static_cast<void>(driver_.cuStreamDestroy_v2(stream_));
        static_cast<void>(driver_.cuCtxSetCurrent(previous_));
    }

    std::uintptr_t handle() const { return reinterpret_cast<std::uintptr_t>(stream_); }

    void begin(cuda::CUstreamCaptureMode mode) {
        REQUIRE(driver_.cuStreamBeginCapture_v2(stream_, mode) == cuda::CUresult::success);
    }

    // Ends the capture and throws the graph away; false if it was spoilt.
    bool end() {
        cuda::CUgraph graph = nullptr;
        if (driver_.cuStreamEndCapture(stream_, &graph) != cuda::CUresult::success)
            return false;
        return driver_.cuGraphDestroy(graph) == cuda::CUresult::success;
    }

  private:
    const CudaDriver& driver_;
    cuda::CUcontext previous_ = nullptr;
    cuda::CUstream stream_ = nullptr;
};

}  // namespace tidemark::support
