// The fake driver's calls: stream-ordered memory.
#include "tests/backends/cuda/fake/fake_call.h"
#include "tests/backends/cuda/fake/fake_memory.h"
#include "tests/backends/cuda/fake/fake_pool.h"
#include "tests/backends/cuda/fake/fake_queue.h"

namespace tidemark::cuda {

using fake::as_handle;
using fake::as_id;
using fake::call;
using fake::current_context;
using fake::kContext;
using fake::kStarted;
using fake::Pool;
using fake::state;
using fake::Stream;

namespace {

Pool* find_pool(CUmemoryPool pool) {
    const auto found = state().pools.find(as_id(pool));
    return found == state().pools.end() ? nullptr : &found->second;
}

// Within a capture: a node that allocates, at an address that is known already.
CUresult record_allocation(CUdeviceptr* address, std::size_t size, std::uint64_t id,
                           fake::Capture& capture) {
    if (capture.invalidated)
        return CUresult::stream_capture_invalidated;
    const std::uint64_t taken = fake::take_graph_block(current_context()->device, size);
    if (taken == 0)
        return CUresult::out_of_memory;
    const auto allocate = [taken] {
        state().graph_blocks.at(taken).live = true;
        return CUresult::success;
    };
    capture.allocations.push_back(taken);
    *address = taken;
    return fake::enqueue(id, {allocate, {}});
}

CUresult record_free(CUdeviceptr address, std::uint64_t id, fake::Capture& capture) {
    if (capture.invalidated)
        return CUresult::stream_capture_invalidated;
    if (!state().graph_blocks.contains(address) || !capture.freed.insert(address).second)
        return CUresult::invalid_value;
    const auto give = [address] {
        state().graph_blocks.at(address).live = false;
        return CUresult::success;
    };
    return fake::enqueue(id, {give, {}});
}

CUresult allocate(CUdeviceptr* address, std::size_t size, std::uint64_t pool, CUstream handle) {
    std::uint64_t id = 0;
    const Stream* const stream = fake::find_stream(handle, id);
    if (stream == nullptr)
        return CUresult::invalid_handle;
    if (state().config.pools == 0)
        return CUresult::not_supported;
    if (stream->capture)
        return record_allocation(address, size, id, *stream->capture);
    if (const CUresult refused = fake::refuse_in_capture(); refused != CUresult::success)
        return refused;
    *address = 0;
    if (size == 0)
        return CUresult::success;
    const std::uint64_t taken = fake::take_from_pool(pool, size, id);
    if (taken == 0)
        return CUresult::out_of_memory;
    *address = taken;
    return CUresult::success;
}

}  // namespace

CUresult cuMemAllocAsync(CUdeviceptr* address, std::size_t size, CUstream stream) {
    return call("cuMemAllocAsync", kContext, [&] {
        const auto device = static_cast<std::size_t>(current_context()->device);
        return allocate(address, size, state().devices[device].pool, stream);
    });
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr* address, std::size_t size, CUmemoryPool pool,
                                 CUstream stream) {
    return call("cuMemAllocFromPoolAsync", kContext, [&] {
        if (find_pool(pool) == nullptr)
            return CUresult::invalid_value;
        return allocate(address, size, as_id(pool), stream);
    });
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream handle) {
    return call("cuMemFreeAsync", kContext, [&] {
        std::uint64_t id = 0;
        const Stream* const stream = fake::find_stream(handle, id);
        if (stream == nullptr)
            return CUresult::invalid_handle;
        if (stream->capture)
            return record_free(address, id, *stream->capture);
        if (const CUresult refused = fake::refuse_in_capture(); refused != CUresult::success)
            return refused;
        return fake::free_on_stream(address, id);
    });
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice device) {
    return call("cuDeviceGetDefaultMemPool", kStarted, [&] {
        if (!state().has_device(device))
            return CUresult::invalid_device;
        if (state().config.pools == 0)
            return CUresult::not_supported;
        *pool = as_handle<CUmemoryPool>(state().devices[static_cast<std::size_t>(device)].pool);
        return CUresult::success;
    });
}

CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* wanted) {
    return call("cuMemPoolCreate", kStarted, [&] {
        if (state().config.pools == 0)
            return CUresult::not_supported;
        if (wanted->type != CUmemAllocationType::pinned ||
            wanted->location.type != CUmemLocationType::device ||
            !state().has_device(wanted->location.id))
            return CUresult::invalid_value;
        const std::uint64_t made = state().new_id();
        state().pools.emplace(made, Pool{.device = wanted->location.id});
        *pool = as_handle<CUmemoryPool>(made);
        return CUresult::success;
    });
}

CUresult cuMemPoolDestroy(CUmemoryPool pool) {
    return call("cuMemPoolDestroy", kStarted, [&] {
        const Pool* const found = find_pool(pool);
        if (found == nullptr ||
            state().devices[static_cast<std::size_t>(found->device)].pool == as_id(pool))
            return CUresult::invalid_value;
        fake::end_pool(as_id(pool));
        return CUresult::success;
    });
}

CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute what, void* value) {
    return call("cuMemPoolSetAttribute", kStarted, [&] {
        Pool* const found = find_pool(pool);
        if (found == nullptr)
            return CUresult::invalid_value;
        const std::uint64_t bytes = *static_cast<std::uint64_t*>(value);
        switch (what) {
            case CUmemPool_attribute::reuse_follow_event_dependencies:
            case CUmemPool_attribute::reuse_allow_opportunistic:
            case CUmemPool_attribute::reuse_allow_internal_dependencies:
                return CUresult::success;
            case CUmemPool_attribute::release_threshold:
                found->threshold = bytes;
                return CUresult::success;
            case CUmemPool_attribute::reserved_mem_high:
                found->reserved_high = found->reserved;
                return bytes == 0 ? CUresult::success : CUresult::invalid_value;
            case CUmemPool_attribute::used_mem_high:
                found->used_high = found->used;
                return bytes == 0 ? CUresult::success : CUresult::invalid_value;
            case CUmemPool_attribute::reserved_mem_current:
            case CUmemPool_attribute::used_mem_current:
                break;
        }
        return CUresult::invalid_value;
    });
}

CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute what, void* value) {
    return call("cuMemPoolGetAttribute", kStarted, [&] {
        const Pool* const found = find_pool(pool);
        if (found == nullptr)
            return CUresult::invalid_value;
        auto* const bytes = static_cast<std::uint64_t*>(value);
        switch (what) {
            case CUmemPool_attribute::reuse_follow_event_dependencies:
            case CUmemPool_attribute::reuse_allow_opportunistic:
            case CUmemPool_attribute::reuse_allow_internal_dependencies:
                *static_cast<int*>(value) = 1;
                break;
            case CUmemPool_attribute::release_threshold:
                *bytes = found->threshold;
                break;
            case CUmemPool_attribute::reserved_mem_current:
                *bytes = found->reserved;
                break;
            case CUmemPool_attribute::reserved_mem_high:
                *bytes = found->reserved_high;
                break;
            case CUmemPool_attribute::used_mem_current:
                *bytes = found->used;
                break;
            case CUmemPool_attribute::used_mem_high:
                *bytes = found->used_high;
                break;
        }
        return CUresult::success;
    });
}

CUresult cuMemPoolTrimTo(CUmemoryPool pool, std::size_t keep) {
    return call("cuMemPoolTrimTo", kStarted, [&] {
        if (find_pool(pool) == nullptr)
            return CUresult::invalid_value;
        fake::trim_pool(as_id(pool), keep);
        return CUresult::success;
    });
}

}  // namespace tidemark::cuda
