// Memory of the devices and of the host, and the copies between them: the runtime's functions and
// the driver's.
#include <cstdlib>
#include <cstring>

#include "backends/imagined/api.h"
#include "backends/imagined/kernels.h"
#include "backends/imagined/machine.h"
#include "backends/imagined/reads.h"

namespace tidemark::imagined {
namespace {

Pointer pointer(const void* at) {
    return reinterpret_cast<Pointer>(at);
}

int take(void** out, std::size_t size) {
    *out = nullptr;
    if (size == 0)
        return kSuccess;
    Lock machine;
    const int index = current_device();
    const Bytes rounded = size < kDriverPage ? size : align_up(Bytes{size}, kDriverPage);
    const DeviceResult<Address> taken = machine->device(index).malloc(rounded);
    if (!taken)
        return to_status(taken.error());
    *out = reinterpret_cast<void*>(machine->to_pointer(index, *taken));
    return kSuccess;
}

int give_host(void* at) {
    {
        Lock machine;
        machine->managed.erase(pointer(at));
        if (machine->pinned.erase(pointer(at)) == 0 && at != nullptr)
            return kInvalidValue;
    }
    std::free(at);
    return kSuccess;
}

int give(void* at) {
    if (at == nullptr)
        return kSuccess;
    Lock machine;
    const std::optional<int> index = machine->device_of(pointer(at));
    if (!index)
        return machine->managed.contains(pointer(at)) ? give_host(at) : kInvalidValue;
    const DeviceResult<void> given = machine->device(*index).free(machine->to_address(pointer(at)));
    return status_of(given);
}

int take_queued(void** out, std::size_t size, const void* handle) {
    Lock machine;
    const Stream stream = machine->stream_of(handle, current_device());
    const DeviceResult<Address> taken =
        machine->device(stream.device).malloc_async(size, stream.id);
    *out = taken ? reinterpret_cast<void*>(machine->to_pointer(stream.device, *taken)) : nullptr;
    return status_of(taken);
}

int give_queued(void* at, const void* handle) {
    if (at == nullptr)
        return kSuccess;
    Lock machine;
    const std::optional<int> index = machine->device_of(pointer(at));
    if (!index)
        return kInvalidValue;
    const Stream stream = machine->stream_of(handle, *index);
    const DeviceResult<void> given =
        machine->device(*index).free_async(machine->to_address(pointer(at)), stream.id);
    return status_of(given);
}

int take_host(void** out, std::size_t size) {
    *out = nullptr;
    if (posix_memalign(out, 4096, size == 0 ? 1 : size) != 0)
        return kOutOfMemory;
    Lock machine;
    machine->pinned[pointer(*out)] = size;
    return kSuccess;
}

// Does the host wait for a copy from a device before it continues? Only if the call says so.
int move(void* to, const void* from, std::size_t size, const void* handle, bool wait) {
    bool read = false;
    {
        Lock machine;
        const bool to_device = machine->device_of(pointer(to)).has_value();
        const bool from_device = machine->device_of(pointer(from)).has_value();
        const Stream stream = machine->stream_of(handle, current_device());
        if (to_device && from_device)
            machine->contents.copy(pointer(to), pointer(from), size);
        else if (to_device)
            machine->contents.write(pointer(to), {static_cast<const std::byte*>(from), size});
        read = from_device && !to_device;
        machine->run(stream);
        if (wait)
            static_cast<void>(machine->device(stream.device).synchronize(stream.id));
        if (!to_device && !from_device)
            std::memcpy(to, from, size);
    }
    if (read)
        answer_read(to, pointer(from), size);
    return kSuccess;
}

int fill(void* at, int value, std::size_t size, const void* handle) {
    Lock machine;
    if (!machine->device_of(pointer(at))) {
        std::memset(at, value, size);
        return kSuccess;
    }
    machine->contents.fill(pointer(at), static_cast<std::byte>(value), size);
    machine->run(machine->stream_of(handle, current_device()));
    return kSuccess;
}

int fill_integers(Pointer at, unsigned value, std::size_t count, const void* handle) {
    if (value == 0)
        return fill(reinterpret_cast<void*>(at), 0, 4 * count, handle);
    Lock machine;
    machine->contents.forget(at, 4 * count);
    machine->run(machine->stream_of(handle, current_device()));
    return kSuccess;
}

int move_rows(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
              std::size_t width, std::size_t height, const void* handle, bool wait) {
    for (std::size_t row = 0; row < height; ++row)
        move(static_cast<char*>(to) + row * to_pitch,
             static_cast<const char*>(from) + row * from_pitch, width, handle,
             wait && row + 1 == height);
    return kSuccess;
}

// cudaPointerAttributes, as both CUDA 12 and 13 begin.
struct PointerAttributes {
    int type = 0;
    int device = 0;
    void* device_pointer = nullptr;
    void* host_pointer = nullptr;
};

constexpr std::size_t kPointerAttributes13 = 88;
constexpr int kHostType = 1, kDeviceType = 2;

}  // namespace
}  // namespace tidemark::imagined

using namespace tidemark::imagined;

IMAGINED(int, cudaMalloc)(void** out, std::size_t size) {
    return report(take(out, size));
}

IMAGINED(int, cudaFree)(void* at) {
    return report(give(at));
}

IMAGINED(int, cudaMallocAsync)(void** out, std::size_t size, void* stream) {
    return report(take_queued(out, size, stream));
}

IMAGINED(int, cudaMallocFromPoolAsync)(void** out, std::size_t size, void*, void* stream) {
    return report(take_queued(out, size, stream));
}

IMAGINED(int, cudaFreeAsync)(void* at, void* stream) {
    return report(give_queued(at, stream));
}

IMAGINED(int, cudaMemGetInfo)(std::size_t* free_bytes, std::size_t* total) {
    Lock machine;
    const tidemark::MemoryInfo memory = machine->device(current_device()).memory();
    *free_bytes = memory.free;
    *total = memory.total;
    return kSuccess;
}

IMAGINED(int, cudaHostAlloc)(void** out, std::size_t size, unsigned) {
    return report(take_host(out, size));
}

IMAGINED(int, cudaMallocHost)(void** out, std::size_t size) {
    return report(take_host(out, size));
}

// Managed memory moves to where it is used, and frees its room on the device.
IMAGINED(int, cudaMallocManaged)(void** out, std::size_t size, unsigned) {
    Lock machine;
    const int taken = take_host(out, size);
    if (taken == kSuccess)
        machine->managed.insert(pointer(*out));
    return report(taken);
}

IMAGINED(int, cudaMemPrefetchAsync)() {
    return kSuccess;
}

IMAGINED(int, cudaMemAdvise)() {
    return kSuccess;
}

IMAGINED(int, cudaFreeHost)(void* at) {
    return report(give_host(at));
}

IMAGINED(int, cudaHostGetDevicePointer)(void** out, void* at, unsigned) {
    *out = at;
    return kSuccess;
}

IMAGINED(int, cudaHostRegister)(void* at, std::size_t size, unsigned) {
    Lock machine;
    machine->pinned[pointer(at)] = size;
    return kSuccess;
}

IMAGINED(int, cudaHostUnregister)(void* at) {
    Lock machine;
    machine->pinned.erase(pointer(at));
    return kSuccess;
}

IMAGINED(int, cudaMemcpy)(void* to, const void* from, std::size_t size, int) {
    return move(to, from, size, nullptr, true);
}

IMAGINED(int, cudaMemcpyAsync)(void* to, const void* from, std::size_t size, int, void* stream) {
    return move(to, from, size, stream, false);
}

IMAGINED(int, cudaMemcpyPeerAsync)

(void* to, int, const void* from, int, std::size_t size, void* stream) {
    return move(to, from, size, stream, false);
}

IMAGINED(int, cudaMemcpy2D)

(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
 std::size_t height, int) {
    return move_rows(to, to_pitch, from, from_pitch, width, height, nullptr, true);
}

IMAGINED(int, cudaMemcpy2DAsync)

(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
 std::size_t height, int, void* stream) {
    return move_rows(to, to_pitch, from, from_pitch, width, height, stream, false);
}

IMAGINED(int, cudaMemset)(void* at, int value, std::size_t size) {
    return fill(at, value, size, nullptr);
}

IMAGINED(int, cudaMemsetAsync)(void* at, int value, std::size_t size, void* stream) {
    return fill(at, value, size, stream);
}

IMAGINED(int, cudaMemcpyToSymbol)(const void*, const void*, std::size_t, std::size_t, int) {
    return kSuccess;
}

IMAGINED(int, cudaPointerGetAttributes)(PointerAttributes* out, const void* at) {
    Lock machine;
    std::memset(static_cast<void*>(out), 0,
                settings().cuda >= 13000 ? kPointerAttributes13 : sizeof *out);
    if (const std::optional<int> device = machine->device_of(pointer(at))) {
        *out = {kDeviceType, *device, const_cast<void*>(at), nullptr};
        return kSuccess;
    }
    out->device = -1;
    auto after = machine->pinned.upper_bound(pointer(at));
    if (after != machine->pinned.begin() && (--after, pointer(at) < after->first + after->second))
        *out = {kHostType, current_device(), const_cast<void*>(at), const_cast<void*>(at)};
    return kSuccess;
}

// Memory for a variable of a module: one page for all, since nothing is ever in it.
IMAGINED(int, cudaGetSymbolAddress)(void** out, const void*) {
    static void* page = nullptr;
    Lock machine;
    if (page == nullptr)
        take(&page, tidemark::kDriverPage);
    *out = page;
    return kSuccess;
}

// PyTorch's allocator doesn't call these two: callers take memory in addition to it.
IMAGINED(int, cuMemAlloc_v2)(void** out, std::size_t size) {
    Lock machine;
    const int taken = take(out, size);
    if (taken == kSuccess && *out != nullptr)
        machine->take_beside(current_device(), pointer(*out),
                             tidemark::align_up(tidemark::Bytes{size}, tidemark::kDriverPage));
    return taken;
}

IMAGINED(int, cuMemFree_v2)(void* at) {
    Lock machine;
    if (const std::optional<int> device = machine->device_of(pointer(at)))
        machine->give_beside(*device, pointer(at));
    return give(at);
}

SAME_OF_DRIVER(cuMemAllocAsync, cudaMallocAsync);
SAME_OF_DRIVER(cuMemAllocFromPoolAsync, cudaMallocFromPoolAsync);
SAME_OF_DRIVER(cuMemFreeAsync, cudaFreeAsync);
SAME_OF_DRIVER(cuMemGetInfo_v2, cudaMemGetInfo);
SAME_OF_DRIVER(cuMemHostAlloc, cudaHostAlloc);
SAME_OF_DRIVER(cuMemAllocHost_v2, cudaMallocHost);
SAME_OF_DRIVER(cuMemFreeHost, cudaFreeHost);
SAME_OF_DRIVER(cuMemHostGetDevicePointer_v2, cudaHostGetDevicePointer);
SAME_OF_DRIVER(cuMemHostRegister_v2, cudaHostRegister);
SAME_OF_DRIVER(cuMemHostUnregister, cudaHostUnregister);

// The driver's copies name their direction; here the pointers show it.
IMAGINED(int, cuMemcpyHtoD_v2)(void* to, const void* from, std::size_t size) {
    return move(to, from, size, nullptr, true);
}

SAME_OF_DRIVER(cuMemcpyDtoH_v2, cuMemcpyHtoD_v2);
SAME_OF_DRIVER(cuMemcpyDtoD_v2, cuMemcpyHtoD_v2);
SAME_OF_DRIVER(cuMemcpy, cuMemcpyHtoD_v2);

IMAGINED(int, cuMemcpyHtoDAsync_v2)

(void* to, const void* from, std::size_t size, void* stream) {
    return move(to, from, size, stream, false);
}

SAME_OF_DRIVER(cuMemcpyDtoHAsync_v2, cuMemcpyHtoDAsync_v2);
SAME_OF_DRIVER(cuMemcpyDtoDAsync_v2, cuMemcpyHtoDAsync_v2);
SAME_OF_DRIVER(cuMemcpyAsync, cuMemcpyHtoDAsync_v2);

IMAGINED(int, cuMemsetD8Async)(void* at, unsigned char value, std::size_t size, void* stream) {
    return fill(at, value, size, stream);
}

IMAGINED(int, cuMemsetD8_v2)(void* at, unsigned char value, std::size_t size) {
    return fill(at, value, size, nullptr);
}

IMAGINED(int, cuMemsetD32Async)(Pointer at, unsigned value, std::size_t count, void* stream) {
    return fill_integers(at, value, count, stream);
}

IMAGINED(int, cuMemsetD32_v2)(Pointer at, unsigned value, std::size_t count) {
    return fill_integers(at, value, count, nullptr);
}
