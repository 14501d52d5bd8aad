// CudaPacing: kernels that let a stream's time pass, by the GPU's own clock, and that count wrong
// bytes without any wait: a replay on a real GPU runs them instead of a program's kernels.
//
// Time counts from start() on, the same for the GPU and for this process: the GPU's clock is read
// between two readings of the process's, to within a few microseconds. Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "backends/cuda/cuda_device.h"
#include "core/base/stopwatch.h"

namespace tidemark {

class CudaPacing {
  public:
    static constexpr std::uint32_t kStreams = 256;

    // Errors (driver): the kernels can't be made. `device` must outlive it.
    static Result<std::unique_ptr<CudaPacing>> open(CudaDevice& device);
    ~CudaPacing();

    // Starts the time. Errors (driver).
    Result<void> start();

    // Since start(), by this process's clock.
    Nanoseconds now() const { return watch_.elapsed(); }

    // Keeps the stream (its number is below kStreams) busy until that time, or not at all if it has
    // passed; then records the time.
    void pass_until(StreamId stream, Nanoseconds when);

    // Adds the bytes of [target, target + size) that differ from `pattern` to the count of faults.
    // `target` is a multiple of 4.
    void check(StreamId stream, Address target, std::uint32_t pattern, Bytes size);

    struct Figures {
        Nanoseconds end = 0;  // of the last kernel that ran
        std::uint64_t wrong_bytes = 0;
    };

    // Waits for all work of the device. Errors (driver): a launch or the device failed.
    Result<Figures> finish();

  private:
    explicit CudaPacing(CudaDevice& device) : device_(device) {}

    Result<void> load();
    void launch(cuda::CUfunction kernel, unsigned blocks, StreamId stream, void** parameters);
    Result<std::vector<std::uint64_t>> read();  // all slots

    CudaDevice& device_;
    Address slots_ = Address::null;   // a time for each stream, then the faults
    Address answer_ = Address::null;  // pinned host memory
    cuda::CUmodule module_{};
    cuda::CUmodule checks_{};
    cuda::CUfunction pass_{};
    cuda::CUfunction check_{};
    Stopwatch watch_;
    std::uint64_t gpu_start_ = 0;
    std::uint64_t faults_before_ = 0;
    bool sound_ = true;  // every launch succeeded
};

}  // namespace tidemark
