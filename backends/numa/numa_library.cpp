// dlopen, dlsym, and one query to the kernel.
#include "backends/numa/numa_library.h"

#include <cstdlib>

#include <dlfcn.h>
#include <fmt/format.h>

namespace tidemark {
namespace {

constexpr const char* kNumaLibraryUsual = "libnuma.so.1";

template <class Function>
Result<void> resolve(void* library, const char* name, Function& function) {
    void* symbol = dlsym(library, name);
    if (symbol == nullptr)
        return fail(ErrorCode::unsupported, fmt::format("it has no function {}", name), "libnuma",
                    "install libnuma 2");
    function = reinterpret_cast<Function>(symbol);
    return {};
}

}  // namespace

Result<NumaCalls> load_numa(const std::string& library) {
    const char* chosen = std::getenv("TIDEMARK_NUMA_LIBRARY");
    const std::string name = !library.empty()    ? library
                             : chosen != nullptr ? chosen
                                                 : kNumaLibraryUsual;
    void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr)
        return fail(ErrorCode::unsupported, fmt::format("{} cannot be loaded", name), "libnuma",
                    "install libnuma (Debian: libnuma1)");
    NumaCalls calls;
    TM_TRY(resolve(handle, "numa_available", calls.numa_available));
    TM_TRY(resolve(handle, "mbind", calls.mbind));
    TM_TRY(resolve(handle, "move_pages", calls.move_pages));
    if (calls.numa_available() < 0)
        return fail(ErrorCode::unsupported, "the kernel has no NUMA calls, or forbids them",
                    "libnuma", "in a container, allow mbind and move_pages");
    return calls;
}

}  // namespace tidemark
