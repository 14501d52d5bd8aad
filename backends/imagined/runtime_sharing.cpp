// Memory and events that one process shares with another. Each process has its own GPU here: a
// process that opens another's memory gets addresses, with unknown contents.
#include <array>
#include <cstdint>
#include <cstring>

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/imagined/api.h"
#include "backends/imagined/machine.h"

// Defined with other events.
extern "C" int imagined_cudaEventCreateWithFlags(tidemark::imagined::Event** out, unsigned flags);

namespace tidemark::imagined {
namespace {

// cudaIpcMemHandle_t and cudaIpcEventHandle_t, which are passed by value.
struct SharedHandle {
    std::array<char, 64> bytes;
};

constexpr int kFileDescriptor = 1;  // CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR

// No block is larger than the GPU's memory, and addresses cost nothing.
Bytes largest_block() {
    return align_up(settings().card.memory, kDriverPage);
}

}  // namespace
}  // namespace tidemark::imagined

using namespace tidemark::imagined;

IMAGINED(int, cudaIpcGetMemHandle)(SharedHandle* handle, void* at) {
    handle->bytes.fill(0);
    std::memcpy(handle->bytes.data(), &at, sizeof at);
    return kSuccess;
}

IMAGINED(int, cudaIpcOpenMemHandle)(void** out, SharedHandle, unsigned) {
    Lock machine;
    const int index = current_device();
    const auto range = machine->device(index).reserve(largest_block());
    *out = range ? reinterpret_cast<void*>(machine->to_pointer(index, range->begin)) : nullptr;
    return report(status_of(range));
}

IMAGINED(int, cudaIpcCloseMemHandle)(void* at) {
    Lock machine;
    const auto pointer = reinterpret_cast<Pointer>(at);
    const std::optional<int> index = machine->device_of(pointer);
    if (!index)
        return report(kInvalidValue);
    const auto given =
        machine->device(*index).unreserve({machine->to_address(pointer), largest_block()});
    return report(status_of(given));
}

IMAGINED(int, cudaIpcGetEventHandle)(SharedHandle* handle, Event*) {
    handle->bytes.fill(0);
    return kSuccess;
}

IMAGINED(int, cudaIpcOpenEventHandle)(Event** out, SharedHandle) {
    return imagined_cudaEventCreateWithFlags(out, 0);
}

// As a file of the memory's size, which the other process checks.
IMAGINED(int, cuMemExportToShareableHandle)

(int* out, std::uint64_t handle, int type, std::uint64_t) {
    Lock machine;
    const auto found = machine->physical.find(handle);
    if (type != kFileDescriptor || found == machine->physical.end())
        return kNotSupported;
    *out = memfd_create("imagined memory", MFD_CLOEXEC);
    const auto size = static_cast<off_t>(found->second.size);
    return *out >= 0 && ftruncate(*out, size) == 0 ? kSuccess : kOutOfMemory;
}

IMAGINED(int, cuMemImportFromShareableHandle)(std::uint64_t* out, void* file, int type) {
    struct stat about {};

    const auto number = static_cast<int>(reinterpret_cast<std::intptr_t>(file));
    if (type != kFileDescriptor || fstat(number, &about) != 0)
        return kNotSupported;
    Lock machine;
    const auto size = static_cast<tidemark::Bytes>(about.st_size);
    const auto made = machine->device(current_device()).create({}, size);
    if (!made)
        return to_status(made.error());
    *out = machine->next_handle++;
    machine->physical[*out] = {*made, current_device(), size};
    return kSuccess;
}
