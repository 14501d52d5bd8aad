// Cupti: NVIDIA's library that reports a program's driver calls, found and loaded with dlopen. It
// is searched in this order:
//   1. the file that TIDEMARK_CUPTI names, and then nowhere else
//   2. what the process has loaded already, so that there is one for all
//   3. next to the Python packages whose libraries are loaded: nvidia/cu13/lib and
//      nvidia/cuda_cupti/lib
//   4. by name, as the loader finds it
//   5. $CUDA_HOME, $CUDA_PATH and /usr/local/cuda*, in extras/CUPTI/lib64 and lib64
// The driver decides between those of CUDA 13 and 12: an older driver wants the older one.
//
// Immutable once open; it stays loaded.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/result.h"
#include "replay/inject/cupti_api.h"

namespace tidemark::inject {

class Cupti {
  public:
    // `driver_version` as cuDriverGetVersion has it. Errors: not_found, with what to do.
    static Result<Cupti> open(int driver_version);

    // Every call in recorded_calls.inc is reported to `function` from now on, and contexts that
    // begin and end; with `launches` those in launched_calls.inc, and code that is unloaded.
    // Errors: unsupported: another tool is subscribed; driver: CUPTI says why.
    Result<void> subscribe(CUpti_CallbackFunc function, bool launches);

    void unsubscribe();

    // The device of a context; -1 where CUPTI does not know it.
    int device_of(cuda::CUcontext context) const;

    // A function of it. False: this version has none of that name.
    template <class Function>
    bool find(const char* name, Function& target) const {
        target = reinterpret_cast<Function>(symbol(name));
        return target != nullptr;
    }

    // What it means that it answered with `code`.
    tl::unexpected<Error> refusal(int code, std::string what) const;

    // The file that was loaded.
    const std::string& path() const { return path_; }

    // Of its interface, as cuptiGetVersion has it; 0 = not told.
    std::uint32_t version() const { return version_; }

  private:
    Result<void> enable(int domain, std::uint32_t id);
    void* symbol(const char* name) const;

    void* library_ = nullptr;
    std::string path_;
    std::uint32_t version_ = 0;
    CUpti_SubscriberHandle subscriber_ = nullptr;
    int (*subscribe_)(CUpti_SubscriberHandle*, CUpti_CallbackFunc, void*) = nullptr;
    int (*unsubscribe_)(CUpti_SubscriberHandle) = nullptr;
    int (*enable_)(std::uint32_t, CUpti_SubscriberHandle, int, std::uint32_t) = nullptr;
    int (*device_)(cuda::CUcontext, std::uint32_t*) = nullptr;
    int (*text_)(int, const char**) = nullptr;
};

}  // namespace tidemark::inject
