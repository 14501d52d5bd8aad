// The fake driver's calls: plain memory of devices and of the host, and handles for other processes
// (which are understood in this one).
#include <algorithm>
#include <cstring>

#include "tests/backends/cuda/fake/fake_call.h"
#include "tests/backends/cuda/fake/fake_memory.h"
#include "tests/backends/cuda/fake/fake_pool.h"
#include "tests/backends/cuda/fake/fake_queue.h"

namespace tidemark::cuda {

using fake::call;
using fake::current_context;
using fake::kContext;
using fake::kUncaptured;
using fake::Physical;
using fake::Span;
using fake::state;
using fake::this_thread;

namespace {

// The span that begins there and is of that kind; null if there is none.
Span* span_at(std::uint64_t address, Span::Kind kind) {
    const auto found = state().spans.find(address);
    return found == state().spans.end() || found->second.kind != kind ? nullptr : &found->second;
}

// What a handle for another process says: which memory, and where in what the driver took.
struct IpcContent {
    std::uint64_t mark = 0;
    std::uint64_t address = 0;
    std::uint64_t offset = 0;
};

constexpr std::uint64_t kIpcMark = 0x7469646566616b65;

}  // namespace

CUresult cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
    return call("cuMemGetInfo_v2", kContext, [&] {
        const auto device = static_cast<std::size_t>(current_context()->device);
        *total = state().config.memory;
        *free = *total - state().devices[device].used;
        return CUresult::success;
    });
}

CUresult cuMemAlloc_v2(CUdeviceptr* address, std::size_t size) {
    return call("cuMemAlloc_v2", kContext | kUncaptured, [&] {
        if (size == 0)
            return CUresult::invalid_value;
        const std::uint64_t taken = fake::take_plain(current_context()->device, size);
        if (taken == 0)
            return CUresult::out_of_memory;
        state().spans.at(taken).context = this_thread().contexts.back();
        *address = taken;
        return CUresult::success;
    });
}

CUresult cuMemFree_v2(CUdeviceptr address) {
    return call("cuMemFree_v2", kContext | kUncaptured, [&] {
        fake::finish_all(0);
        if (current_context()->lost != CUresult::success)
            return current_context()->lost;
        if (fake::free_now(address))
            return CUresult::success;
        if (span_at(address, Span::Kind::plain) == nullptr)
            return CUresult::invalid_value;
        fake::give_plain(address);
        return CUresult::success;
    });
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr* base, std::size_t* size, CUdeviceptr address) {
    return call("cuMemGetAddressRange_v2", kContext, [&] {
        const auto* const found = fake::find_span(address);
        if (found == nullptr)
            return CUresult::not_found;
        if (base != nullptr)
            *base = found->first;
        if (size != nullptr)
            *size = found->second.size;
        return CUresult::success;
    });
}

CUresult cuMemHostAlloc(void** address, std::size_t size, unsigned /*flags*/) {
    return call("cuMemHostAlloc", kContext | kUncaptured, [&] {
        *address = nullptr;
        if (size == 0)
            return CUresult::success;
        Span span{.kind = Span::Kind::host,
                  .size = size,
                  .device = -1,
                  .context = this_thread().contexts.back()};
        span.physical = std::make_shared<Physical>(-1, size);
        span.physical->own = std::make_shared<fake::Backing>(fake::Backing::make(size));
        const std::uint64_t taken = fake::take_span(std::move(span), 4096);
        if (taken == 0)
            return CUresult::out_of_memory;
        *address = reinterpret_cast<void*>(taken);
        return CUresult::success;
    });
}

CUresult cuMemFreeHost(void* address) {
    return call("cuMemFreeHost", kContext | kUncaptured, [&] {
        const auto begin = reinterpret_cast<std::uint64_t>(address);
        if (span_at(begin, Span::Kind::host) == nullptr)
            return CUresult::invalid_value;
        fake::finish_all(0);
        fake::give_span(begin);
        return CUresult::success;
    });
}

CUresult cuMemHostRegister_v2(void* address, std::size_t size, unsigned /*flags*/) {
    return call("cuMemHostRegister_v2", kContext | kUncaptured, [&] {
        const auto begin = reinterpret_cast<std::uint64_t>(address);
        if (size == 0 || begin == 0 || state().arena.covers(begin))
            return CUresult::invalid_value;
        for (const auto& [other, bytes] : state().registered) {
            if (begin < other + bytes && other < begin + size)
                return CUresult::host_memory_already_registered;
        }
        state().registered.emplace(begin, size);
        return CUresult::success;
    });
}

CUresult cuMemHostUnregister(void* address) {
    return call("cuMemHostUnregister", kContext | kUncaptured, [&] {
        return state().registered.erase(reinterpret_cast<std::uint64_t>(address)) == 1
                   ? CUresult::success
                   : CUresult::host_memory_not_registered;
    });
}

CUresult cuIpcGetMemHandle(CUipcMemHandle* handle, CUdeviceptr address) {
    return call("cuIpcGetMemHandle", kContext, [&] {
        if (state().config.ipc == 0)
            return CUresult::not_supported;
        const auto* const found = fake::find_span(address);
        if (found == nullptr || found->second.kind != Span::Kind::plain)
            return CUresult::invalid_value;
        const bool small = found->second.size < fake::kUnit;
        const IpcContent content{kIpcMark, found->first, small ? found->first % fake::kUnit : 0};
        std::memset(handle, 0, sizeof *handle);
        std::memcpy(handle->reserved, &content, sizeof content);
        return CUresult::success;
    });
}

CUresult cuIpcOpenMemHandle_v2(CUdeviceptr* address, CUipcMemHandle handle, unsigned flags) {
    return call("cuIpcOpenMemHandle_v2", kContext, [&] {
        if (state().config.ipc == 0)
            return CUresult::not_supported;
        IpcContent content;
        std::memcpy(&content, handle.reserved, sizeof content);
        const auto* const found = fake::find_span(content.address);
        if (content.mark != kIpcMark || flags != kIpcLazyEnablePeerAccess || found == nullptr)
            return CUresult::invalid_value;
        // All of what the driver took, as in the driver.
        Span span{.kind = Span::Kind::opened,
                  .size = found->second.physical->size,
                  .device = found->second.device,
                  .physical = found->second.physical};
        const std::uint64_t taken = fake::take_span(std::move(span), fake::kUnit);
        if (taken == 0)
            return CUresult::out_of_memory;
        *address = taken + content.offset;
        return CUresult::success;
    });
}

CUresult cuIpcCloseMemHandle(CUdeviceptr address) {
    return call("cuIpcCloseMemHandle", kContext, [&] {
        const auto* const found = fake::find_span(address);
        if (found == nullptr || found->second.kind != Span::Kind::opened)
            return CUresult::invalid_value;
        fake::finish_all(0);
        fake::give_span(found->first);
        return CUresult::success;
    });
}

}  // namespace tidemark::cuda
