// PyTorch's CUDA memory from libtidemark.so: an allocator class of PyTorch. Compiled by
// _compiled.py against the installed PyTorch, because that class changes from release to release.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <c10/core/impl/GPUTrace.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/csrc/cuda/CUDAPluggableAllocator.h>

#include "c_library.h"
#include "devices.h"
#include "graph_pools.h"
#include "history.h"
#include "own_pools.h"

namespace tidemark::pytorch {
namespace {

std::string in_units(std::uint64_t bytes) {
    constexpr std::array<const char*, 4> kUnits{"bytes", "KiB", "MiB", "GiB"};
    std::size_t unit = 0;
    double amount = static_cast<double>(bytes);
    while (amount >= 1024 && unit + 1 < kUnits.size()) {
        amount /= 1024;
        ++unit;
    }
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), unit == 0 ? "%.0f %s" : "%.2f %s", amount,
                  kUnits[unit]);
    return text.data();
}

// Callbacks that free memory when there is none left; PyTorch has one for shared tensors.
bool call_memory_callbacks() {
    bool freed = false;
    const auto registry = c10::FreeCudaMemoryCallbacksRegistry();
    for (const auto& name : registry->Keys())
        freed |= registry->Create(name)->Execute();
    return freed;
}

class TidemarkAllocator final : public caching::CUDAAllocator {
  public:
    Devices& devices() { return devices_; }

    // PyTorch's own allocator, which this one replaces.
    void replace(caching::CUDAAllocator* own) { pools_.set_own(own); }

    c10::DataPtr allocate(std::size_t size) override {
        c10::DeviceIndex index = 0;
        if (!enabled_)
            return pools_.own().allocate(size);
        C10_CUDA_CHECK(c10::cuda::GetDevice(&index));
        void* const pointer = malloc(size, index, c10::cuda::getCurrentCUDAStream(index));
        return {pointer, pointer, raw_deleter(), c10::Device(c10::DeviceType::CUDA, index)};
    }

    c10::DeleterFnPtr raw_deleter() const override;

    void* raw_alloc(std::size_t size) override {
        return raw_alloc_with_stream(size, c10::cuda::getCurrentCUDAStream());
    }

    void* raw_alloc_with_stream(std::size_t size, cudaStream_t stream) override {
        if (!enabled_)
            return pools_.own().raw_alloc_with_stream(size, stream);
        c10::DeviceIndex index = 0;
        C10_CUDA_CHECK(c10::cuda::GetDevice(&index));
        return malloc(size, index, stream);
    }

    void raw_delete(void* pointer) override { free(pointer); }

    void copy_data(void* to, const void* from, std::size_t size) const override {
        C10_CUDA_CHECK(cudaMemcpy(to, from, size, cudaMemcpyDeviceToDevice));
    }

    void init(int count) override {
        pools_.init(count);
        initialized_ = true;
    }

    bool initialized() override { return initialized_; }

    void enable(bool wanted) override {
        pools_.own().enable(wanted);
        enabled_ = wanted;
    }

    bool isEnabled() const override { return enabled_; }

    std::string name() override { return "tidemark"; }

    double getMemoryFraction(c10::DeviceIndex index) override {
        const std::lock_guard lock(devices_.at(index).mutex);
        return devices_.at(index).fraction;
    }

    void setMemoryFraction(double fraction, c10::DeviceIndex index) override {
        Device& device = devices_.at(index);
        devices_.context_of(index);
        const std::uint64_t total = Devices::statistics(device).device_total;
        const std::lock_guard lock(device.mutex);
        device.fraction = fraction;
        device.quota = static_cast<std::uint64_t>(fraction * static_cast<double>(total));
    }

    std::vector<caching::StreamSegmentSize> getExpandableSegmentSizes(
        c10::DeviceIndex index) override {
        return pools_.own().getExpandableSegmentSizes(index);
    }

    void emptyCache(MempoolId_t id) override {
        pools_.own().emptyCache(id);
        if (id != MempoolId_t{0, 0})
            return;
        for (int index = 0; index < static_cast<int>(kMostDevices); ++index)
            trim(index);
    }

    void cacheInfo(c10::DeviceIndex index, std::size_t* largest) override {
        devices_.context_of(index);
        const Statistics now = Devices::statistics(devices_.at(index));
        *largest = std::max<std::size_t>(*largest, now.device_free);
    }

    void* getBaseAllocation(void* pointer, std::size_t* size) override {
        const std::optional<Found> found = devices_.find(pointer);
        if (!found)
            return pools_.own().getBaseAllocation(pointer, size);
        if (size != nullptr)
            *size = found->block.granted;
        return pointer_of(found->block.address);
    }

    using caching::CUDAAllocator::recordStream;

    void recordStream(const c10::DataPtr& data, c10::cuda::CUDAStream stream) override {
        if (data.get() == nullptr || data.get_deleter() != raw_deleter())
            return;  // somebody else's memory, as a tensor
        if (pools_.holds(data.get())) {
            c10::DataPtr own(data.get(), data.get(), pools_.own().raw_deleter(), data.device());
            pools_.own().recordStream(own, stream);
            own.release_context();
            return;
        }
        Device& device = devices_.at(data.device().index());
        const Relaxed relaxed(device);
        check(library.record_use(device.context.load(), number_of(data.get()),
                                 number_of(stream.stream())));
    }

    DeviceStats getDeviceStats(c10::DeviceIndex index) override {
        DeviceStats stats;
        if (pools_.has_device(index))
            stats = pools_.own().getDeviceStats(index);
        Device& device = devices_.at(index);
        const Statistics now = Devices::statistics(device);
        count_segments(device, now);
        const std::lock_guard lock(device.mutex);
        for (const auto member : OwnPools::kCounted)
            stats.*member = device.stats.*member;
        stats.num_ooms += device.stats.num_ooms;
        stats.num_alloc_retries += signed_of(now.retries - device.retries_before);
        stats.num_device_alloc += signed_of(now.segments_created);
        stats.num_device_free += signed_of(now.segments_released);
        const std::uint64_t unused = now.reserved - std::min(now.reserved, now.active);
        add(stats.reserved_bytes[kAll], now.reserved, now.peak_reserved);
        add(stats.inactive_split_bytes[kAll], unused, unused);
        add(stats.segment[kAll], now.segments_created - now.segments_released, 0);
        stats.segment[kAll].allocated += signed_of(now.segments_created);
        stats.segment[kAll].freed += signed_of(now.segments_released);
        for (const std::size_t kind : {1, 2}) {
            add(stats.reserved_bytes[kind], device.reserved[kind]);
            add(stats.segment[kind], device.segments[kind]);
        }
        return stats;
    }

    void resetAccumulatedStats(c10::DeviceIndex index) override {
        if (pools_.has_device(index))
            pools_.own().resetAccumulatedStats(index);
        Device& device = devices_.at(index);
        const Statistics now = Devices::statistics(device);
        const std::lock_guard lock(device.mutex);
        for_each_count(device, [](Stat& stat) { stat.reset_accumulated(); });
        device.stats.num_ooms = 0;
        device.retries_before = now.retries;
    }

    void resetPeakStats(c10::DeviceIndex index) override {
        if (pools_.has_device(index))
            pools_.own().resetPeakStats(index);
        Device& device = devices_.at(index);
        if (const Context context = device.context.load())
            check(library.reset_peaks(context));
        const std::lock_guard lock(device.mutex);
        for_each_count(device, [](Stat& stat) { stat.reset_peak(); });
    }

    // Private pools.

    void beginAllocateToPool(c10::DeviceIndex index, MempoolId_t id,
                             std::function<bool(cudaStream_t)> serves) override {
        pools_.begin(index, id, std::move(serves));
    }

    void endAllocateToPool(c10::DeviceIndex index, MempoolId_t id) override {
        pools_.end(index, id);
    }

    void releasePool(c10::DeviceIndex index, MempoolId_t id) override {
        pools_.own().releasePool(index, id);
    }

    int getPoolUseCount(c10::DeviceIndex index, MempoolId_t id) override {
        return pools_.own().getPoolUseCount(index, id);
    }

    void createOrIncrefPool(c10::DeviceIndex index, MempoolId_t id,
                            std::shared_ptr<caching::CUDAAllocator> allocator) override {
        pools_.own().createOrIncrefPool(index, id, std::move(allocator));
    }

    void setUseOnOOM(c10::DeviceIndex index, MempoolId_t id, bool wanted) override {
        pools_.own().setUseOnOOM(index, id, wanted);
        uses_pools_on_oom_ = uses_pools_on_oom_ || wanted;
    }

    void setNoSplit(c10::DeviceIndex index, MempoolId_t id) override {
        pools_.own().setNoSplit(index, id);
    }

    bool checkPoolLiveAllocations(c10::DeviceIndex index, MempoolId_t id,
                                  const std::unordered_set<void*>& expected) override {
        return pools_.own().checkPoolLiveAllocations(index, id, expected);
    }

    std::shared_ptr<caching::AllocatorState> getCheckpointState(c10::DeviceIndex index,
                                                                MempoolId_t id) override {
        return pools_.own().getCheckpointState(index, id);
    }

    // Blocks that it returns are freed here.
    caching::CheckpointDelta setCheckpointPoolState(
        c10::DeviceIndex index, std::shared_ptr<caching::AllocatorState> state) override {
        caching::CheckpointDelta delta =
            pools_.own().setCheckpointPoolState(index, std::move(state));
        for (void* const pointer : delta.ptrs_freed)
            pools_.forget(pointer);
        for (c10::DataPtr& data : delta.dataptrs_allocd) {
            void* const pointer = data.get();
            const c10::Device device = data.device();
            data.release_context();
            data = c10::DataPtr(pointer, pointer, raw_deleter(), device);
            pools_.hold(pointer);
        }
        pools_.recount(index);
        return delta;
    }

    // History.

    void attachOutOfMemoryObserver(caching::OutOfMemoryObserver observer) override {
        observers_.push_back(observer);
        pools_.own().attachOutOfMemoryObserver(std::move(observer));
    }

    bool isHistoryEnabled() override { return history_.recording(); }

    void recordHistory(bool enabled, caching::CreateContextFn gather, std::size_t most,
                       caching::RecordContext when, bool clear,
                       const std::vector<std::string>& skipped) override {
        pools_.own().recordHistory(enabled, gather, most, when, clear, skipped);
        history_.record(enabled, gather, most, when, clear, skipped);
    }

    caching::SnapshotInfo snapshot(MempoolId_t id, bool with_entries) override {
        caching::SnapshotInfo all = pools_.own().snapshot(id, with_entries);
        if (id != MempoolId_t{0, 0})
            return all;
        for (int index = 0; index < static_cast<int>(kMostDevices); ++index) {
            if (const Context context = devices_.at(index).context.load())
                history_.add_to(all, index, context, with_entries);
        }
        return all;
    }

    void recordAnnotation(const std::vector<std::pair<std::string, std::string>>& facts) override {
        pools_.own().recordAnnotation(facts);
    }

    void pushCompileContext(std::string& name) override {
        history_.push_compile_context(name);
        pools_.own().pushCompileContext(name);
    }

    void popCompileContext() override {
        history_.pop_compile_context();
        pools_.own().popCompileContext();
    }

    void setUserMetadata(const std::string& metadata) override {
        history_.set_metadata(metadata);
        pools_.own().setUserMetadata(metadata);
    }

    std::string getUserMetadata() override { return pools_.own().getUserMetadata(); }

    void attachAllocatorTraceTracker(caching::AllocatorTraceTracker tracker) override {
        history_.attach(tracker);
        pools_.own().attachAllocatorTraceTracker(std::move(tracker));
    }

    // Other processes and devices.

    // In PyTorch's format, so that a process without Tidemark can open it.
    caching::ShareableHandle shareIpcHandle(void* pointer) override {
        const std::optional<Found> found = devices_.find(pointer);
        if (!found)
            return pools_.own().shareIpcHandle(pointer);
        IpcHandle handle{sizeof(IpcHandle)};
        TORCH_CHECK(library.ipc_export(found->context, number_of(pointer), &handle) == 0,
                    "tidemark: memory of the policy ", library.policy(found->context),
                    " can't be shared with another process: create the tensor in a pool of PyTorch "
                    "(with torch.cuda.use_mem_pool(torch.cuda.MemPool()): ...), or call "
                    "tidemark.torch.use(\"torch\")");
        const c10::cuda::CUDAGuard guard(static_cast<c10::DeviceIndex>(found->index));
        void* const sample = pools_.own().raw_alloc(1);
        std::string form = pools_.own().shareIpcHandle(sample).handle;
        pools_.own().raw_delete(sample);
        TORCH_CHECK(form.size() > sizeof(handle.bytes),
                    "tidemark: this PyTorch shares memory in an unknown format");
        form.resize(form.size() - sizeof(handle.bytes));
        return {static_cast<std::ptrdiff_t>(handle.offset),
                form + std::string(handle.bytes, sizeof(handle.bytes))};
    }

    std::shared_ptr<void> getIpcDevPtr(std::string handle) override {
        return pools_.own().getIpcDevPtr(std::move(handle));
    }

    // Gives one device access to the memory of another.
    void enablePeerAccess(c10::DeviceIndex index, c10::DeviceIndex other) override {
        pools_.own().enablePeerAccess(index, other);
        check(library.peer_access(devices_.context_of(other), index));
    }

    // Copies between peer devices: mapped memory is not visible to the other one.
    cudaError_t memcpyAsync(void* to, int to_device, const void* from, int from_device,
                            std::size_t size, cudaStream_t stream, bool) override {
        return to_device == from_device
                   ? cudaMemcpyAsync(to, from, size, cudaMemcpyDeviceToDevice, stream)
                   : cudaMemcpyPeerAsync(to, to_device, from, from_device, size, stream);
    }

    void free(void* pointer) noexcept {
        if (pointer == nullptr)
            return;
        if (const c10::impl::PyInterpreter* tracer = c10::impl::GPUTrace::get_trace())
            (*tracer)->trace_gpu_memory_deallocation(c10::kCUDA,
                                                     reinterpret_cast<std::uintptr_t>(pointer));
        if (pools_.give(pointer))
            return;
        // Ignores unknown memory: objects may free it when they are deleted with the process.
        const std::optional<Found> found = devices_.find(pointer);
        if (!found)
            return;
        if (history_.wanted())
            history_.freed(found->index, found->block, history_.gather(RecordContext::ALL));
        devices_.give(*found);
        if (history_.wanted())
            history_.looked_at(found->index, found->context);
        report(pointer, -signed_of(found->block.granted), found->index);
    }

  private:
    static constexpr std::size_t kExabyte = std::size_t{1} << 60U;

    template <class Change>
    static void for_each_count(Device& device, Change change) {
        for (const auto member : OwnPools::kCounted) {
            for (Stat& stat : device.stats.*member)
                change(stat);
        }
        for (auto* const kinds : {&device.segments, &device.reserved}) {
            for (Stat& stat : *kinds)
                change(stat);
        }
    }

    static void add(Stat& stat, const Stat& more) {
        stat.current += more.current;
        stat.peak += more.peak;
        stat.allocated += more.allocated;
        stat.freed += more.freed;
    }

    static void add(Stat& stat, std::uint64_t current, std::uint64_t peak) {
        stat.current += signed_of(current);
        stat.peak += signed_of(std::max(current, peak));
    }

    void trim(int index) {
        Device& device = devices_.at(index);
        const Context context = device.context.load();
        if (context == nullptr)
            return;
        const Relaxed relaxed(device);
        check(library.trim(context, device.open_scopes.load() == 0));
        if (history_.wanted())
            history_.looked_at(index, context);
    }

    void* malloc(std::size_t size, int index, cudaStream_t stream) {
        TORCH_CHECK_WITH(OutOfMemoryError, size < kExabyte,
                         "CUDA out of memory. Tried to allocate more than 1EB memory.");
        if (size == 0)
            return nullptr;
        void* const pointer = pools_.serves(index, stream) ? malloc_in_pool(size, index, stream)
                                                           : malloc_here(size, index, stream);
        if (const c10::impl::PyInterpreter* tracer = c10::impl::GPUTrace::get_trace())
            (*tracer)->trace_gpu_memory_allocation(c10::kCUDA,
                                                   reinterpret_cast<std::uintptr_t>(pointer));
        return pointer;
    }

    void* malloc_in_pool(std::size_t size, int index, cudaStream_t stream) {
        try {
            return pools_.take(size, index, stream);
        } catch (const c10::OutOfMemoryError&) {
            trim(index);
        }
        return pools_.take(size, index, stream);
    }

    void* malloc_here(std::size_t size, int index, cudaStream_t stream) {
        const bool wanted = history_.wanted();
        History::Stack stack = wanted ? history_.gather(RecordContext::STATE) : nullptr;
        std::optional<Block> block = devices_.take(size, index, stream);
        if (!block && pools_.has_device(index) && make_room())
            block = devices_.take(size, index, stream);
        if (!block && uses_pools_on_oom_)
            return pools_.take(size, index, stream);
        if (!block)
            refuse(size, index, stream, std::move(stack));
        if (wanted)
            history_.granted(index, devices_.at(index).context.load(), *block, std::move(stack));
        void* const pointer = pointer_of(block->address);
        report(pointer, signed_of(block->granted), index);
        return pointer;
    }

    // Includes memory that PyTorch's own allocator keeps for pools and for other processes.
    bool make_room() {
        call_memory_callbacks();
        pools_.own().emptyCache({0, 0});
        return true;
    }

    void report(void* pointer, std::int64_t change, int index) {
        if (!c10::memoryProfilingEnabled())
            return;
        Device& device = devices_.at(index);
        const Statistics now = Devices::statistics(device);
        std::int64_t held = 0;
        {
            const std::lock_guard lock(device.mutex);
            held = device.stats.allocated_bytes[kAll].current;
        }
        c10::reportMemoryUsageToProfiler(
            pointer, change, static_cast<std::size_t>(held), now.reserved,
            c10::Device(c10::DeviceType::CUDA, static_cast<c10::DeviceIndex>(index)));
    }

    [[noreturn]] void refuse(std::size_t size, int index, cudaStream_t stream,
                             History::Stack stack) {
        Device& device = devices_.at(index);
        std::string why = last_error();
        const Statistics now = Devices::statistics(device);
        std::uint64_t held = 0;
        {
            const std::lock_guard lock(device.mutex);
            ++device.stats.num_ooms;
            held = static_cast<std::uint64_t>(device.stats.allocated_bytes[kAll].current);
            if (over_quota(device, size))
                why = "PyTorch may hold " + in_units(device.quota);
        }
        if (history_.wanted())
            history_.out_of_memory(index, now.device_free, size, stream, std::move(stack));
        for (const auto& observer : observers_)
            observer(index, size, now.device_total, now.device_free);
        TORCH_CHECK_WITH(
            OutOfMemoryError, false, "CUDA out of memory. Tried to allocate ", in_units(size),
            ". GPU ", index, " has a total capacity of ", in_units(now.device_total), " of which ",
            in_units(now.device_free), " is free. Of the allocated memory ", in_units(held),
            " is allocated by PyTorch, and ",
            in_units(now.reserved > held ? now.reserved - held : 0),
            " more is reserved by Tidemark (", library.policy(device.context.load()),
            "), by others or unallocated; at most ", in_units(now.peak_reserved), " was. ", why);
    }

    Devices devices_;
    OwnPools pools_{devices_};
    History history_;
    std::vector<caching::OutOfMemoryObserver> observers_;
    std::atomic<bool> uses_pools_on_oom_ = false;
    std::atomic<bool> enabled_ = true;  // false: no caching, PyTorch's own calls the driver
    bool initialized_ = false;
};

// Never destroyed: tensors may outlive everything else.
const std::shared_ptr<TidemarkAllocator>& the_allocator() {
    static const auto* const made =
        new std::shared_ptr<TidemarkAllocator>(new TidemarkAllocator, [](TidemarkAllocator*) {});
    return *made;
}

c10::DeleterFnPtr TidemarkAllocator::raw_deleter() const {
    return [](void* pointer) { the_allocator()->free(pointer); };
}

}  // namespace
}  // namespace tidemark::pytorch

using namespace tidemark::pytorch;

extern "C" {

// Loads the functions of the library at `path`; 0 unless it lacks one.
int tidemark_torch_load(const char* path, Open open) {
    open_context = open;
    return load(path) ? 0 : 1;
}

// Makes all of PyTorch's CUDA memory come from here; returns null, or the reason why it can't.
const char* tidemark_torch_use() {
    static std::string why;
    try {
        caching::CUDAAllocator* const own = caching::get();
        torch::cuda::CUDAPluggableAllocator::changeCurrentAllocator(the_allocator());
        the_allocator()->replace(own);
        return nullptr;
    } catch (const c10::Error& error) {
        why = error.what_without_backtrace();
        return why.c_str();
    }
}

// For a MemPool: segments for PyTorch's own allocator. Null if out of memory.
void* tidemark_torch_alloc(std::size_t size, int device, cudaStream_t stream) {
    const auto block = the_allocator()->devices().take(size, device, stream);
    return block ? pointer_of(block->address) : nullptr;
}

void tidemark_torch_free(void* pointer, std::size_t, int, cudaStream_t) {
    if (const auto found = the_allocator()->devices().find(pointer))
        the_allocator()->devices().give(*found);
}

// PyTorch's figures: requested bytes, number of blocks, peak of the bytes, quota.
void tidemark_torch_holding(int index, std::uint64_t* figures) {
    Device& device = the_allocator()->devices().at(index);
    const std::lock_guard lock(device.mutex);
    figures[0] = static_cast<std::uint64_t>(device.stats.requested_bytes[0].current);
    figures[1] = static_cast<std::uint64_t>(device.stats.allocation[0].current);
    figures[2] = static_cast<std::uint64_t>(device.stats.requested_bytes[0].peak);
    figures[3] = device.quota;
}

// Starts or stops evicting a store's buffers when the device has no memory left.
void tidemark_torch_reclaim(void* store, int device, FreeBytes free_bytes) {
    if (free_bytes != nullptr)
        reclaim().add(store, device, free_bytes);
    else
        reclaim().remove(store);
}

// Functions for a MemPool of captured graphs (see graph_pools.h): returns their number, or -1.
int tidemark_torch_graph_open(Context context, std::uint32_t pool, void** functions) {
    const int at = graph_pools().open(context, pool);
    if (at >= 0) {
        const auto [take, give] = functions_of(static_cast<std::size_t>(at),
                                               std::make_index_sequence<GraphPools::kMost>{});
        functions[0] = reinterpret_cast<void*>(take);
        functions[1] = reinterpret_cast<void*>(give);
    }
    return at;
}

void tidemark_torch_graph_close(int at) {
    graph_pools().close(at);
}

int tidemark_torch_graph_is_vacant(int at) {
    return graph_pools().is_vacant(at) ? 1 : 0;
}

std::size_t tidemark_torch_graph_pieces(int at, GraphPiece* pieces, std::size_t capacity) {
    return graph_pools().pieces(at, pieces, capacity);
}

void tidemark_torch_set_quota(int index, std::uint64_t bytes) {
    Device& device = the_allocator()->devices().at(index);
    const std::lock_guard lock(device.mutex);
    device.quota = bytes;
}

}  // extern "C"
