// CudaDriver: finds the library and its symbols, and reports what is missing.
#include "backends/cuda/driver.h"

#include <cstdlib>

#include <dlfcn.h>
#include <fmt/format.h>

namespace tidemark {
namespace {

using cuda::CUresult;

std::string library_name(const std::string& requested) {
    if (!requested.empty())
        return requested;
    const char* chosen = std::getenv("TIDEMARK_CUDA_DRIVER");
    return chosen != nullptr && *chosen != '\0' ? chosen : "libcuda.so.1";
}

enum class Need { required, optional };

// Finds `symbol`; returns whether the driver is usable so far.
template <class Signature>
bool resolved(void* library, CudaSymbol<Signature>& symbol, Need need) {
    symbol.resolve(dlsym(library, symbol.name()));
    return symbol || need == Need::optional;
}

const char* hint_for_start(CUresult code) {
    switch (code) {
        case CUresult::no_device:
            return "no GPU is visible: see `nvidia-smi` and CUDA_VISIBLE_DEVICES";
        case CUresult::stub_library:
            return "this is the toolkit's stub: put the driver's own libcuda.so.1 first";
        case CUresult::system_driver_mismatch:
            return "library and kernel module are of different versions: reload the module";
        default:
            return "see `nvidia-smi` and the kernel's log";
    }
}

}  // namespace

Result<std::shared_ptr<const CudaDriver>> CudaDriver::open(const std::string& library) {
    const std::string name = library_name(library);
    void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
        const char* why = dlerror();
        return fail(ErrorCode::not_found, fmt::format("no CUDA driver: {}", why ? why : "unknown"),
                    name, "install NVIDIA's driver, or name its library in TIDEMARK_CUDA_DRIVER");
    }
    const std::shared_ptr<CudaDriver> driver{new CudaDriver};
    driver->library_ = name;
    const char* missing = nullptr;
#define TIDEMARK_CUDA_SYMBOL(symbol, need, ...)        \
    if (!resolved(handle, driver->symbol, Need::need)) \
        missing = missing == nullptr ? #symbol : missing;
#include "backends/cuda/driver_symbols.inc"
#undef TIDEMARK_CUDA_SYMBOL
    if (missing != nullptr)
        return fail(ErrorCode::not_found, fmt::format("the driver has no function {}", missing),
                    name, "a driver for CUDA 12 or later is needed");
    if (const CUresult code = driver->cuInit(0); code != CUresult::success)
        return fail(ErrorCode::driver,
                    fmt::format("cuInit says {} ({}): {}", static_cast<int>(code),
                                driver->error_name(code), driver->error_text(code)),
                    name, hint_for_start(code));
    static_cast<void>(driver->cuDriverGetVersion(&driver->version_));
    return driver;
}

int CudaDriver::device_count() const {
    int count = 0;
    return cuDeviceGetCount(&count) == CUresult::success ? count : 0;
}

std::string CudaDriver::error_name(CUresult code) const {
    const char* name = nullptr;
    if (cuGetErrorName(code, &name) == CUresult::success && name != nullptr)
        return name;
    return fmt::format("error {}", static_cast<int>(code));
}

std::string CudaDriver::error_text(CUresult code) const {
    const char* text = nullptr;
    if (cuGetErrorString(code, &text) == CUresult::success && text != nullptr)
        return text;
    return "";
}

std::string cuda_version_text(int version) {
    return fmt::format("CUDA {}.{}", version / 1000, version % 1000 / 10);
}

}  // namespace tidemark
