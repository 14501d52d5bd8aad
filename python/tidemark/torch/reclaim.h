// Frees GPU memory when there is none left, by evicting buffers of deferrable memory. The thread
// whose allocation would fail calls it, without a lock of the allocator.
#pragma once

#include <cstdint>
#include <mutex>
#include <shared_mutex>
#include <vector>

namespace tidemark::pytorch {

// tm_store_free_bytes of tidemark_store.h, whose tier 0 is the GPU.
using FreeBytes = int (*)(void* store, int tier, std::uint64_t bytes, std::uint64_t* freed);

class Reclaim {
  public:
    // `store` may end when `remove` has returned.
    void add(void* store, int device, FreeBytes free_bytes) {
        const std::lock_guard lock(mutex_);
        stores_.push_back({store, device, free_bytes});
    }

    void remove(void* store) {
        const std::lock_guard lock(mutex_);
        for (auto one = stores_.begin(); one != stores_.end();)
            one = one->store == store ? stores_.erase(one) : one + 1;
    }

    // Evicts up to `bytes` from the device; returns whether it evicted anything.
    bool reclaim(int device, std::uint64_t bytes) {
        const std::shared_lock lock(mutex_);
        std::uint64_t all = 0;
        for (const Store& one : stores_) {
            std::uint64_t freed = 0;
            if (one.device == device && all < bytes &&
                one.free_bytes(one.store, 0, bytes - all, &freed) == 0)
                all += freed;
        }
        return all != 0;
    }

  private:
    struct Store {
        void* store;
        int device;
        FreeBytes free_bytes;
    };

    std::shared_mutex mutex_;
    std::vector<Store> stores_;
};

// Never destroyed: tensors may be allocated until the end.
inline Reclaim& reclaim() {
    static auto* const made = new Reclaim;
    return *made;
}

}  // namespace tidemark::pytorch
