// cuDNN: its plans come from a real library, which is given a description of the GPU, if there is
// one, and otherwise from the little that is known.
//
// cuDNN 9.8 and later can plan for a device that doesn't exist, from a description of it
// (CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR). It is never asked to execute anything.
#include <cstdint>
#include <unordered_map>

#include <dlfcn.h>

#include "backends/imagined/api.h"
#include "backends/imagined/dnn_book.h"
#include "backends/imagined/dnn_described.h"
#include "backends/imagined/dnn_names.h"
#include "backends/imagined/dnn_workspace.h"
#include "backends/imagined/journal.h"
#include "backends/imagined/machine.h"

namespace tidemark::imagined {
namespace {

// The real library.
struct Library {
    int (*create)(int, void**) = nullptr;
    int (*destroy)(void*) = nullptr;
    int (*set)(void*, int, int, std::int64_t, const void*) = nullptr;
    int (*get)(void*, int, int, std::int64_t, std::int64_t*, void*) = nullptr;
    int (*finalize)(void*) = nullptr;
    std::size_t (*version)() = nullptr;
    void* card = nullptr;
    std::unordered_map<void*, int> types;  // of existing descriptors; guarded by the machine's lock
};

template <class Function>
bool find(void* library, const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(dlsym(library, name));
    return function != nullptr;
}

Library* open_library() {
    const std::string& path = settings().cudnn;
    if (path.empty())
        return nullptr;
    void* const opened = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    auto* const library = new Library;
    if (opened == nullptr || !find(opened, "cudnnBackendCreateDescriptor", library->create) ||
        !find(opened, "cudnnBackendDestroyDescriptor", library->destroy) ||
        !find(opened, "cudnnBackendSetAttribute", library->set) ||
        !find(opened, "cudnnBackendGetAttribute", library->get) ||
        !find(opened, "cudnnBackendFinalize", library->finalize) ||
        !find(opened, "cudnnGetVersion", library->version)) {
        note_unknown("cudnn: " + path + ": " + (opened == nullptr ? dlerror() : "too old"), false);
        return nullptr;
    }
    const std::string& card = settings().cudnn_device;
    if (library->create(kDeviceProperties, &library->card) != 0 ||
        library->set(library->card, kJsonOfDevice, kTypeCharacters,
                     static_cast<std::int64_t>(card.size()), card.c_str()) != 0 ||
        library->finalize(library->card) != 0) {
        note_unknown("cudnn: " + path + " takes no description of a GPU", false);
        return nullptr;
    }
    return library;
}

Library* library() {
    static Library* const one = open_library();
    return one;
}

// The GPU's answer: as measured, or as far as it is understood.
void correct_workspace(const Library& real, void* plan, std::int64_t& bytes) {
    if (settings().book.plans.empty() && settings().card.clusters.empty())
        return;
    const std::string json = plan_json(*real.get, plan);
    const auto measured = measured_plan(json);
    bytes = measured.value_or(workspace_on_card(json, bytes, settings().card.clusters));
}

}  // namespace
}  // namespace tidemark::imagined

using namespace tidemark::imagined;

IMAGINED(int, cudnnCreate)(void** out) {
    Lock()->first_use(current_device(), "convolutions");
    *out = new std::uint64_t[64]{};
    return kSuccess;
}

IMAGINED(std::size_t, cudnnGetVersion)() {
    return library() != nullptr ? library()->version() : 91900;
}

IMAGINED(std::size_t, cudnnGetCudartVersion)() {
    return static_cast<std::size_t>(settings().cuda);
}

IMAGINED(int, cudnnGetProperty)(int which, int* value) {
    const auto version = static_cast<int>(imagined_cudnnGetVersion());
    *value = which == 0 ? version / 10000 : which == 1 ? version / 100 % 100 : version % 100;
    return kSuccess;
}

IMAGINED(const char*, cudnnGetErrorString)(int status) {
    return status == 0 ? "CUDNN_STATUS_SUCCESS" : "CUDNN_STATUS_NOT_SUPPORTED";
}

IMAGINED(void, cudnnGetLastErrorString)(char* to, std::size_t size) {
    if (size != 0)
        *to = '\0';
}

IMAGINED(int, cudnnGetStream)(void*, void** stream) {
    *stream = nullptr;
    return kSuccess;
}

IMAGINED(int, cudnnBackendCreateDescriptor)(int type, void** out) {
    if (Library* const real = library()) {
        const int status = real->create(type, out);
        Lock machine;
        real->types[*out] = type;
        return status;
    }
    *out = describe(type);
    return kSuccess;
}

IMAGINED(int, cudnnBackendDestroyDescriptor)(void* descriptor) {
    if (Library* const real = library()) {
        {
            Lock machine;
            real->types.erase(descriptor);
        }
        return real->destroy(descriptor);
    }
    forget(static_cast<DescribedDnn*>(descriptor));
    return kSuccess;
}

IMAGINED(int, cudnnBackendSetAttribute)

(void* descriptor, int name, int type, std::int64_t count, const void* values) {
    if (Library* const real = library())  // there is no handle: the described GPU replaces it
        return type == kTypeHandle ? kSuccess : real->set(descriptor, name, type, count, values);
    set_described(*static_cast<DescribedDnn*>(descriptor), name, type, count, values);
    return kSuccess;
}

IMAGINED(int, cudnnBackendFinalize)(void* descriptor) {
    Library* const real = library();
    if (real == nullptr)
        return kSuccess;
    int type = -1;
    {
        Lock machine;
        const auto found = real->types.find(descriptor);
        type = found == real->types.end() ? -1 : found->second;
    }
    const int device_of = type == kPlan         ? kPlanDevice
                          : type == kHeuristics ? kHeuristicsDevice
                          : type == kEngine     ? kEngineDevice
                                                : 0;
    if (device_of != 0)
        static_cast<void>(real->set(descriptor, device_of, kTypeDescriptor, 1, &real->card));
    return real->finalize(descriptor);
}

IMAGINED(int, cudnnBackendGetAttribute)

(void* descriptor, int name, int type, std::int64_t wanted, std::int64_t* got, void* out) {
    if (Library* const real = library()) {
        const int status = real->get(descriptor, name, type, wanted, got, out);
        if (status == 0 && name == kPlanWorkspace && wanted > 0 && out != nullptr)
            correct_workspace(*real, descriptor, *static_cast<std::int64_t*>(out));
        return status;
    }
    const int count = get_described(*static_cast<DescribedDnn*>(descriptor), name,
                                    wanted > 0 && out != nullptr, out);
    if (got != nullptr)
        *got = count;
    return kSuccess;
}

IMAGINED(int, cudnnDropoutGetStatesSize)(void*, std::size_t* size) {
    *size = 2621440;  // as measured on Hopper: one state for each resident thread
    return kSuccess;
}
