// Errors of the driver, with messages for the command line.
#include "replay/scenario/open_device.h"

#include <fmt/format.h>

namespace tidemark {
namespace {

Error with_hint(Error error, const std::string& where) {
    constexpr std::string_view kLook =
        "`tidemark doctor` shows what this machine has; --device sim:h200 needs no GPU";
    error.where = error.where.empty() ? where : fmt::format("{}: {}", where, error.where);
    error.hint = error.hint.empty() ? std::string(kLook) : fmt::format("{}; {}", error.hint, kLook);
    // Not a file that is missing: the machine lacks what is needed.
    if (error.code == ErrorCode::not_found)
        error.code = ErrorCode::unsupported;
    return error;
}

}  // namespace

Result<std::shared_ptr<const CudaDriver>> open_cuda_driver() {
    return CudaDriver::open().map_error(
        [](const Error& error) { return with_hint(error, "--device cuda"); });
}

Result<std::unique_ptr<CudaDevice>> open_cuda_device(
    const std::shared_ptr<const CudaDriver>& driver, const CudaConfig& config) {
    auto device = CudaDevice::open(driver, config);
    if (!device)
        return tl::make_unexpected(
            with_hint(device.error(), fmt::format("--device cuda:{}", config.ordinal)));
    return device;
}

}  // namespace tidemark
