// cuDNN: its plans come from a real library that is asked about the described card, where there is
// one, and else from the little that is known.
//
// cuDNN 9.8 and later can plan for a device that isn't there, from a description of it
// (CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR). It is never asked to execute anything.
#include <cstdint>
#include <cstring>
#include <unordered_map>

#include <dlfcn.h>

#include "backends/imagined/api.h"
#include "backends/imagined/dnn_workspace.h"
#include "backends/imagined/journal.h"
#include "backends/imagined/machine.h"

namespace tidemark::imagined {
namespace {

// Of cudnn_backend.h, those that are looked at.
enum Type : int {
    kEngine = 2,
    kHeuristics = 4,
    kPlan = 5,
    kMatmul = 19,
    kDeviceProperties = 38,
    kFirstAttention = 41,
};

enum Attribute : int {
    kHeuristicsGraph = 201,
    kHeuristicsResults = 202,
    kHeuristicsDevice = 204,
    kConfigEngine = 300,
    kConfigWorkspace = 303,
    kConfigSharedMemory = 304,
    kPlanConfig = 401,
    kPlanWorkspace = 402,
    kPlanJson = 405,
    kPlanDevice = 407,
    kGraphOperations = 801,
    kGraphEngineCount = 802,
    kEngineGraph = 1300,
    kEngineIndex = 1301,
    kEngineDevice = 1307,
    kJsonOfDevice = 2702,
};

constexpr int kTypeHandle = 0, kTypeCharacters = 24, kTypeDescriptor = 15;

// What attention takes for its plan where nobody can be asked: as in recordings of several
// transformers on Hopper.
constexpr std::int64_t kAttentionWorkspace = 256;

// A descriptor of our own remembers which operation it is for.
struct Descriptor {
    int type = 0;
    int operation = -1;
};

bool is_attention(int operation) {
    return operation == kMatmul || operation >= kFirstAttention;
}

// The real library.
struct Library {
    int (*create)(int, void**) = nullptr;
    int (*destroy)(void*) = nullptr;
    int (*set)(void*, int, int, std::int64_t, const void*) = nullptr;
    int (*get)(void*, int, int, std::int64_t, std::int64_t*, void*) = nullptr;
    int (*finalize)(void*) = nullptr;
    std::size_t (*version)() = nullptr;
    void* card = nullptr;
    std::unordered_map<void*, int> types;  // of the descriptors that live; by the machine's lock
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
        note_unknown("cudnn: " + path + " takes no description of a card", false);
        return nullptr;
    }
    return library;
}

Library* library() {
    static Library* const one = open_library();
    return one;
}

int own_attribute(Descriptor* from, int name, std::int64_t wanted, void* out) {
    switch (name) {
        case kHeuristicsResults:
        case kConfigEngine:
            if (wanted > 0)
                (*static_cast<Descriptor**>(out))->operation = from->operation;
            return 1;
        case kGraphEngineCount:
            if (wanted > 0)
                *static_cast<std::int64_t*>(out) = 1;
            return 1;
        case kPlanWorkspace:
            if (wanted > 0)
                *static_cast<std::int64_t*>(out) =
                    is_attention(from->operation) ? kAttentionWorkspace : 0;
            return 1;
        case kEngineIndex:
        case kConfigWorkspace:
            if (wanted > 0)
                *static_cast<std::int64_t*>(out) = 0;
            return 1;
        case kConfigSharedMemory:
            if (wanted > 0)
                *static_cast<int*>(out) = 0;
            return 1;
        default:
            return 0;
    }
}

void correct_workspace(const Library& real, void* plan, std::int64_t& bytes) {
    constexpr std::size_t kLongest = std::size_t{1} << 16;
    if (settings().card.clusters.empty())
        return;
    std::string text(kLongest, '\0');
    std::int64_t size = 0;
    if (real.get(plan, kPlanJson, kTypeCharacters, kLongest - 1, &size, text.data()) == 0)
        bytes = workspace_on_card(text.c_str(), bytes, settings().card.clusters);
}

void take_operation(Descriptor* to, int name, std::int64_t count, Descriptor* const* from) {
    if (name == kGraphOperations) {
        for (std::int64_t index = 0; index < count; ++index)
            if (is_attention(from[index]->type) || to->operation < 0)
                to->operation = from[index]->type;
    } else if (name == kHeuristicsGraph || name == kEngineGraph || name == kConfigEngine ||
               name == kPlanConfig) {
        to->operation = from[0]->operation;
    }
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
    *out = new Descriptor{type, -1};
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
    delete static_cast<Descriptor*>(descriptor);
    return kSuccess;
}

IMAGINED(int, cudnnBackendSetAttribute)

(void* descriptor, int name, int type, std::int64_t count, const void* values) {
    if (Library* const real = library())  // there is no handle: the described card stands for it
        return type == kTypeHandle ? kSuccess : real->set(descriptor, name, type, count, values);
    if (type == kTypeDescriptor && count > 0)
        take_operation(static_cast<Descriptor*>(descriptor), name, count,
                       static_cast<Descriptor* const*>(values));
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
    const int count =
        own_attribute(static_cast<Descriptor*>(descriptor), name, out == nullptr ? 0 : wanted, out);
    if (got != nullptr)
        *got = count;
    return kSuccess;
}

IMAGINED(int, cudnnDropoutGetStatesSize)(void*, std::size_t* size) {
    *size = 2621440;  // as measured on Hopper: one state for each resident thread
    return kSuccess;
}

// Batch normalisation keeps nothing in the modes that PyTorch calls.
IMAGINED(int, cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize)

(void*, int, int, void*, void*, void*, void*, void*, std::size_t* size) {
    *size = 0;
    return kSuccess;
}

IMAGINED(int, cudnnGetBatchNormalizationBackwardExWorkspaceSize)

(void*, int, int, void*, void*, void*, void*, void*, void*, void*, std::size_t* size) {
    *size = 0;
    return kSuccess;
}

IMAGINED(int, cudnnGetBatchNormalizationTrainingExReserveSpaceSize)

(void*, int, int, void*, void*, std::size_t* size) {
    *size = 0;
    return kSuccess;
}
