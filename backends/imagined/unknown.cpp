// What functions without an implementation may do, by their names.
#include "backends/imagined/unknown.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "backends/imagined/api.h"
#include "backends/imagined/journal.h"

namespace tidemark::imagined {
namespace {

bool holds_any(std::string_view name, std::initializer_list<std::string_view> parts) {
    return std::any_of(parts.begin(), parts.end(), [&](std::string_view part) {
        return name.find(part) != std::string_view::npos;
    });
}

bool begins_any(std::string_view name, std::initializer_list<std::string_view> parts) {
    return std::any_of(parts.begin(), parts.end(),
                       [&](std::string_view part) { return name.starts_with(part); });
}

// One function of a stub library, in the layout that stubs.py writes.
struct Entry {
    const char* name;
    std::uint64_t calls;  // including this one
};

// cublasStatus_t and others have numbers of their own for "not supported"; each library treats this
// one as a failure.
constexpr int kLibraryFailure = 15;

bool is_of_library(std::string_view name) {
    return begins_any(name,
                      {"cublas", "cudnn", "cufft", "curand", "cusparse", "cusolver", "cupti"});
}

int failure_of(std::string_view name) {
    if (name.starts_with("nvml"))
        return 3;  // NVML_ERROR_NOT_SUPPORTED
    return name.starts_with("cu") && !is_of_library(name) ? kNotSupported : kLibraryFailure;
}

}  // namespace

Unknown kind_of(std::string_view name) {
    // These report something about themselves or the device, or hand out memory.
    if (holds_any(name, {"Size", "Query", "Version", "Count", "Alloc", "Malloc", "malloc", "Export",
                         "Import", "Ipc", "Search", "Find", "Simulate", "Heuristic"}))
        return Unknown::refused;
    if (begins_any(name, {"cuFile", "nvshmem", "cu", "__cuda"}) && !is_of_library(name))
        return holds_any(name, {"Destroy", "Free", "Unload", "Disable"}) ? Unknown::quiet
                                                                         : Unknown::refused;
    if (holds_any(name, {"Create"}))
        return Unknown::creates;
    if (holds_any(name, {"Get"}))
        return Unknown::refused;
    return Unknown::quiet;
}

}  // namespace tidemark::imagined

IMAGINED(int, unknown)(tidemark::imagined::Entry* entry, void** first) {
    using namespace tidemark::imagined;
    const Unknown kind = kind_of(entry->name);
    if (entry->calls == 1 || kind == Unknown::refused)
        note_unknown(entry->name, kind == Unknown::refused);
    if (kind == Unknown::creates)
        *first = new std::array<std::uint64_t, 64>{};
    return kind == Unknown::refused ? failure_of(entry->name) : kSuccess;
}

// For people: does a function without an implementation fail? The others do nothing.
IMAGINED(int, refuses)(const char* name) {
    return static_cast<int>(tidemark::imagined::kind_of(name) ==
                            tidemark::imagined::Unknown::refused);
}
