// MemoryPools: the program's pools of stream-ordered memory: a number for each, and its device. Of
// a device's own pool the number is 0.
//
// Thread-safe, under one lock. O(pools).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "backends/cuda/driver_api.h"
#include "traces/live/wire.h"

namespace tidemark::inject {

struct NumberedPool {
    std::uint32_t number = 0;
    std::uint8_t device = 0;
};

class MemoryPools {
  public:
    // `own`: it is the device's.
    void add(cuda::CUmemoryPool pool, std::uint8_t device, bool own) {
        const std::lock_guard lock(mutex_);
        drop(pool);
        pools_.push_back({pool, {own ? 0 : ++last_number_, device}});
    }

    void remove(cuda::CUmemoryPool pool) {
        const std::lock_guard lock(mutex_);
        drop(pool);
    }

    // An unknown pool counts as one of `device`.
    NumberedPool find(cuda::CUmemoryPool pool, std::uint8_t device) {
        const std::lock_guard lock(mutex_);
        for (const Entry& entry : pools_) {
            if (entry.pool == pool)
                return entry.numbered;
        }
        pools_.push_back({pool, {++last_number_, device}});
        return pools_.back().numbered;
    }

    // The pool that serves requests on `device` that name none.
    void set_current(std::uint8_t device, std::uint32_t number) { current_[device] = number; }

    std::uint32_t current(std::uint8_t device) const { return current_[device]; }

  private:
    struct Entry {
        cuda::CUmemoryPool pool = nullptr;
        NumberedPool numbered;
    };

    void drop(cuda::CUmemoryPool pool) {
        std::erase_if(pools_, [pool](const Entry& entry) { return entry.pool == pool; });
    }

    std::mutex mutex_;
    std::vector<Entry> pools_;
    std::uint32_t last_number_ = 0;
    std::array<std::atomic<std::uint32_t>, live::kMostDevices> current_{};
};

}  // namespace tidemark::inject
