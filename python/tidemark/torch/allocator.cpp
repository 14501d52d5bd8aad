// PyTorch's CUDA memory from libtidemark.so. Compiled by _compiled.py against the PyTorch that is
// installed, because the class that PyTorch wants changes from release to release.
//
// Each device has two contexts, opened by Python when they are first needed: one for the program's
// memory, and one for private pools (graphs and MemPools), whose policy keeps their blocks apart.
// What lives is known to the contexts; here it is counted, since others may share them.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>
#include <dlfcn.h>
#include <torch/csrc/cuda/CUDAPluggableAllocator.h>

namespace {

using c10::CachingAllocator::Stat;
using c10::CachingDeviceAllocator::DeviceStats;
using c10::cuda::MempoolId_t;
namespace caching = c10::cuda::CUDACachingAllocator;

// As in tidemark.h.
constexpr int kOutOfMemory = 1;

struct Request {
    std::size_t struct_size;
    std::uint64_t bytes;
    std::uint64_t alignment;
    std::uint64_t stream;
    std::uint32_t pool;
    std::uint32_t flags;
    std::uint32_t tag;
    std::uint32_t reserved;
};

struct Block {
    std::size_t struct_size;
    std::uint64_t address;
    std::uint64_t requested;
    std::uint64_t granted;
    std::uint64_t stream;
    std::uint32_t pool;
    std::uint32_t tag;
    std::uint64_t number;
};

struct Statistics {
    std::size_t struct_size;
    std::uint64_t reserved, allocated, active, requested, cached, live;
    std::uint64_t peak_reserved, peak_allocated_least, peak_allocated_most;
    std::uint64_t peak_requested_least, peak_requested_most;
    std::uint64_t granted, hits, refused, freed, retries;
    std::uint64_t segments_created, segments_released, device_free, device_total;
};

struct Error {
    std::size_t struct_size;
    int status;
    const char *what, *where, *hint;
};

static_assert(sizeof(Request) == 48 && sizeof(Block) == 56 && sizeof(Statistics) == 168);

using Context = void*;

// The functions of libtidemark.so that are used here.
struct Library {
    int (*alloc)(Context, const Request*, std::uint64_t* address, std::uint64_t* granted);
    int (*free)(Context, std::uint64_t address, std::uint64_t bytes, std::uint64_t stream);
    int (*base_of)(Context, std::uint64_t address, Block*);
    int (*record_use)(Context, std::uint64_t address, std::uint64_t stream);
    int (*trim)(Context, int wait);
    int (*statistics_of)(Context, Statistics*);
    int (*reset_peaks)(Context);
    int (*pool_begin)(Context, std::uint32_t pool);
    int (*pool_end)(Context, std::uint32_t pool);
    int (*pool_close)(Context, std::uint32_t pool);
    int (*last_error)(Error*);
    const char* (*policy)(Context);
};

Library library;

std::string last_error() {
    Error error{sizeof(Error), 0, "", "", ""};
    library.last_error(&error);
    return error.what;
}

void check(int status) {
    TORCH_CHECK(status == 0, "tidemark: ", last_error());
}

// Opens the context of a device, for private pools or not; 0, and why not.
using Open = std::uint64_t (*)(int device, int for_pools, std::uint32_t* tag, char* why,
                               std::size_t room);
Open open_context = nullptr;

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

std::uint64_t number_of(const void* pointer) {
    return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(pointer));
}

// A private pool: how many hold it, and its number in the contexts.
struct Pool {
    int uses = 0;
    std::uint32_t number = 0;
};

struct Scope {
    MempoolId_t id;
    std::uint32_t number = 0;
    std::function<bool(cudaStream_t)> serves;
};

struct Device {
    std::atomic<Context> program = nullptr;
    std::atomic<Context> pooled = nullptr;
    std::atomic<int> open_scopes = 0;  // scopes.size()
    std::uint32_t tag = 0;
    std::mutex mutex;  // guards all below; no call to PyTorch or the library with it
    DeviceStats stats;
    std::uint64_t quota = 0;
    std::uint64_t retries_before = 0;  // the statistics were reset
    double fraction = 1;
    std::map<MempoolId_t, Pool> pools;
    std::vector<Scope> scopes;
    std::uint32_t last_pool = 0;
};

constexpr std::size_t kMostDevices = 64;

// What is open, and null for what isn't. A policy with private pools has one context for both.
std::array<Context, 2> contexts_of(const Device& device) {
    const Context program = device.program.load(std::memory_order_acquire);
    const Context pooled = device.pooled.load(std::memory_order_acquire);
    return {program, pooled == program ? nullptr : pooled};
}

// Allowed while another thread captures a graph in the global mode: what these calls do is no part
// of it.
class Relaxed {
  public:
    explicit Relaxed(const Device& device)
        : needed_(device.open_scopes.load(std::memory_order_relaxed) != 0) {
        exchange();
    }

    Relaxed(const Relaxed&) = delete;
    Relaxed& operator=(const Relaxed&) = delete;

    ~Relaxed() { exchange(); }

  private:
    // Where it fails there is no device to capture on.
    void exchange() noexcept {
        if (needed_)
            static_cast<void>(cudaThreadExchangeStreamCaptureMode(&mode_));
    }

    bool needed_;
    cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

void count(Device& device, const Block& block, bool granted) {
    const std::lock_guard lock(device.mutex);
    const auto change = [granted](Stat& stat, std::uint64_t amount) {
        granted ? stat.increase(amount) : stat.decrease(amount);
    };
    for (auto* counted : {&device.stats.allocation, &device.stats.active})
        change((*counted)[0], 1);
    for (auto* bytes : {&device.stats.allocated_bytes, &device.stats.active_bytes})
        change((*bytes)[0], block.granted);
    change(device.stats.requested_bytes[0], block.requested);
}

// With the device's mutex.
bool over_quota(const Device& device, std::uint64_t size) {
    const auto held = static_cast<std::uint64_t>(device.stats.requested_bytes[0].current);
    return device.quota != 0 && held + size > device.quota;
}

class TidemarkAllocator final : public caching::CUDAAllocator {
  public:
    // Grants `size` bytes, or null where there is no room. Throws where the device fails.
    void* take(std::size_t size, int index, cudaStream_t stream) {
        Device& device = at(index);
        const Relaxed relaxed(device);
        const std::uint32_t pool = pool_for(device, stream);
        const Context context = context_of(index, pool != 0);
        {
            const std::lock_guard lock(device.mutex);
            if (over_quota(device, size))
                return nullptr;
        }
        const Request request{sizeof(Request), size, 0, number_of(stream), pool, 0, device.tag, 0};
        Block block{sizeof(Block), 0, size};
        int status = library.alloc(context, &request, &block.address, &block.granted);
        const Context other = pool != 0 ? device.program.load() : device.pooled.load();
        if (status == kOutOfMemory && other != nullptr && other != context) {
            library.trim(other, 1);
            status = library.alloc(context, &request, &block.address, &block.granted);
        }
        if (status == kOutOfMemory)
            return nullptr;
        check(status);
        count(device, block, true);
        return reinterpret_cast<void*>(static_cast<std::uintptr_t>(block.address));
    }

    // What isn't known is left alone: it may be freed by objects that die with the process.
    void give(void* pointer) noexcept {
        const int first =
            opened_.load(std::memory_order_relaxed) > 1 ? current_or(0) : last_opened_.load();
        if (pointer == nullptr || give_to(first, pointer))
            return;
        for (int index = 0; index < static_cast<int>(kMostDevices); ++index) {
            if (index != first && give_to(index, pointer))
                return;
        }
    }

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

    void raw_delete(void* pointer) override { give(pointer); }

    void copy_data(void* to, const void* from, std::size_t size) const override {
        C10_CUDA_CHECK(cudaMemcpy(to, from, size, cudaMemcpyDeviceToDevice));
    }

    void init(int) override { initialized_ = true; }

    bool initialized() override { return initialized_; }

    void enable(bool) override {}

    bool isEnabled() const override { return true; }

    std::string name() override { return "tidemark"; }

    double getMemoryFraction(c10::DeviceIndex index) override {
        const std::lock_guard lock(at(index).mutex);
        return at(index).fraction;
    }

    void setMemoryFraction(double fraction, c10::DeviceIndex index) override {
        const std::uint64_t total = statistics(context_of(index, false)).device_total;
        const std::lock_guard lock(at(index).mutex);
        at(index).fraction = fraction;
        at(index).quota = static_cast<std::uint64_t>(fraction * static_cast<double>(total));
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
        const Statistics now = statistics(context_of(index, false));
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
        Device& device = at(data.device().index());
        const Relaxed relaxed(device);
        const std::uint64_t address = number_of(data.get());
        const std::uint64_t handle = number_of(stream.stream());
        const Context pooled = device.pooled.load();
        if (pooled == nullptr || library.record_use(pooled, address, handle) != 0)
            check(library.record_use(device.program.load(), address, handle));
    }

    DeviceStats getDeviceStats(c10::DeviceIndex index) override {
        Device& device = at(index);
        const Statistics now = sum_of(device);
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
        Device& device = at(index);
        const Statistics now = sum_of(device);
        const std::lock_guard lock(device.mutex);
        for (auto* stats : counted(device.stats))
            (*stats)[0].reset_accumulated();
        device.stats.num_ooms = 0;
        device.retries_before = now.retries;
    }

    void resetPeakStats(c10::DeviceIndex index) override {
        Device& device = at(index);
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
        const Context context = context_of(index, true);
        const std::uint32_t number = hold(index, id);
        check(library.pool_begin(context, number));
        Device& device = at(index);
        const std::lock_guard lock(device.mutex);
        device.scopes.push_back({id, number, std::move(serves)});
        device.open_scopes = static_cast<int>(device.scopes.size());
    }

    void endAllocateToPool(c10::DeviceIndex index, MempoolId_t id) override {
        Device& device = at(index);
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
        check(library.pool_end(context_of(index, true), number));
    }

    void releasePool(c10::DeviceIndex index, MempoolId_t id) override {
        Device& device = at(index);
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
        check(library.pool_close(context_of(index, true), number));
    }

    int getPoolUseCount(c10::DeviceIndex index, MempoolId_t id) override {
        Device& device = at(index);
        const std::lock_guard lock(device.mutex);
        const auto pool = device.pools.find(id);
        return pool == device.pools.end() ? 0 : pool->second.uses;
    }

    void createOrIncrefPool(c10::DeviceIndex index, MempoolId_t id,
                            std::shared_ptr<caching::CUDAAllocator> allocator) override {
        TORCH_CHECK(!allocator,
                    "tidemark.torch.use() serves all pools: a MemPool with an allocator "
                    "of its own needs PyTorch's");
        hold(index, id);
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

    Device& at(int index) {
        TORCH_CHECK(index >= 0 && index < static_cast<int>(kMostDevices), "tidemark: no device ",
                    index);
        return devices_[static_cast<std::size_t>(index)];
    }

  private:
    static constexpr const char* kMissing = " is not there under tidemark.torch.use()";

    static int current_or(int otherwise) noexcept {
        c10::DeviceIndex index = 0;
        return c10::cuda::GetDevice(&index) == cudaSuccess ? index : otherwise;
    }

    static std::array<c10::CachingAllocator::StatArray*, 5> counted(DeviceStats& stats) {
        return {&stats.allocation, &stats.active, &stats.allocated_bytes, &stats.active_bytes,
                &stats.requested_bytes};
    }

    static Statistics statistics(Context context) {
        Statistics now{sizeof(Statistics)};
        check(library.statistics_of(context, &now));
        return now;
    }

    // Of a device's contexts, as far as they are open. Peaks add up to a bound.
    static Statistics sum_of(const Device& device) {
        Statistics all{sizeof(Statistics)};
        for (const Context context : contexts_of(device)) {
            if (context == nullptr)
                continue;
            const Statistics now = statistics(context);
            all.reserved += now.reserved;
            all.peak_reserved += now.peak_reserved;
            all.segments_created += now.segments_created;
            all.segments_released += now.segments_released;
            all.retries += now.retries;
            all.device_free = now.device_free;
            all.device_total = now.device_total;
        }
        return all;
    }

    // Opened without a lock: Python's is waited for, and its owner may wait for this.
    Context context_of(int index, bool for_pools) {
        Device& device = at(index);
        std::atomic<Context>& context = for_pools ? device.pooled : device.program;
        if (Context found = context.load(std::memory_order_acquire))
            return found;
        std::array<char, 512> why{};
        std::uint32_t tag = 0;
        const std::uint64_t handle =
            open_context(index, for_pools ? 1 : 0, &tag, why.data(), why.size());
        TORCH_CHECK(handle != 0, "tidemark: ", why.data());
        device.tag = tag;
        const auto opened = reinterpret_cast<Context>(static_cast<std::uintptr_t>(handle));
        if (context.exchange(opened, std::memory_order_acq_rel) == nullptr && !for_pools) {
            last_opened_ = index;
            ++opened_;
        }
        return opened;
    }

    // The private pool that serves `stream` now; 0: none.
    static std::uint32_t pool_for(Device& device, cudaStream_t stream) {
        if (device.open_scopes.load(std::memory_order_acquire) == 0)
            return 0;
        std::vector<Scope> scopes;
        {
            const std::lock_guard lock(device.mutex);
            scopes = device.scopes;
        }
        for (const Scope& scope : scopes) {
            if (scope.serves(stream))
                return scope.number;
        }
        return 0;
    }

    std::uint32_t hold(int index, MempoolId_t id) {
        Device& device = at(index);
        const std::lock_guard lock(device.mutex);
        Pool& pool = device.pools[id];
        if (pool.uses++ == 0)
            pool.number = ++device.last_pool;
        return pool.number;
    }

    bool give_to(int index, void* pointer) noexcept {
        Device& device = devices_[static_cast<std::size_t>(index)];
        for (const Context context : contexts_of(device)) {
            Block block{sizeof(Block)};
            if (context == nullptr || library.base_of(context, number_of(pointer), &block) != 0)
                continue;
            const Relaxed relaxed(device);
            if (library.free(context, block.address, 0, block.stream) == 0)
                count(device, block, false);
            return true;
        }
        return false;
    }

    void* malloc(std::size_t size, int index, cudaStream_t stream) {
        if (size == 0)
            return nullptr;
        void* const pointer = take(size, index, stream);
        if (pointer == nullptr)
            refuse(size, index);
        return pointer;
    }

    [[noreturn]] void refuse(std::size_t size, int index) {
        Device& device = at(index);
        std::string why = last_error();
        const Statistics now = sum_of(device);
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

    std::array<Device, kMostDevices> devices_;
    std::vector<caching::OutOfMemoryObserver> observers_;
    std::atomic<int> opened_ = 0;
    std::atomic<int> last_opened_ = 0;
    bool initialized_ = false;
};

// Never destroyed: tensors may outlive all else.
const std::shared_ptr<TidemarkAllocator>& the_allocator() {
    static const auto* const made =
        new std::shared_ptr<TidemarkAllocator>(new TidemarkAllocator, [](TidemarkAllocator*) {});
    return *made;
}

c10::DeleterFnPtr TidemarkAllocator::raw_deleter() const {
    return [](void* pointer) { the_allocator()->give(pointer); };
}

template <class Function>
bool find(void* from, const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(from, name));
    return function != nullptr;
}

}  // namespace

extern "C" {

// The functions are those of the library at `path`; 0 unless it lacks one.
int tidemark_torch_load(const char* path, Open open) {
    void* const from = dlopen(path, RTLD_NOW);
    if (from == nullptr)
        return 1;
    open_context = open;
    const bool whole =
        find(from, "tm_alloc", library.alloc) && find(from, "tm_free", library.free) &&
        find(from, "tm_base_of", library.base_of) &&
        find(from, "tm_record_use", library.record_use) && find(from, "tm_trim", library.trim) &&
        find(from, "tm_statistics_of", library.statistics_of) &&
        find(from, "tm_reset_peaks", library.reset_peaks) &&
        find(from, "tm_pool_begin", library.pool_begin) &&
        find(from, "tm_pool_end", library.pool_end) &&
        find(from, "tm_pool_close", library.pool_close) &&
        find(from, "tm_last_error", library.last_error) &&
        find(from, "tm_context_policy", library.policy);
    return whole ? 0 : 1;
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
    return the_allocator()->take(size, device, stream);
}

void tidemark_torch_free(void* pointer, std::size_t, int, cudaStream_t) {
    the_allocator()->give(pointer);
}

// What PyTorch holds: bytes as requested, their number, their peak, the quota.
void tidemark_torch_holding(int index, std::uint64_t* figures) {
    Device& device = the_allocator()->at(index);
    const std::lock_guard lock(device.mutex);
    figures[0] = static_cast<std::uint64_t>(device.stats.requested_bytes[0].current);
    figures[1] = static_cast<std::uint64_t>(device.stats.allocation[0].current);
    figures[2] = static_cast<std::uint64_t>(device.stats.requested_bytes[0].peak);
    figures[3] = device.quota;
}

void tidemark_torch_set_quota(int index, std::uint64_t bytes) {
    Device& device = the_allocator()->at(index);
    const std::lock_guard lock(device.mutex);
    device.quota = bytes;
}

}  // extern "C"
