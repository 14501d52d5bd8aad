// As much of PyTorch's header as the tracker uses, for tests without PyTorch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

namespace c10::cuda::CUDACachingAllocator {

struct TraceEntry {
    enum Action {
        ALLOC,
        FREE_REQUESTED,
        FREE_COMPLETED,
        SEGMENT_ALLOC,
        SEGMENT_FREE,
        SEGMENT_MAP,
        SEGMENT_UNMAP,
        SNAPSHOT,
        OOM,
        USER_DEFINED
    };

    Action action_;
    int device_;
    std::size_t addr_;
    void* stream_;
    std::size_t size_;
    std::pair<unsigned long long, unsigned long long> mempool_;
};

void attachAllocatorTraceTracker(std::function<void(const TraceEntry&)> tracker);

}  // namespace c10::cuda::CUDACachingAllocator
