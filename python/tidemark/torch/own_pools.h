// Memory of private pools (captured graphs, MemPools). PyTorch's own allocator serves them, because
// it knows what graph trees and MemPools need. This file counts which of its memory the users of
// Tidemark hold, and how much of a device it takes.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <mutex>
#include <shared_mutex>
#include <unordered_set>
#include <utility>
#include <vector>

#include <c10/cuda/CUDACachingAllocator.h>

#include "devices.h"

namespace tidemark::pytorch {

namespace caching = c10::cuda::CUDACachingAllocator;
using c10::cuda::MempoolId_t;

// Thread-safe, as PyTorch's own allocator is.
class OwnPools {
  public:
    explicit OwnPools(Devices& devices) : devices_(devices) {}

    // PyTorch's own allocator, before ours replaces it.
    void set_own(caching::CUDAAllocator* own) { own_ = own; }

    // PyTorch calls it when it first uses CUDA.
    void init(int devices) {
        own_->init(devices);
        own_devices_ = devices;
    }

    // Whether this is a real device; a simulated one has no memory of PyTorch's own.
    bool has_device(int index) const { return index < own_devices_.load(); }

    caching::CUDAAllocator& own() const { return *own_; }

    // Whether a pool has an open scope that serves the stream.
    bool serves(int index, cudaStream_t stream) {
        if (devices_.at(index).open_scopes.load(std::memory_order_acquire) == 0)
            return false;
        std::vector<Scope> scopes;
        {
            const std::lock_guard lock(mutex_);
            scopes = scopes_;
        }
        for (const Scope& scope : scopes) {
            if (scope.index == index && scope.serves(stream))
                return true;
        }
        return false;
    }

    void begin(c10::DeviceIndex index, MempoolId_t id, std::function<bool(cudaStream_t)> serves) {
        own_->beginAllocateToPool(index, id, serves);
        const std::lock_guard lock(mutex_);
        scopes_.push_back({index, id, std::move(serves)});
        ++devices_.at(index).open_scopes;
    }

    void end(c10::DeviceIndex index, MempoolId_t id) {
        {
            const std::lock_guard lock(mutex_);
            for (auto scope = scopes_.begin(); scope != scopes_.end(); ++scope) {
                if (scope->index == index && scope->id == id) {
                    scopes_.erase(scope);
                    --devices_.at(index).open_scopes;
                    break;
                }
            }
        }
        own_->endAllocateToPool(index, id);
    }

    // Allocates on the current device. Throws c10::OutOfMemoryError.
    void* take(std::size_t size, int index, cudaStream_t stream) {
        void* const pointer = own_->raw_alloc_with_stream(size, stream);
        hold(pointer);
        recount(index);
        return pointer;
    }

    bool holds(void* pointer) {
        if (held_count_.load(std::memory_order_acquire) == 0)
            return false;
        const std::shared_lock lock(held_mutex_);
        return held_.count(pointer) != 0;
    }

    // Frees the block; false if it isn't from a pool.
    bool give(void* pointer) {
        if (held_count_.load(std::memory_order_acquire) == 0 || !forget(pointer))
            return false;
        own_->raw_delete(pointer);
        for (std::size_t index = 0; index < kMostDevices; ++index) {
            if (known_[index].load(std::memory_order_relaxed))
                recount(static_cast<int>(index));
        }
        return true;
    }

    void hold(void* pointer) {
        const std::lock_guard lock(held_mutex_);
        held_.insert(pointer);
        held_count_ = held_.size();
    }

    bool forget(void* pointer) {
        const std::lock_guard lock(held_mutex_);
        const bool held = held_.erase(pointer) != 0;
        held_count_ = held_.size();
        return held;
    }

    // Adds what PyTorch's own allocator has allocated and freed since the last time.
    void recount(int index) {
        const DeviceStats now = own_->getDeviceStats(static_cast<c10::DeviceIndex>(index));
        Device& device = devices_.at(index);
        const std::lock_guard lock(device.mutex);
        known_[static_cast<std::size_t>(index)] = true;
        DeviceStats& before = before_[static_cast<std::size_t>(index)];
        for (const auto member : kCounted) {
            for (std::size_t kind = 0; kind < now.allocation.size(); ++kind) {
                const Stat& last = (before.*member)[kind];
                const Stat& next = (now.*member)[kind];
                Stat& all = (device.stats.*member)[kind];
                const std::int64_t change = next.current - last.current;
                if (change > 0)
                    all.increase(static_cast<std::size_t>(change));
                else if (change < 0)
                    all.decrease(static_cast<std::size_t>(-change));
            }
        }
        before = now;
    }

    // The statistics that count allocations; they are summed over a whole device.
    static constexpr std::array<c10::CachingAllocator::StatArray DeviceStats::*, 5> kCounted{
        &DeviceStats::allocation, &DeviceStats::active, &DeviceStats::allocated_bytes,
        &DeviceStats::active_bytes, &DeviceStats::requested_bytes};

  private:
    struct Scope {
        int index;
        MempoolId_t id;
        std::function<bool(cudaStream_t)> serves;
    };

    Devices& devices_;
    caching::CUDAAllocator* own_ = nullptr;
    std::atomic<int> own_devices_ = 0;
    std::mutex mutex_;
    std::vector<Scope> scopes_;
    std::shared_mutex held_mutex_;
    std::unordered_set<void*> held_;
    std::atomic<std::size_t> held_count_ = 0;
    std::array<std::atomic<bool>, kMostDevices> known_{};  // whether it has served the device
    std::array<DeviceStats, kMostDevices> before_{};       // each guarded by its device's mutex
};

}  // namespace tidemark::pytorch
