// What PyTorch holds of each device: its contexts, its private pools, and counts. A device has two
// contexts, opened by Python when they are first needed: one for the program's memory, and one for
// private pools (graphs and MemPools), whose policy keeps their blocks apart. What lives is known
// to the contexts; here it is counted, since others may share them.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <vector>

#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAStream.h>

#include "c_library.h"
#include "reclaim.h"

namespace tidemark::pytorch {

using c10::CachingAllocator::Stat;
using c10::CachingDeviceAllocator::DeviceStats;
using c10::cuda::MempoolId_t;

// Opens the context of a device, for private pools or not; 0, and why not.
using Open = std::uint64_t (*)(int device, int for_pools, std::uint32_t* tag, char* why,
                               std::size_t room);
inline Open open_context = nullptr;

inline std::uint64_t number_of(const void* pointer) {
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
    std::atomic<bool> has_strangers = false;
    std::uint32_t tag = 0;
    std::mutex mutex;  // guards all below; no call to PyTorch or the library with it
    DeviceStats stats;
    std::uint64_t quota = 0;
    std::uint64_t retries_before = 0;  // the statistics were reset
    double fraction = 1;
    std::set<std::uint64_t> strangers;  // streams that aren't PyTorch's: others may destroy them
    std::map<MempoolId_t, Pool> pools;
    std::vector<Scope> scopes;
    std::uint32_t last_pool = 0;
};

constexpr std::size_t kMostDevices = 64;

// What is open, and null for what isn't. A policy with private pools has one context for both.
inline std::array<Context, 2> contexts_of(const Device& device) {
    const Context program = device.program.load(std::memory_order_acquire);
    const Context pooled = device.pooled.load(std::memory_order_acquire);
    return {program, pooled == program ? nullptr : pooled};
}

// Allowed while another thread captures a graph in the global mode: what these calls do is no part
// of it.
class Relaxed {
  public:
    explicit Relaxed(const Device& device)
        : Relaxed(device.open_scopes.load(std::memory_order_relaxed) != 0) {}

    explicit Relaxed(bool needed) : needed_(needed) { exchange(); }

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

inline void count(Device& device, const Block& block, bool granted) {
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
inline bool over_quota(const Device& device, std::uint64_t size) {
    const auto held = static_cast<std::uint64_t>(device.stats.requested_bytes[0].current);
    return device.quota != 0 && held + size > device.quota;
}

class Devices {
  public:
    Device& at(int index) {
        TORCH_CHECK(index >= 0 && index < static_cast<int>(kMostDevices), "tidemark: no device ",
                    index);
        return devices_[static_cast<std::size_t>(index)];
    }

    auto begin() { return devices_.begin(); }

    auto end() { return devices_.end(); }

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
        note_stranger(device, index, stream);
        const Request request{sizeof(Request), size, 0, number_of(stream), pool, 0, device.tag, 0};
        Block block{sizeof(Block), 0, size};
        int status = library.alloc(context, &request, &block.address, &block.granted);
        const Context other = pool != 0 ? device.program.load() : device.pooled.load();
        if (status == kOutOfMemory && other != nullptr && other != context) {
            library.trim(other, 1);
            status = library.alloc(context, &request, &block.address, &block.granted);
        }
        // Not for a pool: a graph may be captured, in which nothing else may be moved.
        if (status == kOutOfMemory && pool == 0 && reclaim().reclaim(index, size))
            status = library.alloc(context, &request, &block.address, &block.granted);
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

    // The number of a private pool, which one more holds from now on.
    std::uint32_t hold(int index, MempoolId_t id) {
        Device& device = at(index);
        const std::lock_guard lock(device.mutex);
        Pool& pool = device.pools[id];
        if (pool.uses++ == 0)
            pool.number = ++device.last_pool;
        return pool.number;
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

  private:
    static int current_or(int otherwise) noexcept {
        c10::DeviceIndex index = 0;
        return c10::cuda::GetDevice(&index) == cudaSuccess ? index : otherwise;
    }

    // A stream that PyTorch was told of (torch.cuda.ExternalStream) has its handle as its number.
    static void note_stranger(Device& device, int index, cudaStream_t stream) {
        if (stream == nullptr || c10::cuda::device_count() == 0)  // a simulated device has none
            return;
        const auto current = c10::cuda::getCurrentCUDAStream(static_cast<c10::DeviceIndex>(index));
        if (current.stream() != stream ||
            static_cast<std::uint64_t>(current.id()) != number_of(stream))
            return;
        const std::lock_guard lock(device.mutex);
        device.strangers.insert(number_of(stream));
        device.has_strangers = true;
    }

    static std::uint64_t stream_to_free(Device& device, std::uint64_t stream) {
        if (!device.has_strangers.load(std::memory_order_acquire))
            return stream;
        const std::lock_guard lock(device.mutex);
        return device.strangers.count(stream) != 0 ? kStreamOfRequest : stream;
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

    bool give_to(int index, void* pointer) noexcept {
        Device& device = devices_[static_cast<std::size_t>(index)];
        for (const Context context : contexts_of(device)) {
            Block block{sizeof(Block)};
            if (context == nullptr || library.base_of(context, number_of(pointer), &block) != 0)
                continue;
            const Relaxed relaxed(device);
            if (library.free(context, block.address, 0, stream_to_free(device, block.stream)) == 0)
                count(device, block, false);
            return true;
        }
        return false;
    }

    std::array<Device, kMostDevices> devices_;
    std::atomic<int> opened_ = 0;
    std::atomic<int> last_opened_ = 0;
};

}  // namespace tidemark::pytorch
