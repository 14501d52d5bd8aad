// dlopen, and a loop over links.
#include "backends/topology/nvml.h"

#include <array>
#include <cstdlib>
#include <utility>

#include <dlfcn.h>
#include <fmt/format.h>

namespace tidemark {
namespace {

constexpr const char* kNvmlUsual = "libnvidia-ml.so.1";
constexpr unsigned kLinks = 18;  // NVML_NVLINK_MAX_LINKS

template <class Function>
Result<void> resolve(void* library, const char* name, Function& function) {
    void* symbol = dlsym(library, name);
    if (symbol == nullptr)
        return fail(ErrorCode::unsupported, fmt::format("it has no function {}", name), "NVML",
                    "update the NVIDIA driver");
    function = reinterpret_cast<Function>(symbol);
    return {};
}

tl::unexpected<Error> refused(const NvmlCalls& calls, std::string_view call, int code) {
    const char* text = calls.error_string(code);
    return fail(ErrorCode::driver,
                fmt::format("{}: {} ({})", call, text == nullptr ? "unknown error" : text, code),
                "NVML");
}

}  // namespace

Result<Nvml> Nvml::open(const std::string& library) {
    const char* chosen = std::getenv("TIDEMARK_NVML");
    const std::string name = !library.empty() ? library : chosen != nullptr ? chosen : kNvmlUsual;
    void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr)
        return fail(ErrorCode::unsupported, fmt::format("{} cannot be loaded", name), "NVML",
                    "it comes with the NVIDIA driver");
    NvmlCalls calls;
    TM_TRY(resolve(handle, "nvmlInit_v2", calls.init));
    TM_TRY(resolve(handle, "nvmlShutdown", calls.shutdown));
    TM_TRY(resolve(handle, "nvmlErrorString", calls.error_string));
    TM_TRY(resolve(handle, "nvmlSystemGetDriverVersion", calls.driver_version));
    TM_TRY(resolve(handle, "nvmlDeviceGetHandleByPciBusId_v2", calls.card_by_address));
    TM_TRY(resolve(handle, "nvmlDeviceGetNvLinkState", calls.link_state));
    return start(calls);
}

Result<Nvml> Nvml::start(const NvmlCalls& calls) {
    if (const int code = calls.init(); code != 0)
        return refused(calls, "nvmlInit", code);
    return Nvml(calls);
}

Nvml::Nvml(Nvml&& other) noexcept
    : calls_(other.calls_), started_(std::exchange(other.started_, false)) {}

Nvml::~Nvml() {
    if (started_)
        calls_.shutdown();
}

std::string Nvml::driver_version() const {
    std::array<char, 96> text{};
    if (calls_.driver_version(text.data(), static_cast<unsigned>(text.size() - 1)) != 0)
        return "";
    return text.data();
}

Result<unsigned> Nvml::links_up(const std::string& pci_address) const {
    NvmlCalls::Card card = nullptr;
    if (const int code = calls_.card_by_address(pci_address.c_str(), &card); code != 0)
        return refused(calls_, "nvmlDeviceGetHandleByPciBusId", code);
    unsigned count = 0;
    for (unsigned link = 0; link < kLinks; ++link) {
        unsigned up = 0;
        if (calls_.link_state(card, link, &up) == 0 && up == 1)
            ++count;  // a link that the GPU lacks is refused, and not up
    }
    return count;
}

}  // namespace tidemark
