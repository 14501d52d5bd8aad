// GpuPacing: kernels that let a stream's time pass: one writes down when it ran, the other goes on
// until so much time has passed since then. By the GPU's own clock.
#pragma once

#include <cstdint>

#include "backends/cuda/cuda_device.h"

namespace tidemark::gpu {

class GpuPacing {
  public:
    // Errors: driver, when it can't make the kernels.
    static Result<GpuPacing> open(CudaDevice& device);

    // Writes the time into the stream's slot, behind what is queued on it.
    void mark(StreamId stream);

    // Keeps the stream busy until `duration` has passed since its last mark.
    void pass(StreamId stream, Nanoseconds duration);

    // Adds the bytes that differ from `pattern` to the count of faults, without waiting.
    void check(StreamId stream, Address target, std::uint32_t pattern, Bytes size);

    // The time of the stream's last mark, and the faults so far. After the work is done.
    Nanoseconds last_mark(StreamId stream) const;
    std::uint64_t faults() const;

    // Whether every launch was taken.
    bool sound() const { return sound_; }

    static constexpr std::uint32_t kStreams = 64;

  private:
    explicit GpuPacing(CudaDevice& device) : device_(&device) {}

    void launch(cuda::CUfunction kernel, unsigned blocks, StreamId stream, void** parameters);
    Address slot(StreamId stream) const;
    std::uint64_t fetch(Address word) const;

    CudaDevice* device_;
    Address slots_ = Address::null;   // a time for each stream, then the faults
    Address answer_ = Address::null;  // pinned host memory
    cuda::CUmodule module_{};
    cuda::CUmodule checks_{};
    cuda::CUfunction mark_{};
    cuda::CUfunction pass_{};
    cuda::CUfunction check_{};
    bool sound_ = true;
};

}  // namespace tidemark::gpu
