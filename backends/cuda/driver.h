// CudaDriver: the CUDA driver, loaded with dlopen as one table of symbols. One binary works on
// machines with and without a GPU; driver_symbols.inc lists the functions.
//
// Thread-safety: immutable once open; the driver's functions may be called from any thread. The
// library stays loaded until the process ends, since the driver is not made to be unloaded.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "backends/cuda/driver_api.h"
#include "core/base/result.h"

namespace tidemark {

template <class Signature>
class CudaSymbol;

// One function of the driver: its name and address. A function that this driver lacks returns
// `not_supported` instead of crashing.
template <class... Parameters>
class CudaSymbol<cuda::CUresult(Parameters...)> {
  public:
    using Function = cuda::CUresult (*)(Parameters...);

    constexpr explicit CudaSymbol(const char* name) : name_(name) {}

    // O(1) on top of the driver's own cost.
    cuda::CUresult operator()(Parameters... arguments) const {
        return function_ == nullptr ? cuda::CUresult::not_supported : function_(arguments...);
    }

    explicit operator bool() const { return function_ != nullptr; }

    const char* name() const { return name_; }

    // For CudaDriver::open: `address` is the result of dlsym, null if the driver lacks it.
    void resolve(void* address) { function_ = reinterpret_cast<Function>(address); }

  private:
    const char* name_;
    Function function_ = nullptr;
};

namespace cuda {

// Every function of driver_symbols.inc, as a member of its own name: `driver.cuMemFree_v2(p)`.
struct Symbols {
#define TIDEMARK_CUDA_SYMBOL(name, need, ...) CudaSymbol<CUresult(__VA_ARGS__)> name{#name};
#include "backends/cuda/driver_symbols.inc"
#undef TIDEMARK_CUDA_SYMBOL
};

}  // namespace cuda

class CudaDriver : public cuda::Symbols {
  public:
    // Loads `library` (empty: the environment variable TIDEMARK_CUDA_DRIVER if it is set, else
    // libcuda.so.1), looks up its symbols and initializes it. Errors: not_found if there is no such
    // library or it lacks a required symbol, driver if it refuses to start; each names which, and
    // what to do.
    static Result<std::shared_ptr<const CudaDriver>> open(const std::string& library = "");

    // The file that was loaded, under the name that was used.
    const std::string& library() const { return library_; }

    // The CUDA version that this driver implements: 12080 is 12.8.
    int version() const { return version_; }

    // How many devices there are; 0 if the driver cannot tell.
    int device_count() const;

    // The driver's texts for a code: "CUDA_ERROR_OUT_OF_MEMORY" and "out of memory". "error 1234"
    // and "" for an unknown one.
    std::string error_name(cuda::CUresult code) const;
    std::string error_text(cuda::CUresult code) const;

  private:
    CudaDriver() = default;

    std::string library_;
    int version_ = 0;
};

// "CUDA 12.8" for 12080.
std::string cuda_version_text(int version);

}  // namespace tidemark
