// NVML, NVIDIA's library about its GPUs, loaded if it is installed and declared here: the version
// of the driver, and how many NVLinks of a GPU are up.
//
// The library is started when it is opened and ended with the value; it stays loaded. Thread-safe.
#pragma once

#include <memory>
#include <string>

#include "core/base/result.h"

namespace tidemark {

// The functions of NVML that are used; results are its codes, 0 = done.
struct NvmlCalls {
    using Card = void*;

    int (*init)() = nullptr;
    int (*shutdown)() = nullptr;
    const char* (*error_string)(int code) = nullptr;
    int (*driver_version)(char* text, unsigned length) = nullptr;
    int (*card_by_address)(const char* pci_address, Card* card) = nullptr;
    int (*link_state)(Card card, unsigned link, unsigned* up) = nullptr;
};

class Nvml {
  public:
    // Loads `library` ("": TIDEMARK_NVML if that is set, else libnvidia-ml.so.1) and starts it.
    // Errors: unsupported: no such library, or a function that it lacks; driver: it does not start.
    static Result<Nvml> open(const std::string& library = "");

    // Starts a library whose functions are known.
    static Result<Nvml> start(const NvmlCalls& calls);

    Nvml(Nvml&& other) noexcept;
    Nvml& operator=(Nvml&&) = delete;
    ~Nvml();

    // "580.65.06"; empty if NVML does not report it.
    std::string driver_version() const;

    // NVLinks of the GPU that are up. Errors (driver): NVML does not know the GPU.
    Result<unsigned> links_up(const std::string& pci_address) const;

  private:
    explicit Nvml(const NvmlCalls& calls) : calls_(calls) {}

    NvmlCalls calls_;
    bool started_ = true;
};

}  // namespace tidemark
