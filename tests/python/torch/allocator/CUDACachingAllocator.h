// As much of PyTorch's header as the tracker uses, for tests without PyTorch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace c10 {

struct GatheredContext {
    virtual ~GatheredContext() = default;
};

}  // namespace c10

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

enum struct RecordContext { NEVER, STATE, ALLOC, ALL };

using CreateContextFn = std::shared_ptr<GatheredContext> (*)();

class CUDAAllocator {
  public:
    virtual ~CUDAAllocator() = default;
    virtual void recordHistory(bool enabled, CreateContextFn context_recorder,
                               std::size_t alloc_trace_max_entries, RecordContext when,
                               bool clearHistory, const std::vector<std::string>& skip_actions) = 0;
};

CUDAAllocator* get();

void attachAllocatorTraceTracker(std::function<void(const TraceEntry&)> tracker);

}  // namespace c10::cuda::CUDACachingAllocator
