// PyTorch's CUDA memory from libtidemark.so: the class that PyTorch wants. Compiled by _compiled.py
// against the PyTorch that is installed, because that class changes from release to release.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/csrc/cuda/CUDAPluggableAllocator.h>

#include "c_library.h"
#include "devices.h"
#include "graph_pools.h"

namespace tidemark::pytorch {
namespace {

namespace caching = c10::cuda::CUDACachingAllocator;

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

class TidemarkAllocator final : public caching::CUDAAllocator {
  public:
    Devices& devices() { return devices_; }

    c10::DataPtr allocate(std::size_t size) override {
        c10::DeviceIndex index = 0;
        C10_CUDA_CHECK(c10::cuda::GetDevice(&index));
        void* const pointer = malloc(size, index, c10::cuda::getCurrentCUDAStream(index));
        return {pointer, pointer, raw_deleter(), c10::Device(c10::DeviceType::CUDA, index)};
    }

    c10::DeleterFnPtr raw_deleter() const override;

    void* raw_alloc(std::size_t size) override {
        return raw_alloc_with_stream(size, c10::cuda::getCurrentCUDAStream());
    }

    void* raw_alloc_with_stream(std::size_t size, cudaStream_t stream) override {
        c10::DeviceIndex index = 0;
        C10_CUDA_CHECK(c10::cuda::GetDevice(&index));
        return malloc(size, index, stream);
    }

    void raw_delete(void* pointer) override { devices_.give(pointer); }

    void copy_data(void* to, const void* from, std::size_t size) const override {
        C10_CUDA_CHECK(cudaMemcpy(to, from, size, cudaMemcpyDeviceToDevice));
    }

    void init(int) override { initialized_ = true; }

    bool initialized() override { return initialized_; }

    void enable(bool) override {}

    bool isEnabled() const override { return true; }

    std::string name() override { return "tidemark"; }

    double getMemoryFraction(c10::DeviceIndex index) override {
        const std::lock_guard lock(devices_.at(index).mutex);
        return devices_.at(index).fraction;
    }

    void setMemoryFraction(double fraction, c10::DeviceIndex index) override {
        const std::uint64_t total =
            Devices::statistics(devices_.context_of(index, false)).device_total;
        const std::lock_guard lock(devices_.at(index).mutex);
        devices_.at(index).fraction = fraction;
        devices_.at(index).quota =
            static_cast<std::uint64_t>(fraction * static_cast<double>(total));
    }

    std::vector<caching::StreamSegmentSize> getExpandableSegmentSizes(c10::DeviceIndex) override {
        return {};
    }

    void emptyCache(MempoolId_t) override {
        for (Device& device : devices_) {
            const Relaxed relaxed(device);
            for (const Context context : contexts_of(device)) {
                if (context != nullptr)
                    check(library.trim(context, device.open_scopes.load() == 0));
            }
        }
    }

    void cacheInfo(c10::DeviceIndex index, std::size_t* largest) override {
        const Statistics now = Devices::statistics(devices_.context_of(index, false));
        *largest = std::max<std::size_t>(*largest, now.device_free);
    }

    void* getBaseAllocation(void* pointer, std::size_t* size) override {
        Block block{sizeof(Block)};
        for (Device& device : devices_) {
            for (const Context context : contexts_of(device)) {
                if (context != nullptr &&
                    library.base_of(context, number_of(pointer), &block) == 0) {
                    if (size != nullptr)
                        *size = block.granted;
                    return reinterpret_cast<void*>(static_cast<std::uintptr_t>(block.address));
                }
            }
        }
        TORCH_CHECK(false, "tidemark: no allocation is at ", pointer);
    }

    using caching::CUDAAllocator::recordStream;

    void recordStream(const c10::DataPtr& data, c10::cuda::CUDAStream stream) override {
        if (data.get() == nullptr || data.get_deleter() != raw_deleter())
            return;  // another's memory, as a tensor
        Device& device = devices_.at(data.device().index());
        const Relaxed relaxed(device);
        const std::uint64_t address = number_of(data.get());
        const std::uint64_t handle = number_of(stream.stream());
        const Context pooled = device.pooled.load();
        if (pooled == nullptr || library.record_use(pooled, address, handle) != 0)
            check(library.record_use(device.program.load(), address, handle));
    }

    DeviceStats getDeviceStats(c10::DeviceIndex index) override {
        Device& device = devices_.at(index);
        const Statistics now = Devices::sum_of(device);
        const std::lock_guard lock(device.mutex);
        DeviceStats stats = device.stats;
        const auto signed_of = [](std::uint64_t value) { return static_cast<std::int64_t>(value); };
        stats.reserved_bytes[0].current = signed_of(now.reserved);
        stats.reserved_bytes[0].peak = signed_of(now.peak_reserved);
        stats.segment[0].current = signed_of(now.segments_created - now.segments_released);
        stats.segment[0].allocated = stats.num_device_alloc = signed_of(now.segments_created);
        stats.segment[0].freed = stats.num_device_free = signed_of(now.segments_released);
        stats.num_alloc_retries = signed_of(now.retries - device.retries_before);
        return stats;
    }

    void resetAccumulatedStats(c10::DeviceIndex index) override {
        Device& device = devices_.at(index);
        const Statistics now = Devices::sum_of(device);
        const std::lock_guard lock(device.mutex);
        for (auto* stats : counted(device.stats))
            (*stats)[0].reset_accumulated();
        device.stats.num_ooms = 0;
        device.retries_before = now.retries;
    }

    void resetPeakStats(c10::DeviceIndex index) override {
        Device& device = devices_.at(index);
        for (const Context context : contexts_of(device)) {
            if (context != nullptr)
                check(library.reset_peaks(context));
        }
        const std::lock_guard lock(device.mutex);
        for (auto* stats : counted(device.stats))
            (*stats)[0].reset_peak();
    }

    void beginAllocateToPool(c10::DeviceIndex index, MempoolId_t id,
                             std::function<bool(cudaStream_t)> serves) override {
        const Context context = devices_.context_of(index, true);
        const std::uint32_t number = devices_.hold(index, id);
        check(library.pool_begin(context, number));
        Device& device = devices_.at(index);
        const std::lock_guard lock(device.mutex);
        device.scopes.push_back({id, number, std::move(serves)});
        device.open_scopes = static_cast<int>(device.scopes.size());
    }

    void endAllocateToPool(c10::DeviceIndex index, MempoolId_t id) override {
        Device& device = devices_.at(index);
        std::uint32_t number = 0;
        {
            const std::lock_guard lock(device.mutex);
            const auto scope = std::find_if(device.scopes.begin(), device.scopes.end(),
                                            [&](const Scope& each) { return each.id == id; });
            TORCH_CHECK(scope != device.scopes.end(), "tidemark: this pool has no scope open");
            number = scope->number;
            device.scopes.erase(scope);
            device.open_scopes = static_cast<int>(device.scopes.size());
        }
        check(library.pool_end(devices_.context_of(index, true), number));
    }

    void releasePool(c10::DeviceIndex index, MempoolId_t id) override {
        Device& device = devices_.at(index);
        std::uint32_t number = 0;
        {
            const std::lock_guard lock(device.mutex);
            const auto pool = device.pools.find(id);
            TORCH_CHECK(pool != device.pools.end(), "tidemark: this pool is not known");
            if (--pool->second.uses != 0)
                return;
            number = pool->second.number;
            device.pools.erase(pool);
        }
        check(library.pool_close(devices_.context_of(index, true), number));
    }

    int getPoolUseCount(c10::DeviceIndex index, MempoolId_t id) override {
        Device& device = devices_.at(index);
        const std::lock_guard lock(device.mutex);
        const auto pool = device.pools.find(id);
        return pool == device.pools.end() ? 0 : pool->second.uses;
    }

    void createOrIncrefPool(c10::DeviceIndex index, MempoolId_t id,
                            std::shared_ptr<caching::CUDAAllocator> allocator) override {
        TORCH_CHECK(!allocator,
                    "tidemark.torch.use() serves all pools: a MemPool with an allocator "
                    "of its own needs PyTorch's");
        devices_.hold(index, id);
    }

    void setUseOnOOM(c10::DeviceIndex, MempoolId_t, bool wanted) override {
        TORCH_CHECK(!wanted, "use_on_oom", kMissing);
    }

    void setNoSplit(c10::DeviceIndex, MempoolId_t) override {
        TORCH_CHECK(false, "no_split", kMissing);
    }

    void attachOutOfMemoryObserver(caching::OutOfMemoryObserver observer) override {
        observers_.push_back(std::move(observer));
    }

    bool isHistoryEnabled() override { return false; }

    void recordHistory(bool enabled, caching::CreateContextFn, std::size_t, caching::RecordContext,
                       bool, const std::vector<std::string>&) override {
        TORCH_CHECK(!enabled, "PyTorch's history of memory", kMissing,
                    ": tidemark.torch.use(record=NAME) records what this allocator does");
    }

    caching::SnapshotInfo snapshot(MempoolId_t, bool) override {
        TORCH_CHECK(false, "PyTorch's snapshot of memory", kMissing,
                    ": tidemark.torch.use(record=NAME) records what this allocator does");
    }

    void attachAllocatorTraceTracker(caching::AllocatorTraceTracker) override {
        TORCH_CHECK(false, "a tracker of PyTorch's allocator", kMissing);
    }

    std::shared_ptr<caching::AllocatorState> getCheckpointState(c10::DeviceIndex,
                                                                MempoolId_t) override {
        TORCH_CHECK(false, "torch.compile with trees of CUDA graphs", kMissing);
    }

    caching::CheckpointDelta setCheckpointPoolState(
        c10::DeviceIndex, std::shared_ptr<caching::AllocatorState>) override {
        TORCH_CHECK(false, "torch.compile with trees of CUDA graphs", kMissing);
    }

    std::shared_ptr<void> getIpcDevPtr(std::string) override {
        TORCH_CHECK(false, "opening another process's tensor", kMissing);
    }

    caching::ShareableHandle shareIpcHandle(void*) override {
        TORCH_CHECK(false, "a tensor for another process", kMissing);
    }

    void enablePeerAccess(c10::DeviceIndex index, c10::DeviceIndex peer) override {
        const c10::cuda::CUDAGuard guard(index);
        const cudaError_t status = cudaDeviceEnablePeerAccess(peer, 0);
        if (status == cudaErrorPeerAccessAlreadyEnabled)
            static_cast<void>(cudaGetLastError());
        else
            C10_CUDA_CHECK(status);
    }

    // Between devices as peers: memory that is mapped is not visible to the other one.
    cudaError_t memcpyAsync(void* to, int to_device, const void* from, int from_device,
                            std::size_t size, cudaStream_t stream, bool) override {
        return to_device == from_device
                   ? cudaMemcpyAsync(to, from, size, cudaMemcpyDeviceToDevice, stream)
                   : cudaMemcpyPeerAsync(to, to_device, from, from_device, size, stream);
    }

  private:
    static constexpr const char* kMissing = " is not there under tidemark.torch.use()";

    static std::array<c10::CachingAllocator::StatArray*, 5> counted(DeviceStats& stats) {
        return {&stats.allocation, &stats.active, &stats.allocated_bytes, &stats.active_bytes,
                &stats.requested_bytes};
    }

    void* malloc(std::size_t size, int index, cudaStream_t stream) {
        if (size == 0)
            return nullptr;
        void* const pointer = devices_.take(size, index, stream);
        if (pointer == nullptr)
            refuse(size, index);
        return pointer;
    }

    [[noreturn]] void refuse(std::size_t size, int index) {
        Device& device = devices_.at(index);
        std::string why = last_error();
        const Statistics now = Devices::sum_of(device);
        std::uint64_t held = 0;
        {
            const std::lock_guard lock(device.mutex);
            ++device.stats.num_ooms;
            held = static_cast<std::uint64_t>(device.stats.allocated_bytes[0].current);
            if (over_quota(device, size))
                why = "PyTorch may hold " + in_units(device.quota);
        }
        for (const auto& observer : observers_)
            observer(index, size, now.device_total, now.device_free);
        TORCH_CHECK_WITH(
            OutOfMemoryError, false, "CUDA out of memory. Tried to allocate ", in_units(size),
            ". GPU ", index, " has a total capacity of ", in_units(now.device_total), " of which ",
            in_units(now.device_free), " is free. Of the allocated memory ", in_units(held),
            " is allocated by PyTorch, and ",
            in_units(now.reserved > held ? now.reserved - held : 0),
            " more is reserved by Tidemark (", library.policy(device.program.load()),
            "), by others or unallocated; at most ", in_units(now.peak_reserved), " was. ", why);
    }

    Devices devices_;
    std::vector<caching::OutOfMemoryObserver> observers_;
    bool initialized_ = false;
};

// Never destroyed: tensors may outlive all else.
const std::shared_ptr<TidemarkAllocator>& the_allocator() {
    static const auto* const made =
        new std::shared_ptr<TidemarkAllocator>(new TidemarkAllocator, [](TidemarkAllocator*) {});
    return *made;
}

c10::DeleterFnPtr TidemarkAllocator::raw_deleter() const {
    return [](void* pointer) { the_allocator()->devices().give(pointer); };
}

}  // namespace
}  // namespace tidemark::pytorch

using namespace tidemark::pytorch;

extern "C" {

// The functions are those of the library at `path`; 0 unless it lacks one.
int tidemark_torch_load(const char* path, Open open) {
    open_context = open;
    return load(path) ? 0 : 1;
}

// Has all of PyTorch's CUDA memory come from here; why not, or null.
const char* tidemark_torch_use() {
    static std::string why;
    try {
        torch::cuda::CUDAPluggableAllocator::changeCurrentAllocator(the_allocator());
        return nullptr;
    } catch (const c10::Error& error) {
        why = error.what_without_backtrace();
        return why.c_str();
    }
}

// For a MemPool: pieces of memory for PyTorch's own allocator. Null: out of memory.
void* tidemark_torch_alloc(std::size_t size, int device, cudaStream_t stream) {
    return the_allocator()->devices().take(size, device, stream);
}

void tidemark_torch_free(void* pointer, std::size_t, int, cudaStream_t) {
    the_allocator()->devices().give(pointer);
}

// What PyTorch holds: bytes as requested, their number, their peak, the quota.
void tidemark_torch_holding(int index, std::uint64_t* figures) {
    Device& device = the_allocator()->devices().at(index);
    const std::lock_guard lock(device.mutex);
    figures[0] = static_cast<std::uint64_t>(device.stats.requested_bytes[0].current);
    figures[1] = static_cast<std::uint64_t>(device.stats.allocation[0].current);
    figures[2] = static_cast<std::uint64_t>(device.stats.requested_bytes[0].peak);
    figures[3] = device.quota;
}

// From here on, or no longer, a store's buffers leave the device where it has no memory left.
void tidemark_torch_reclaim(void* store, int device, FreeBytes free_bytes) {
    if (free_bytes != nullptr)
        reclaim().add(store, device, free_bytes);
    else
        reclaim().remove(store);
}

// Functions for a MemPool of captured graphs, see graph_pools.h: their number, or -1.
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
