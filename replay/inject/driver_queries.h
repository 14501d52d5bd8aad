// DriverQueries: the recorder's queries to the driver that the program has loaded: only those that
// return at once and change nothing. Immutable.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "backends/cuda/driver.h"
#include "traces/live/publisher.h"

namespace tidemark::inject {

// One argument of a kernel: where it is among them all, in bytes.
struct KernelParameter {
    std::size_t offset = 0;
    std::size_t size = 0;

    friend bool operator==(const KernelParameter&, const KernelParameter&) = default;
};

class DriverQueries {
  public:
    // Of the driver in this process; TIDEMARK_CUDA_DRIVER names another file than libcuda.so.1.
    // Where there is none, everything is unknown.
    DriverQueries();

    // As 13000; 0: unknown.
    int version() const;

    // The GPUs that the program sees, with their memory; none before the driver is initialized.
    std::vector<live::LiveDevice> devices() const;

    // How many bytes are mapped at `address`, where something begins; 0: unknown.
    Bytes size_at(std::uint64_t address) const;

    bool is_capturing(cuda::CUstream stream, bool per_thread) const;

    // Of a kernel, as the compiler made it; "": this driver (older than CUDA 12.3) doesn't say.
    std::string name(cuda::CUfunction function) const;

    // False: this driver (older than CUDA 12.4) doesn't say. O(parameters).
    bool parameters(cuda::CUfunction function, std::vector<KernelParameter>& parameters) const;

  private:
    CudaSymbol<cuda::CUresult(int*)> version_{"cuDriverGetVersion"};
    CudaSymbol<cuda::CUresult(int*)> count_{"cuDeviceGetCount"};
    CudaSymbol<cuda::CUresult(cuda::CUdevice*, int)> get_{"cuDeviceGet"};
    CudaSymbol<cuda::CUresult(char*, int, cuda::CUdevice)> name_{"cuDeviceGetName"};
    CudaSymbol<cuda::CUresult(std::size_t*, cuda::CUdevice)> total_{"cuDeviceTotalMem_v2"};
    CudaSymbol<cuda::CUresult(cuda::CUdeviceptr*, std::size_t*, cuda::CUdeviceptr)> range_{
        "cuMemGetAddressRange_v2"};
    CudaSymbol<cuda::CUresult(cuda::CUstream, cuda::CUstreamCaptureStatus*)> capturing_{
        "cuStreamIsCapturing"};
    CudaSymbol<cuda::CUresult(cuda::CUstream, cuda::CUstreamCaptureStatus*)> capturing_ptsz_{
        "cuStreamIsCapturing_ptsz"};
    using NameQuery = cuda::CUresult(const char**, cuda::CUfunction);
    CudaSymbol<NameQuery> function_name_{"cuFuncGetName"};
    CudaSymbol<NameQuery> kernel_name_{"cuKernelGetName"};
    using ParameterQuery = cuda::CUresult(cuda::CUfunction, std::size_t, std::size_t*,
                                          std::size_t*);
    CudaSymbol<ParameterQuery> function_parameter_{"cuFuncGetParamInfo"};
    CudaSymbol<ParameterQuery> kernel_parameter_{"cuKernelGetParamInfo"};
};

}  // namespace tidemark::inject
