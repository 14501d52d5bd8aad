// The fake driver's calls: movement. Addresses are looked at twice, as by the driver and by the
// device: a call with an address that is nothing is refused; work whose memory is gone when its
// turn comes faults, and the context is lost.
#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

#include "tests/backends/cuda/fake/fake_call.h"
#include "tests/backends/cuda/fake/fake_memory.h"
#include "tests/backends/cuda/fake/fake_pool.h"
#include "tests/backends/cuda/fake/fake_queue.h"

namespace tidemark::cuda {

using fake::as_id;
using fake::call;
using fake::kContext;
using fake::state;

namespace {

constexpr int kAny = -1;  // copies are done by whichever device can reach both ends

// The driver refuses a copy over two pieces of memory that only lie side by side.
bool one_piece(std::uint64_t address, std::uint64_t size) {
    using Kind = fake::Span::Kind;
    const auto* const span = fake::find_span(address);
    return span == nullptr ||
           (span->second.kind != Kind::plain && span->second.kind != Kind::host) ||
           span->first + span->second.size - address >= size;
}

// Graphs' own memory has bytes only once it is launched.
bool known(std::uint64_t address, std::uint64_t size, bool write) {
    if (fake::reachable(address, size, write, kAny))
        return one_piece(address, size) && fake::granted(address, size);
    auto block = state().graph_blocks.upper_bound(address);
    if (block == state().graph_blocks.begin())
        return false;
    --block;
    const std::uint64_t offset = address - block->first;
    return offset < block->second.size && block->second.size - offset >= size;
}

CUresult queue_on(CUstream handle, std::function<CUresult()> work) {
    std::uint64_t id = 0;
    if (fake::find_stream(handle, id) == nullptr)
        return CUresult::invalid_handle;
    return fake::enqueue(id, {std::move(work), {}});
}

CUresult copy(CUdeviceptr target, CUdeviceptr source, std::size_t size, CUstream stream) {
    if (size == 0)
        return CUresult::success;
    if (!known(target, size, true) || !known(source, size, false))
        return CUresult::invalid_value;
    return queue_on(stream, [=] {
        if (!fake::reachable(target, size, true, kAny) ||
            !fake::reachable(source, size, false, kAny))
            return CUresult::illegal_address;
        std::memmove(reinterpret_cast<void*>(target), reinterpret_cast<const void*>(source), size);
        return CUresult::success;
    });
}

template <class Value>
CUresult fill(CUdeviceptr target, Value value, std::size_t count, CUstream stream) {
    const std::uint64_t size = count * sizeof value;
    if (count == 0)
        return CUresult::success;
    const bool pageable = !state().arena.covers(target) && !fake::reachable(target, size, true, 0);
    if (pageable || target % sizeof value != 0 || !known(target, size, true))
        return CUresult::invalid_value;
    return queue_on(stream, [=] {
        if (!fake::reachable(target, size, true, kAny))
            return CUresult::illegal_address;
        std::fill_n(reinterpret_cast<Value*>(target), count, value);
        return CUresult::success;
    });
}

struct Batch {
    CUdeviceptr* targets;
    CUdeviceptr* sources;
    std::size_t* sizes;
    std::size_t count;
    std::size_t* attribute_begins;
    std::size_t attribute_count;
};

// Looks at all before the first is queued.
CUresult copy_batch(const Batch& batch, std::size_t* failed, CUstream stream) {
    if (batch.count == 0 || batch.attribute_count == 0 || batch.attribute_count > batch.count ||
        batch.attribute_begins[0] != 0)
        return CUresult::invalid_value;
    if (as_id(stream) <= 2)  // the driver does no batches on the default streams
        return CUresult::invalid_value;
    for (std::size_t i = 0; i < batch.count; ++i) {
        if (batch.sizes[i] != 0 && known(batch.targets[i], batch.sizes[i], true) &&
            known(batch.sources[i], batch.sizes[i], false))
            continue;
        if (failed != nullptr)
            *failed = i;
        return CUresult::invalid_value;
    }
    for (std::size_t i = 0; i < batch.count; ++i) {
        const CUresult queued = copy(batch.targets[i], batch.sources[i], batch.sizes[i], stream);
        if (queued != CUresult::success)
            return queued;
    }
    return CUresult::success;
}

}  // namespace

CUresult cuMemcpyAsync(CUdeviceptr target, CUdeviceptr source, std::size_t size, CUstream stream) {
    return call("cuMemcpyAsync", kContext, [&] { return copy(target, source, size, stream); });
}

CUresult cuMemcpyBatchAsync(CUdeviceptr* targets, CUdeviceptr* sources, std::size_t* sizes,
                            std::size_t count, CUmemcpyAttributes* /*attributes*/,
                            std::size_t* begins, std::size_t attribute_count, std::size_t* failed,
                            CUstream stream) {
    return call("cuMemcpyBatchAsync", kContext, [&] {
        if (state().config.driver_version < 12080)
            return CUresult::not_supported;
        return copy_batch({targets, sources, sizes, count, begins, attribute_count}, failed,
                          stream);
    });
}

CUresult cuMemcpyBatchAsync_v2(CUdeviceptr* targets, CUdeviceptr* sources, std::size_t* sizes,
                               std::size_t count, CUmemcpyAttributes* /*attributes*/,
                               std::size_t* begins, std::size_t attribute_count, CUstream stream) {
    return call("cuMemcpyBatchAsync_v2", kContext, [&] {
        if (state().config.driver_version < 13000)
            return CUresult::not_supported;
        return copy_batch({targets, sources, sizes, count, begins, attribute_count}, nullptr,
                          stream);
    });
}

CUresult cuMemsetD8Async(CUdeviceptr target, unsigned char value, std::size_t count,
                         CUstream stream) {
    return call("cuMemsetD8Async", kContext, [&] { return fill(target, value, count, stream); });
}

CUresult cuMemsetD32Async(CUdeviceptr target, unsigned value, std::size_t count, CUstream stream) {
    return call("cuMemsetD32Async", kContext, [&] { return fill(target, value, count, stream); });
}

}  // namespace tidemark::cuda
