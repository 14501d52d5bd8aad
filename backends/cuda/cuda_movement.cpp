// CudaDevice, movement and content: copies, fills, and patterns that prove who owns memory.
#include <algorithm>
#include <array>

#include "backends/cuda/cuda_content.h"
#include "backends/cuda/cuda_context.h"
#include "backends/cuda/cuda_device.h"
#include "backends/cuda/cuda_streams.h"

namespace tidemark {
namespace {

using cuda::CUdeviceptr;
using cuda::CUresult;

constexpr Bytes kCudaMovementWord = sizeof(std::uint32_t);

}  // namespace

void CudaDevice::count_copy(Address target, Address source, Bytes size) {
    const bool to_host = on_host(target);
    const bool to_device = !to_host && on_host(source);
    const bool on_device = !to_host && !to_device;
    context_->count_copied(to_host ? size : 0, to_device ? size : 0, on_device ? size : 0);
}

DeviceResult<void> CudaDevice::copy(Address target, Address source, Bytes size, StreamId stream) {
    CudaCall call{*context_, DeviceCall::copy};
    TM_ASSIGN(const cuda::CUstream queue, native_of(call, stream));
    if (size == 0)
        return {};
    const auto done = call.make(driver_->cuMemcpyAsync, device_pointer(target),
                                device_pointer(source), size, queue);
    if (done)
        count_copy(target, source, size);
    return done;
}

DeviceResult<void> CudaDevice::fill(Address target, std::uint8_t value, Bytes size,
                                    StreamId stream) {
    CudaCall call{*context_, DeviceCall::fill};
    TM_ASSIGN(const cuda::CUstream queue, native_of(call, stream));
    if (size == 0)
        return {};
    return call.make(driver_->cuMemsetD8Async, device_pointer(target), value, size, queue);
}

DeviceResult<void> CudaDevice::copy_batch(std::span<const CopyRange> copies, StreamId stream) {
    CudaCall call{*context_, DeviceCall::copy_batch};
    TM_ASSIGN(const CudaStream* const known, streams_->find(call, stream));
    TM_ASSIGN(const cuda::CUstream queue, native_of(call, stream));
    // The driver accepts batches only on non-default streams, and a capture has no node for them.
    const bool batches =
        info_.batch_copies && queue != nullptr && copies.size() > 1 && !streams_->captured(*known);
    if (batches)
        return queue_batch(call, copies, queue);
    for (const CopyRange& one : copies) {
        if (one.size == 0)
            continue;
        const auto done = call.make(driver_->cuMemcpyAsync, device_pointer(one.target),
                                    device_pointer(one.source), one.size, queue);
        if (!done)
            return done;
        count_copy(one.target, one.source, one.size);
    }
    return {};
}

DeviceResult<void> CudaDevice::queue_batch(CudaCall& call, std::span<const CopyRange> copies,
                                           cuda::CUstream stream) {
    constexpr std::size_t kBatch = 256;  // on the stack: 6 KiB
    std::array<CUdeviceptr, kBatch> targets;
    std::array<CUdeviceptr, kBatch> sources;
    std::array<std::size_t, kBatch> sizes;
    cuda::CUmemcpyAttributes attributes;  // one set for all, from the first copy on
    std::size_t first = 0;
    while (!copies.empty()) {
        std::size_t count = 0;
        const auto batch = copies.first(std::min(copies.size(), kBatch));
        for (const CopyRange& one : batch) {
            if (one.size == 0)
                continue;
            targets[count] = device_pointer(one.target);
            sources[count] = device_pointer(one.source);
            sizes[count] = one.size;
            ++count;
        }
        copies = copies.subspan(batch.size());
        if (count == 0)
            continue;
        std::size_t failed = 0;
        const DeviceResult<void> done =
            driver_->cuMemcpyBatchAsync_v2
                ? call.make(driver_->cuMemcpyBatchAsync_v2, targets.data(), sources.data(),
                            sizes.data(), count, &attributes, &first, std::size_t{1}, stream)
                : call.make(driver_->cuMemcpyBatchAsync, targets.data(), sources.data(),
                            sizes.data(), count, &attributes, &first, std::size_t{1}, &failed,
                            stream);
        if (!done)
            return done;
        for (const CopyRange& one : batch)
            count_copy(one.target, one.source, one.size);
    }
    return {};
}

DeviceResult<void> CudaDevice::write_pattern(Address target, std::uint32_t pattern, Bytes size,
                                             StreamId stream) {
    CudaCall call{*context_, DeviceCall::write_pattern};
    if (to_integer(target) % kCudaMovementWord != 0)
        return call.refuse(DeviceStatus::invalid_value, "the address is not a multiple of 4");
    TM_ASSIGN(const cuda::CUstream queue, native_of(call, stream));
    const Bytes whole = size / kCudaMovementWord;
    DeviceResult<void> done;
    if (whole > 0)
        done = call.make(driver_->cuMemsetD32Async, device_pointer(target), pattern, whole, queue);
    for (Bytes i = whole * kCudaMovementWord; done && i < size; ++i) {
        const auto byte = static_cast<unsigned char>(pattern >> (8 * (i % kCudaMovementWord)));
        done = call.make(driver_->cuMemsetD8Async, device_pointer(target + i), byte, std::size_t{1},
                         queue);
    }
    return done;
}

DeviceResult<Bytes> CudaDevice::check_pattern(Address target, std::uint32_t pattern, Bytes size,
                                              StreamId stream) {
    CudaCall call{*context_, DeviceCall::check_pattern};
    TM_TRY(refuse_while_capturing(call));
    if (to_integer(target) % kCudaMovementWord != 0)
        return call.refuse(DeviceStatus::invalid_value, "the address is not a multiple of 4");
    TM_ASSIGN(const cuda::CUstream queue, native_of(call, stream));
    if (size == 0)
        return Bytes{0};
    return content_->count_mismatches(call, device_pointer(target), pattern, size, queue);
}

}  // namespace tidemark
