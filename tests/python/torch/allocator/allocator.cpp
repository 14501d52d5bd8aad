// An allocator that does what a test says.
#include <mutex>
#include <vector>

#include <c10/cuda/CUDACachingAllocator.h>

namespace c10::cuda::CUDACachingAllocator {
namespace {

std::mutex mutex;
std::vector<std::function<void(const TraceEntry&)>> trackers;
CreateContextFn context = nullptr;

class FakeAllocator final : public CUDAAllocator {
  public:
    void recordHistory(bool enabled, CreateContextFn context_recorder, std::size_t, RecordContext,
                       bool, const std::vector<std::string>&) override {
        context = enabled ? context_recorder : nullptr;
    }
};

}  // namespace

CUDAAllocator* get() {
    static FakeAllocator allocator;
    return &allocator;
}

void attachAllocatorTraceTracker(std::function<void(const TraceEntry&)> tracker) {
    trackers.push_back(std::move(tracker));
}

extern "C" void fake_event(int action, int device, std::size_t address, std::size_t stream,
                           std::size_t size, unsigned graph, unsigned made) {
    if (context != nullptr && action == TraceEntry::ALLOC)
        context();  // before the lock is taken
    const std::lock_guard lock(mutex);
    for (const auto& tracker : trackers)
        tracker({static_cast<TraceEntry::Action>(action),
                 device,
                 address,
                 reinterpret_cast<void*>(stream),
                 size,
                 {graph, made}});
}

extern "C" int fake_trackers() {
    return static_cast<int>(trackers.size());
}

}  // namespace c10::cuda::CUDACachingAllocator
