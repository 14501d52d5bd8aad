// Calls through pointers that dlsym gave.
#include "replay/inject/driver_queries.h"

#include <array>
#include <cstdlib>

#include <dlfcn.h>

namespace tidemark::inject {

using cuda::CUresult;

DriverQueries::DriverQueries() {
    const char* const chosen = std::getenv("TIDEMARK_CUDA_DRIVER");
    void* const driver = dlopen(chosen != nullptr && *chosen != '\0' ? chosen : "libcuda.so.1",
                                RTLD_LAZY | RTLD_NOLOAD);
    if (driver == nullptr)
        return;
    const auto resolve = [driver](auto& symbol) { symbol.resolve(dlsym(driver, symbol.name())); };
    resolve(version_);
    resolve(count_);
    resolve(get_);
    resolve(name_);
    resolve(total_);
    resolve(range_);
    resolve(capturing_);
    resolve(capturing_ptsz_);
    resolve(function_name_);
    resolve(kernel_name_);
    resolve(function_parameter_);
    resolve(kernel_parameter_);
}

int DriverQueries::version() const {
    int version = 0;
    return version_(&version) == CUresult::success ? version : 0;
}

std::vector<live::LiveDevice> DriverQueries::devices() const {
    int count = 0;
    if (count_(&count) != CUresult::success)
        return {};
    std::vector<live::LiveDevice> devices(static_cast<std::size_t>(count));
    for (int ordinal = 0; ordinal < count; ++ordinal) {
        live::LiveDevice& each = devices[static_cast<std::size_t>(ordinal)];
        cuda::CUdevice device = 0;
        std::array<char, 128> name{};
        std::size_t capacity = 0;
        if (get_(&device, ordinal) != CUresult::success)
            continue;
        if (name_(name.data(), static_cast<int>(name.size()) - 1, device) == CUresult::success)
            each.name = name.data();
        if (total_(&capacity, device) == CUresult::success)
            each.capacity = capacity;
    }
    return devices;
}

Bytes DriverQueries::size_at(std::uint64_t address) const {
    cuda::CUdeviceptr base = 0;
    std::size_t size = 0;
    if (range_(&base, &size, address) != CUresult::success)
        return 0;
    return base + size - address;
}

bool DriverQueries::is_capturing(cuda::CUstream stream, bool per_thread) const {
    auto status = cuda::CUstreamCaptureStatus::none;
    const CUresult code =
        per_thread ? capturing_ptsz_(stream, &status) : capturing_(stream, &status);
    return code == CUresult::success && status == cuda::CUstreamCaptureStatus::active;
}

// The runtime passes kernels of libraries, which are of no context, by handles of their own.
std::string DriverQueries::name(cuda::CUfunction function) const {
    const char* text = nullptr;
    CUresult code = function_name_(&text, function);
    if (code == CUresult::invalid_handle)
        code = kernel_name_(&text, function);
    return code == CUresult::success && text != nullptr ? text : "";
}

bool DriverQueries::parameters(cuda::CUfunction function,
                               std::vector<KernelParameter>& parameters) const {
    const CudaSymbol<ParameterQuery>* query = &function_parameter_;
    for (;;) {
        KernelParameter next;
        const CUresult code = (*query)(function, parameters.size(), &next.offset, &next.size);
        if (code == CUresult::invalid_handle && query == &function_parameter_)
            query = &kernel_parameter_;
        else if (code == CUresult::success)
            parameters.push_back(next);
        else
            return code == CUresult::invalid_value;  // it has no more
    }
}

}  // namespace tidemark::inject
