// FencedFrees: memory that was freed on an unknown stream. It is freed in batches, each after a
// wait for the whole device: work that still uses it may be on any stream, even on one that the
// library has never seen. A batch is as large as the policy's option defer_frees says, or 512 frees
// and 256 MiB.
//
// Thread-safe. O(1), but for the call that ends a batch.
#pragma once

#include <atomic>
#include <mutex>
#include <unordered_set>

#include "core/allocator/deferring_allocator.h"
#include "core/concurrent/shared_allocator.h"

namespace tidemark::c_api {

class FencedFrees {
  public:
    FencedFrees(SharedAllocator& shared, DeferredFrees settings)
        : shared_(shared), settings_(settings.count != 0 ? settings : kUsual) {}

    // Whether `address` is pending here: the program has freed it. Takes no lock if nothing is
    // pending.
    bool holds(Address address) const;

    // Takes the allocation that begins at `address`. Errors: those of SharedAllocator::free.
    tl::expected<void, BadAddress> add(Address address, Bytes size);

    // Frees everything that is pending. Waits for the device if there is anything.
    void flush();

    std::size_t count() const { return count_.load(std::memory_order_relaxed); }

    // The allocator's status, with the memory here counted as freed and pending on the device.
    SharedStatus status() const;

  private:
    static constexpr DeferredFrees kUsual{.count = 511, .bytes = 256_MiB - 1};

    SharedAllocator& shared_;
    const DeferredFrees settings_;
    mutable std::mutex mutex_;  // guards all below; before those of the allocator
    std::unordered_set<Address> addresses_;
    std::atomic<std::size_t> count_ = 0;  // addresses_.size()
    Bytes requested_ = 0;
    Bytes granted_ = 0;
};

}  // namespace tidemark::c_api
