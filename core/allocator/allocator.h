// Allocator: the interface of an allocation policy, which reserves memory from one Device and
// serves requests from it. Policies are in core/policies and found by name (find_policy, spec.h).
//
// An allocator never looks anything up by address: `allocate` returns an Allocation that carries
// its own node, and the caller passes it to `deallocate`. It is deterministic: no clock, no
// randomness, no order that depends on the process. Thread-safety: none; several threads share one
// through SharedAllocator (core/concurrent).
//
// Stream order, as in CUDA: granted memory may be used on the request's stream from then on.
// `deallocate` means "after the work that is queued so far" on the allocation's stream and on each
// stream that `record_use` named. The allocator makes sure, through Device's order calls, that
// nobody else gets the bytes earlier.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/allocator/address_spans.h"
#include "core/base/options.h"
#include "core/device/device.h"

namespace tidemark {

struct Request {
    Bytes size = 0;
    Bytes alignment = 1;  // a power of two; at most the device's granularity
    StreamId stream = StreamId::default_stream;
    PoolId pool = PoolId::default_pool;
    // If the policy's rules rate several addresses as equally good, the allocator takes this one if
    // it is among them. That is how a replay follows a system that chooses among them by something
    // that nobody records.
    Address among_equals = Address::null;
    // The request is repeated after a refusal. Since then the device has finished all its work, and
    // everything that was pending free has been freed. An allocator that waits for the device
    // before it refuses continues from there.
    bool waited = false;
};

// A granted request. `size` is what it costs, at least the requested size. `node` belongs to the
// allocator; nobody else reads it.
struct Allocation {
    Address address = Address::null;
    Bytes size = 0;
    std::uint32_t node = 0;
    bool retired = false;  // see Allocator::retire
};

// Why a request failed.
struct OutOfMemory {
    enum class Cause : std::uint8_t {
        device_full,    // the device refused
        limit,          // a limit on reserved bytes, set by the user
        too_large,      // no memory could ever hold it (kLargestRequest)
        address_space,  // no room for a reservation
        device_error,   // the device failed in another way: see `status`
    };
    Cause cause = Cause::device_full;
    DeviceStatus status = DeviceStatus::out_of_memory;
};

std::string_view to_text(OutOfMemory::Cause cause);

// The reason for a request's failure that follows from the device's error.
OutOfMemory refused_by(const DeviceError& error);

// What the engine samples at every event. Plain fields, kept exact by the allocator.
struct Usage {
    Bytes reserved = 0;   // physical memory reserved from the device
    Bytes mapped = 0;     // of `reserved`, what is mapped into the address space
    Bytes allocated = 0;  // live allocations, after rounding
    Bytes active = 0;     // allocated, plus memory that is pending free

    // Sums over allocators.
    Usage& operator+=(const Usage& other) {
        reserved += other.reserved;
        mapped += other.mapped;
        allocated += other.allocated;
        active += other.active;
        return *this;
    }
};

// Counters that aren't read at every event.
struct AllocatorStats {
    std::uint64_t retries = 0;           // caches emptied to try the device again
    std::uint64_t out_of_memory = 0;     // failed requests
    std::uint64_t segments_created = 0;  // segments reserved from the device
    std::uint64_t segments_released = 0;
    std::uint64_t maps = 0;  // runs of pages mapped into a reservation, and unmapped from one
    std::uint64_t unmaps = 0;
    std::uint64_t synchronizations = 0;  // times it waited for the device
    std::uint64_t plan_deviations = 0;   // requests that deviated from the plan
    std::uint64_t ties = 0;              // grants that Request::among_equals put elsewhere
    Bytes private_reserved = 0;          // part of Usage::reserved that private pools hold
    Bytes private_reserved_peak = 0;     // its maximum so far
    Bytes deferred = 0;                  // of frees that have yet to be made (DeferringAllocator)
    Bytes deferred_peak = 0;             // its maximum so far
    std::uint64_t flushes = 0;           // batches of such frees

    // Private pools hold `gained` more; for memory that they release, pass the negative (it wraps).
    void count_private(Bytes gained) {
        private_reserved += gained;
        if (private_reserved > private_reserved_peak)
            private_reserved_peak = private_reserved;
    }

    AllocatorStats& operator+=(const AllocatorStats& other) {
        retries += other.retries;
        out_of_memory += other.out_of_memory;
        segments_created += other.segments_created;
        segments_released += other.segments_released;
        maps += other.maps;
        unmaps += other.unmaps;
        synchronizations += other.synchronizations;
        plan_deviations += other.plan_deviations;
        ties += other.ties;
        private_reserved += other.private_reserved;
        private_reserved_peak += other.private_reserved_peak;
        deferred += other.deferred;
        deferred_peak += other.deferred_peak;
        flushes += other.flushes;
        return *this;
    }
};

// A piece of the memory that the allocator holds. Every reserved byte is in exactly one region.
struct Region {
    enum class State : std::uint8_t {
        allocated,  // live
        waiting,    // pending free: freed, but the device may still use it
        free,       // can be granted
        hole,       // held but never grantable until a trim (rounding of a segment, bump's past)
    };
    Range range;
    Range segment;  // the device allocation that contains it, or the run of mapped pages
    State state = State::free;
    StreamId stream = StreamId::default_stream;
    PoolId pool = PoolId::default_pool;
    bool shared = false;  // free, but other parts of its memory are in use in another segment
    Bytes page = 0;       // step of growth and release; 0: the whole segment, or several sizes
};

enum class TrimLevel : std::uint8_t {
    unused,  // what can be released without waiting
    all,     // wait for outstanding work, then release everything that is not allocated
};

// How a private pool behaves (a graph capture's, or one that the program made).
struct PoolTraits {
    bool serves_on_refusal = false;  // its free blocks may serve the default pool's last attempt
    bool splits = true;              // false: a block is granted whole
};

// A request that is expected, known from a dry run. `begin` and `end` count what happens in the
// pool, in order: the allocation may be used from `begin` until `end`.
struct PlannedAllocation {
    Bytes size = 0;
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
    StreamId stream = StreamId::default_stream;
    bool escapes = false;  // is still live when the pool has seen its last request
    Bytes alignment = 1;   // a power of two
};

// An initial state, for traces that start in the middle of a program (restore).
struct SeedBlock {
    Address address = Address::null;
    Bytes size = 0;       // of the block
    Bytes requested = 0;  // of the allocation in it
    bool retired = false;
};

struct SeedSegment {
    Range range;
    StreamId stream = StreamId::default_stream;
    PoolId pool = PoolId::default_pool;
    bool expandable = false;             // `range` is a run of pages in a reservation
    bool small = false;                  // expandable: of the pool of small blocks
    Address reserved = Address::null;    // expandable: where the reservation begins; null = here
    std::vector<SeedBlock> blocks = {};  // live ones, by address
};

// Must be destroyed before its device: addresses that it keeps reserved without memory are freed
// then.
class Allocator {
  public:
    Allocator() = default;
    Allocator& operator=(const Allocator&) = delete;
    virtual ~Allocator() = default;

    // Grants `request` or says why it can't. Never throws, never aborts. After a failure the
    // allocator is as it was, except for caches that it emptied while trying, and memory that it
    // reserved for a part of the request and keeps as free. A request of size 0 gets one minimal
    // block. Requests of kLargestRequest or more fail (too_large).
    virtual tl::expected<Allocation, OutOfMemory> allocate(const Request& request) = 0;

    // Frees what `allocate` granted. `stream` is the caller's; order is kept for the streams named
    // above. If the device fails on the way, the memory stays held (a region in state `waiting` or
    // `hole`): it is never lost and never granted too early.
    virtual void deallocate(const Allocation& allocation, StreamId stream) = 0;

    // `stream` uses the allocation too: it isn't reused before the stream's work up to deallocate
    // is done.
    virtual void record_use(const Allocation& allocation, StreamId stream) = 0;

    // For a caller that knows by itself when the device has finished (a recorded trace does). The
    // program frees `allocation` now: it is no longer allocated, but still active. `deallocate`
    // follows when the device has finished. The allocation keeps its bytes until `deallocate`.
    void retire(Allocation& allocation) {
        usage_.allocated -= allocation.size;
        allocation.retired = true;
    }

    // Releases memory to the device, but never what is allocated. O(regions).
    virtual void trim(TrimLevel level) = 0;

    // Private pools: memory that is only for the requests of one PoolId. A pool is created by its
    // first scope or request. Between begin_pool and end_pool the program is inside the pool's
    // scope (a graph is captured, or a MemPool is in use; scopes may nest and repeat). Each request
    // says which pool it is for. A request for a private pool without an open scope counts as one
    // inside a scope of its own. After close_pool there are no more requests for the pool: its free
    // memory is released at the next trim. Policies without pools ignore these calls and serve all
    // requests the same way. O(1) except trim_pool, which is a trim of one closed pool.
    virtual void begin_pool(PoolId /*pool*/, PoolTraits /*traits*/) {}

    virtual void end_pool(PoolId /*pool*/) {}

    virtual void close_pool(PoolId /*pool*/) {}

    virtual void trim_pool(PoolId /*pool*/) {}

    // Which requests the private pool will get, in order; called before its first request. For the
    // default pool (PlanScope::everything): all requests of the run. An allocator that plans places
    // them accordingly. A request that deviates is still served, and counted
    // (AllocatorStats::plan_deviations). Other allocators ignore the call.
    virtual void plan_pool(PoolId /*pool*/, std::span<const PlannedAllocation> /*expected*/) {}

    // New options from now on, as a program may set them while it runs; earlier decisions stay.
    // Errors: unsupported by this policy; bad_option for options that can no longer change.
    virtual Result<void> reconfigure(const Options& options);

    // The largest request that would now succeed without the device (0: none). A hint for
    // fragmentation metrics, exact up to rounding. At most O(log regions) per stream and pool.
    virtual Bytes largest_free() const = 0;

    // Every region once, in address order within each segment. O(regions log regions).
    virtual void for_each_region(const std::function<void(const Region&)>& visit) const = 0;

    // Calls visit for every piece of the addresses that the allocator keeps reserved, with or
    // without memory, by address within each reservation. Policies without reservations, and those
    // that don't report them, make no calls. O(pieces log pieces).
    virtual void for_each_address(const std::function<void(const AddressSpan&)>& /*visit*/) const {}

    // A copy with the same state that uses `device` from now on, for what-if runs from the middle
    // of a replay; null if the policy can't be copied. O(state).
    virtual std::unique_ptr<Allocator> clone(Device& /*device*/) const { return nullptr; }

    // Starts from a given state instead of an empty one, and returns the live allocations in the
    // order of `segments` and their blocks. Only on a fresh allocator. Errors: unsupported by this
    // policy; bad_input for an impossible state (overlaps, blocks outside their segment).
    virtual Result<std::vector<Allocation>> restore(std::span<const SeedSegment> segments);

    const Usage& usage() const { return usage_; }  // O(1), not virtual: read at every event

    const AllocatorStats& stats() const { return stats_; }

  protected:
    Allocator(const Allocator&) = default;

    // For destructors of allocators, which release memory: true while an exception is passing (the
    // process has no memory). The exception may have interrupted a change, so the allocator and its
    // device may disagree, and the device keeps what it has.
    static bool is_broken_off() { return std::uncaught_exceptions() != 0; }

    // Bookkeeping for a grant and for its end; pass the latter what `deallocate` got.
    void count_allocated(Bytes size) {
        usage_.allocated += size;
        usage_.active += size;
    }

    void count_deallocated(const Allocation& allocation) {
        if (!allocation.retired)
            usage_.allocated -= allocation.size;
        usage_.active -= allocation.size;
    }

    // What `allocate` returns for a request that fails.
    tl::unexpected<OutOfMemory> refuse(OutOfMemory why) {
        ++stats_.out_of_memory;
        return tl::make_unexpected(why);
    }

    // Segments of plain memory that were reserved from the device, and released to it.
    void count_taken(Bytes size) {
        usage_.reserved += size;
        usage_.mapped += size;
        ++stats_.segments_created;
    }

    void count_given_back(Bytes bytes, std::uint64_t segments = 1) {
        usage_.reserved -= bytes;
        usage_.mapped -= bytes;
        stats_.segments_released += segments;
    }

    // Trims everything before another attempt. True, and counted as a retry, if anything was
    // released.
    bool trim_for_retry();

    Usage usage_;
    AllocatorStats stats_;
};

// Which requests a policy wants to know in advance, through Allocator::plan_pool.
enum class PlanScope : std::uint8_t {
    nothing,
    private_pools,  // the requests of each private pool
    everything,     // all requests, of any pool, as the default pool's
};

// A policy as the catalogue shows it. `source` names the paper or project it follows.
struct PolicyInfo {
    std::string_view name;
    std::string_view summary;
    std::string_view source;
    std::span<const OptionInfo> options;
    // Errors: options that contradict each other, a device without a needed feature.
    Result<std::unique_ptr<Allocator>> (*make)(Device& device, const Options& options);
    // Environment variables of the modelled system; a policy's text may be a pasted assignment to
    // one. The value of "NAME" is text for these options, that of "NAME=option" is the value of
    // that option.
    std::span<const std::string_view> variables = {};
    // False: no measured figure depends on where the device puts memory, so a simulator need not
    // place memory as a driver would.
    bool placement_matters = true;
    PlanScope plans = PlanScope::nothing;
    // Its name in the modelled system, with '-' instead of '_', by which it is found too; "" if
    // none.
    std::string_view also_called = {};
    // True: `compare` and `advise` include it if the user names no policies.
    bool tried_unasked = true;
    // True: it follows another system's published rules, but hasn't been checked against any
    // recording of that system.
    bool only_read = false;
    // True: its segments consist of pages that it maps, so they grow and shrink at any address.
    bool maps_segments = false;
};

// The catalogue (policies/policies.cpp). O(1), thread-safe.
std::span<const PolicyInfo> all_policies();

// The policy of that name; an Error suggests the nearest name.
Result<const PolicyInfo*> find_policy(std::string_view name);

}  // namespace tidemark
