// SharedAllocator: any policy, made thread-safe and fast, for programs that know memory only by its
// address.
//
// Model: the policy and its device have one lock. In front of it is a row of caches, one for each
// running thread: a block that its program frees stays in the cache of the thread that it was
// granted to, and serves that thread's next request of the same size on the same stream. Such a hit
// takes one lock that is nearly always free, and needs neither the policy nor the device. Memory
// that the device may still be using for another stream (record_use, frees on another stream) is
// not cached, and neither is memory of a private pool. Caches never cost a program its memory: they
// are emptied before a request fails. They are also emptied before the policy reserves more from
// the device (as far as its hint largest_free shows), if they were useful since the last time.
//
// Without caches (the default) the policy decides exactly as it would alone, and every call takes
// effect at one moment: all threads together see what one thread would have seen that made the same
// calls in that order (linearizable). With caches that holds too, for addresses, counts and sums;
// but the policy's decisions depend on what the caches hold, and peaks are known only as bounds.
//
// The program orders its own calls as with any allocator: an address is used and freed after its
// grant was passed on, and only once, by any thread. Mistakes of the program are returned as a
// value, and change nothing.
//
// Threads may end at any time: the next new thread takes over their cache. fork() waits for calls
// in progress; the child may continue to make calls (on a GPU its driver refuses new work there).
//
// Lifetimes: the device must outlive it. A device that is itself for one thread is safe as long as
// the program reaches it only through `locked`. close() ends the policy while the device still
// exists and reports what is still live; later calls return errors, so a program that is shutting
// down may still free.
//
// Thread-safety: every function except the destructor may be called from any thread, but not from
// inside a function that was passed in (locks are not recursive).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/allocator/block_cache.h"
#include "core/base/check.h"
#include "core/concurrent/address_map.h"
#include "core/concurrent/spinning_lock.h"
#include "core/concurrent/thread_slot.h"

namespace tidemark {

// Why an address was not accepted.
enum class BadAddress : std::uint8_t {
    unknown,        // nothing was granted there, or too long ago to remember
    freed_already,  // granted once, freed, and not granted again
    inside,         // in the middle of a live allocation
    other_size,     // another number of bytes was requested there
    closed,         // the allocator has been closed
};

// "freed already", ...
std::string_view to_text(BadAddress why);

// A figure that is known to be between two; they are equal without caches and with one thread.
struct Bounds {
    Bytes at_least = 0;
    Bytes at_most = 0;
};

// Everything that can be counted, at one moment.
struct SharedStatus {
    Usage usage;  // what caches hold is reserved, and neither allocated nor active
    AllocatorStats stats;
    std::uint64_t live = 0;  // allocations
    Bytes requested = 0;     // by live allocations
    Bytes cached = 0;        // freed and kept by threads
    Bytes limit = 0;         // on `requested`; 0 = none
    Bytes peak_reserved = 0;
    Bounds peak_allocated;
    Bounds peak_requested;
    std::uint64_t granted = 0;  // requests
    std::uint64_t hits = 0;     // of `granted`, from caches
    std::uint64_t refused = 0;  // failed requests, including those that the limit refused
    std::uint64_t freed = 0;    // allocations
    std::uint64_t record_uses = 0;
    std::uint64_t bad_addresses = 0;  // calls that were answered with a BadAddress
};

// See SharedAllocator, below. Mutex is a lock like std::mutex: tests use one of their own that
// tries out every order of threads.
template <class Mutex>
class BasicSharedAllocator final : ForkAware {
  public:
    // Is told what is still live when the allocator ends, oldest first; not called if nothing is.
    using LeakReport = std::function<void(std::span<const LiveAllocation>)>;

    // `allocator` was made on `device`, which must outlive this object.
    BasicSharedAllocator(std::unique_ptr<Allocator> allocator, Device& device,
                         LeakReport report = {}, ThreadCaches caches = {});

    // close(), if nobody called it. No other call may be in progress.
    ~BasicSharedAllocator() override;

    // Grants what the policy grants, and returns where and how much. In addition to the policy's
    // failures: `limit` beyond set_limit, `device_error` with invalid_value for an alignment that
    // isn't a power of two or is above the device's granularity, and with not_permitted after
    // close. A hit is O(1); else O(policy). range_of and live return `tag` again.
    tl::expected<Range, OutOfMemory> allocate(const Request& request, std::uint32_t tag = 0);

    // Frees what was granted at `address`, after the work queued so far on `stream` (without one:
    // on the stream of the grant) and on the streams that record_use named. Freeing null has no
    // effect, as everywhere. `size` is the requested size, for callers that know it, to find
    // mistakes; 0 = unknown. O(1) into a cache, else O(policy).
    tl::expected<void, BadAddress> free(Address address, StreamId stream, Bytes size = 0) {
        return free_on(address, stream, size);
    }

    tl::expected<void, BadAddress> free(Address address) {
        return free_on(address, std::nullopt, 0);
    }

    // `stream` uses the allocation at `address` too. O(policy).
    tl::expected<void, BadAddress> record_use(Address address, StreamId stream);

    // The live allocation that contains `address`, at its start or further on: plugins and IPC need
    // this. O(1) at its start; further on, and if there is none, every call waits.
    std::optional<LiveAllocation> range_of(Address address);

    // Requests that would raise the sum of requested bytes above `limit` fail; 0 removes the limit.
    // While there is a limit, each request waits for all other calls, to know the sum. A limit on
    // reserved bytes, which costs nothing, belongs to the policy: reconfigure, with its option
    // `limit`.
    void set_limit(Bytes limit);

    // As in Allocator, with the caches emptied before a trim; after close() they do nothing
    // (reconfigure: unsupported).
    void trim(TrimLevel level);
    void begin_pool(PoolId pool, PoolTraits traits);
    void end_pool(PoolId pool);
    void close_pool(PoolId pool);
    void trim_pool(PoolId pool);
    Result<void> reconfigure(const Options& options);

    // O(threads); every call waits. `reset_peaks`: peaks restart at the current values.
    SharedStatus status(bool reset_peaks = false);

    // What is live, oldest first. O(n log n); every call waits.
    std::vector<LiveAllocation> live();

    // Runs `function(Allocator&, Device&)` under the policy's lock and returns its result: for the
    // device's own calls, and for queries that this class does not offer. It must not allocate or
    // free. Memory in caches is allocated for the policy. Not after close() (TM_CHECK).
    template <class Function>
    decltype(auto) locked(Function&& function) {
        const std::lock_guard lock(policy_mutex_);
        TM_CHECK(allocator_ != nullptr);
        return std::forward<Function>(function)(*allocator_, device_);
    }

    // Releases unused memory to the device, ends the policy, and returns what was still live,
    // oldest first; a second call returns nothing. Live memory stays as it is: the program may
    // still use it, until the device ends.
    std::vector<LiveAllocation> close();

  private:
    using Entry = AddressMap::Entry;
    using Lock = std::unique_lock<Mutex>;

    static constexpr std::size_t kRemembered = 1024;  // frees
    static constexpr std::uint64_t kNumbersAtOnce = 256;

    struct Tagged : Request {
        std::uint32_t tag = 0;
    };

    // Sums over everything that was granted from a shard.
    struct Sums {
        std::uint64_t granted = 0;
        std::uint64_t hits = 0;
        std::uint64_t freed = 0;
        Bytes requested = 0;
        Bytes allocated = 0;
        Bytes peak_requested = 0;
        Bytes peak_allocated = 0;
    };

    // A thread's cache, and the grants that were made to the threads that had it.
    struct alignas(128) Shard {
        Mutex mutex;  // guards everything below, and the entries that it owns
        std::uint32_t index = 0;
        bool closed = false;
        Bytes limit = 0;
        BlockCache<Entry*> cache;
        Sums sums;
        std::uint64_t next_number = 0;  // of a request
        std::uint64_t last_number = 0;  // the end of those that it has drawn
        std::atomic<Bytes> cached = 0;  // cache.bytes(), for others to read
    };

    // All locks at once, in the order in which any are taken: shards by index, then the policy's.
    class Everything {
      public:
        explicit Everything(BasicSharedAllocator& shared) : shared_(shared) { shared_.lock_all(); }

        Everything(const Everything&) = delete;
        Everything& operator=(const Everything&) = delete;

        ~Everything() { shared_.unlock_all(); }

      private:
        BasicSharedAllocator& shared_;
    };

    void before_fork() override { lock_all(); }

    void after_fork() override { unlock_all(); }

    void lock_all();
    void unlock_all();

    Shard& own_shard() { return shards_[thread_slot() & (shards_.size() - 1)]; }

    std::optional<OutOfMemory> objection(const Request& request, const Shard& shard) const;
    Range hand_out(Entry& entry, const Tagged& request, Shard& shard);
    std::optional<Range> take_cached(const Tagged& request, Shard& shard);
    tl::expected<Range, OutOfMemory> allocate_alone(const Tagged& request, Shard& shard);
    tl::expected<Range, OutOfMemory> ask_policy(const Tagged& request, Shard& shard);
    tl::expected<Range, OutOfMemory> refuse(const OutOfMemory& why);
    bool ready_for(const Request& request) const;
    bool any_cached() const;
    void empty_caches();
    void give_back(const std::vector<Entry*>& entries);

    tl::expected<void, BadAddress> free_on(Address address, std::optional<StreamId> stream,
                                           Bytes size);
    Entry* find_locked(Address address, Shard*& shard, Lock& lock);
    tl::expected<void, BadAddress> reject(Address address);
    void free_in_policy(Entry& entry, StreamId stream);
    Sums sums() const;
    std::vector<LiveAllocation> living() const;

    template <class Step>
    void with_policy(Step step);

    Device& device_;
    const Bytes granularity_;
    CacheBudget budget_;
    LeakReport report_;
    std::vector<Shard> shards_;  // a power of two of them; one without caches
    alignas(128) std::atomic<std::uint64_t> numbers_ = 0;  // drawn by shards

    // guards everything below, the device, and changes of the map
    alignas(128) Mutex policy_mutex_;
    std::unique_ptr<Allocator> allocator_;
    AddressMap map_;
    Emptying emptying_;
    Bytes peak_reserved_ = 0;
    Bytes seen_allocated_ = 0;  // the most at moments when all locks were held
    Bytes seen_requested_ = 0;
    std::uint64_t refused_ = 0;
    std::uint64_t record_uses_ = 0;
    std::uint64_t bad_addresses_ = 0;
    Usage last_usage_;  // of the policy, when it was closed
    AllocatorStats last_stats_;
    std::array<Address, kRemembered> freed_{};  // by the policy; the last ones, as a ring
    std::uint64_t frees_ = 0;
};

extern template class BasicSharedAllocator<SpinningLock>;
using SharedAllocator = BasicSharedAllocator<SpinningLock>;

}  // namespace tidemark
