// SharedAllocator: any policy, made thread-safe, for programs that know memory by its address
// alone.
//
// Model: one lock around the policy and its device, and an address map beside it. Every call takes
// effect at one moment between its beginning and its end, while it holds the lock: what all threads
// see is what one thread would have seen that made the same calls in that order (linearizable).
// Figures that are read together belong to one moment. Each call waits for those before it, those
// that wait for the device included.
//
// The program orders its own calls as with any allocator: an address is used and freed after its
// grant was handed over, and once. What it gets wrong comes back as a value, and changes nothing.
//
// Lifetimes: the device outlives it. A device that is itself for one thread is safe as long
// as the program reaches it through `locked` alone. close() ends the policy while the device is
// there and says what still lives; calls after it are answered as errors, so that a program that is
// going down may still free.
//
// Thread-safety: every function but the destructor may be called from any thread, and from inside
// none of the functions that are passed in (the lock is not recursive).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/check.h"
#include "core/concurrent/address_map.h"

namespace tidemark {

// Why an address was not taken.
enum class BadAddress : std::uint8_t {
    unknown,        // nothing was granted there, or too long ago to remember
    freed_already,  // granted once, freed, and not granted again
    inside,         // in the middle of a living allocation
    closed,         // the allocator is no more
};

// "freed already", ...
std::string_view to_text(BadAddress why);

// Everything that can be counted, of one moment.
struct SharedStatus {
    Usage usage;
    AllocatorStats stats;
    std::uint64_t live = 0;  // allocations
    Bytes requested = 0;     // by what lives
    Bytes limit = 0;         // on `requested`; 0 = none
    Bytes peak_reserved = 0;
    Bytes peak_allocated = 0;
    Bytes peak_requested = 0;
    std::uint64_t granted = 0;  // requests
    std::uint64_t refused = 0;  // requests, those that the limit refused included
    std::uint64_t freed = 0;    // allocations
    std::uint64_t record_uses = 0;
    std::uint64_t bad_addresses = 0;  // calls that were answered with a BadAddress
};

class SharedAllocator {
  public:
    // Told what still lives when the allocator goes, oldest first; not called if nothing does.
    using LeakReport = std::function<void(std::span<const LiveAllocation>)>;

    // `allocator` was made on `device`, which must outlive this object.
    SharedAllocator(std::unique_ptr<Allocator> allocator, Device& device, LeakReport report = {});
    SharedAllocator(const SharedAllocator&) = delete;
    SharedAllocator& operator=(const SharedAllocator&) = delete;

    // close(), if nobody did. No other call may be under way.
    ~SharedAllocator();

    // Grants what the policy grants, and says where and how much. Beside the policy's refusals:
    // `limit` beyond set_limit, `device_error` with invalid_value for an alignment that is no power
    // of two or above the device's granularity, and with not_permitted after close. O(policy).
    tl::expected<Range, OutOfMemory> allocate(const Request& request);

    // Gives back what was granted at `address`, after the work queued so far on `stream` (without
    // one: on the stream of the grant) and on the streams that record_use named. Null is freed
    // without effect, as everywhere. O(policy).
    tl::expected<void, BadAddress> free(Address address, StreamId stream);
    tl::expected<void, BadAddress> free(Address address);

    // `stream` uses the allocation at `address` too.
    tl::expected<void, BadAddress> record_use(Address address, StreamId stream);

    // The living allocation that `address` is in, at its beginning or further on: plugins and IPC
    // ask so. O(1), see AddressMap.
    std::optional<LiveAllocation> range_of(Address address) const;

    // Requests that would bring the sum of bytes asked for above `limit` are refused; 0 lifts it. A
    // limit on reserved bytes is the policy's: reconfigure, with its option `limit`.
    void set_limit(Bytes limit);

    // As in Allocator; after close() they do nothing (reconfigure: unsupported).
    void trim(TrimLevel level);
    void begin_pool(PoolId pool, PoolTraits traits);
    void end_pool(PoolId pool);
    void close_pool(PoolId pool);
    void trim_pool(PoolId pool);
    Result<void> reconfigure(const Options& options);

    SharedStatus status() const;  // O(1)

    // What lives, oldest first. O(n log n), under the lock.
    std::vector<LiveAllocation> live() const;

    // Runs `function(Allocator&, Device&)` under the lock and gives what it gives: for the device's
    // own calls, and for questions that this class has no word for. It must not allocate or free.
    // Not after close() (TM_CHECK).
    template <class Function>
    decltype(auto) locked(Function&& function) {
        const std::lock_guard lock(mutex_);
        TM_CHECK(allocator_ != nullptr);
        return std::forward<Function>(function)(*allocator_, device_);
    }

    // Gives unused memory back to the device, ends the policy, and says what still lived, oldest
    // first; the second time nothing does. Living memory stays as it is: the program may still use
    // it, until the device goes.
    std::vector<LiveAllocation> close();

  private:
    static constexpr std::size_t kRemembered = 1024;  // frees

    std::optional<OutOfMemory> objection(const Request& request) const;
    tl::expected<void, BadAddress> free_on(Address address, std::optional<StreamId> stream);
    tl::expected<void, BadAddress> reject(Address address);
    void count_peaks();

    template <class Step>
    void with_policy(Step step) {
        const std::lock_guard lock(mutex_);
        if (allocator_ != nullptr)
            step(*allocator_);
    }

    mutable std::mutex mutex_;  // guards everything below, the device included
    std::unique_ptr<Allocator> allocator_;
    Device& device_;
    LeakReport report_;
    AddressMap map_;
    SharedStatus status_;  // without `usage`, `stats` and `live`, until it is asked for
    std::array<Address, kRemembered> freed_{};  // the last ones, round and round
};

}  // namespace tidemark
