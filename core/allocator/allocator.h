// Allocator: the interface of an allocation policy, which takes memory from one Device and grants
// it to requests. Policies are in core/policies and found by name (find_policy, spec.h).
//
// An allocator never looks anything up by address: `allocate` returns an Allocation that carries
// its own node, and the caller gives it back. It is deterministic: no clock, no randomness, no
// order that depends on the process. Thread-safety: none; several threads share one through
// SharedAllocator (core/concurrent).
//
// Stream order, as in CUDA: memory is granted for use on the request's stream from then on, and
// `deallocate` means "after the work that is queued so far": on the allocation's stream, and on
// each stream that `record_use` named. The allocator sees to it, through Device's order calls, that
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
    // Of several places that the policy's rules hold for equally good, the one here, if it is one
    // of them: how a system is followed that chooses among them by something that nobody records.
    Address among_equals = Address::null;
    // Asked for again after a refusal: since then the device has done all its work, and what waited
    // for that has been let go. An allocator that waits itself before it refuses goes on from
    // there.
    bool waited = false;
};

// A granted request. `size` is what it costs, at least what was asked for. `node` is the
// allocator's own; nobody else reads it.
struct Allocation {
    Address address = Address::null;
    Bytes size = 0;
    std::uint32_t node = 0;
    bool retired = false;  // see Allocator::retire
};

// Why a request was refused.
struct OutOfMemory {
    enum class Cause : std::uint8_t {
        device_full,    // the device said no
        limit,          // a limit on reserved bytes, set by the user
        too_large,      // no memory could ever hold it (kLargestRequest)
        address_space,  // no room for a reservation
        device_error,   // the device failed in another way: see `status`
    };
    Cause cause = Cause::device_full;
    DeviceStatus status = DeviceStatus::out_of_memory;
};

std::string_view to_text(OutOfMemory::Cause cause);

// The refusal that a device's refusal leads to.
OutOfMemory refused_by(const DeviceError& error);

// What the engine samples at every event. Plain fields, kept exact by the allocator.
struct Usage {
    Bytes reserved = 0;   // physical memory held from the device
    Bytes mapped = 0;     // of `reserved`, what is mapped into the address space
    Bytes allocated = 0;  // granted to live allocations, after rounding
    Bytes active = 0;     // allocated, and let go but still awaited by the device

    // Sums over allocators.
    Usage& operator+=(const Usage& other) {
        reserved += other.reserved;
        mapped += other.mapped;
        allocated += other.allocated;
        active += other.active;
        return *this;
    }
};

// Counters that nobody needs at every event.
struct AllocatorStats {
    std::uint64_t retries = 0;           // emptied caches and asked the device again
    std::uint64_t out_of_memory = 0;     // requests refused
    std::uint64_t segments_created = 0;  // pieces of memory taken from the device
    std::uint64_t segments_released = 0;
    std::uint64_t maps = 0;  // runs of pages mapped into a reservation, and unmapped from one
    std::uint64_t unmaps = 0;
    std::uint64_t synchronizations = 0;  // times it waited for the device
    std::uint64_t plan_deviations = 0;   // requests that came otherwise than planned
    std::uint64_t ties = 0;              // grants that Request::among_equals put elsewhere
    Bytes private_reserved = 0;          // of Usage::reserved, what private pools hold
    Bytes private_reserved_peak = 0;     // the most of it at any time
    Bytes deferred = 0;                  // of frees that wait to be made (DeferringAllocator)
    Bytes deferred_peak = 0;             // the most of it at any time
    std::uint64_t flushes = 0;           // batches of such frees

    // Private pools hold `gained` more: of what they give back, the negative (it wraps).
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

// A piece of what the allocator holds. Every reserved byte is in exactly one region.
struct Region {
    enum class State : std::uint8_t {
        allocated,  // granted
        waiting,    // let go, the device is not done with it
        free,       // can be granted
        hole,       // held but never grantable until a trim (rounding of a segment, bump's past)
    };
    Range range;
    Range segment;  // the device allocation that it lies in, or the run of mapped pages
    State state = State::free;
    StreamId stream = StreamId::default_stream;
    PoolId pool = PoolId::default_pool;
    bool shared = false;  // free, but other parts of its memory are in use in another segment
    Bytes page = 0;       // in which the segment grows and goes back; 0: as a whole, or in several
};

enum class TrimLevel : std::uint8_t {
    unused,  // what can be given back without waiting
    all,     // wait for outstanding work, then everything that is not allocated
};

// How a private pool (of a graph capture, or made by the program) behaves.
struct PoolTraits {
    bool serves_on_refusal = false;  // its free blocks may serve the default pool's last attempt
    bool splits = true;              // false: a block is granted whole
};

// A request that is going to come, known from a dry run. `begin` and `end` count what happens in
// the pool, in order: it may be used from `begin` on, and no more from `end` on.
struct PlannedAllocation {
    Bytes size = 0;
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
    StreamId stream = StreamId::default_stream;
    bool escapes = false;  // lives on when the pool has seen its last request
    Bytes alignment = 1;   // a power of two
};

// A state to begin with, for traces that start in the middle of a program's life (restore).
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

// Destroyed while its device is there: addresses that it keeps reserved without memory go back
// then.
class Allocator {
  public:
    Allocator() = default;
    Allocator& operator=(const Allocator&) = delete;
    virtual ~Allocator() = default;

    // Grants `request` or says why not. Never throws, never aborts. After a refusal the allocator
    // is as it was, save for caches that it emptied while trying, and memory that it took for a
    // part of the request and keeps as free. size 0 is granted one minimal
    // block. Requests of kLargestRequest or more are refused (too_large).
    virtual tl::expected<Allocation, OutOfMemory> allocate(const Request& request) = 0;

    // Takes back what `allocate` granted. `stream` is the caller's; order is kept for the streams
    // named above. If the device fails on the way the memory stays held (a region in state
    // `waiting` or `hole`), never lost and never granted early.
    virtual void deallocate(const Allocation& allocation, StreamId stream) = 0;

    // `stream` uses the allocation too: no reuse before its work up to deallocate is done.
    virtual void record_use(const Allocation& allocation, StreamId stream) = 0;

    // For a caller that knows by itself when the device is done (a recorded trace does): the
    // program lets go of `allocation` now (it is no longer allocated, still active), and
    // `deallocate` follows when the device is done. The allocation keeps its bytes until then.
    void retire(Allocation& allocation) {
        usage_.allocated -= allocation.size;
        allocation.retired = true;
    }

    // Gives memory back to the device: never what is allocated. O(regions).
    virtual void trim(TrimLevel level) = 0;

    // Private pools: memory that requests of one PoolId have to themselves. A pool comes into being
    // with its first scope or request. Between begin_pool and end_pool the program is inside the
    // pool's scope (a graph is captured, or a MemPool is in use; scopes may nest and repeat);
    // requests say themselves which pool they are for. A request for a private pool that has no
    // scope open is taken as one inside a scope of its own. After close_pool nobody will ask for
    // the pool again: what is free in it goes back with the next trim. Policies without pools
    // ignore the calls and serve all requests alike. O(1) but for trim_pool: as trim, for one
    // closed pool alone.
    virtual void begin_pool(PoolId /*pool*/, PoolTraits /*traits*/) {}

    virtual void end_pool(PoolId /*pool*/) {}

    virtual void close_pool(PoolId /*pool*/) {}

    virtual void trim_pool(PoolId /*pool*/) {}

    // What the requests for a private pool will be, in order, before its first; for the default
    // pool (PlanScope::everything), what all requests will be. An allocator that plans places them
    // by it; a request that comes otherwise is served all the same, and counted
    // (AllocatorStats::plan_deviations). Others ignore it.
    virtual void plan_pool(PoolId /*pool*/, std::span<const PlannedAllocation> /*expected*/) {}

    // Other options from now on, as a program may set them while it runs: what has been decided
    // stays. Errors: unsupported by this policy; bad_option for what cannot change any more.
    virtual Result<void> reconfigure(const Options& options);

    // The largest request that would be granted now without the device (0: none). A hint for
    // fragmentation metrics, exact up to rounding. At most O(log regions) per stream and pool.
    virtual Bytes largest_free() const = 0;

    // Every region once, in address order within each segment. O(regions log regions).
    virtual void for_each_region(const std::function<void(const Region&)>& visit) const = 0;

    // Calls visit for every piece of the addresses that it keeps reserved whether there is memory
    // or not, by address within each reservation. Policies that keep none, and those that don't
    // say, call nobody. O(pieces log pieces).
    virtual void for_each_address(const std::function<void(const AddressSpan&)>& /*visit*/) const {}

    // A copy with the same state that talks to `device` from now on, for trying "what if" from the
    // middle of a replay; null if the policy cannot. O(state).
    virtual std::unique_ptr<Allocator> clone(Device& /*device*/) const { return nullptr; }

    // Starts from a given state instead of an empty one, and returns the live allocations in the
    // order of `segments` and their blocks. Only on a fresh allocator. Errors: unsupported by this
    // policy; bad_input when the state cannot be (overlaps, blocks outside their segment).
    virtual Result<std::vector<Allocation>> restore(std::span<const SeedSegment> segments);

    const Usage& usage() const { return usage_; }  // O(1), not virtual: read at every event

    const AllocatorStats& stats() const { return stats_; }

  protected:
    Allocator(const Allocator&) = default;

    // For ends of allocators that give memory back: an exception is passing (the process has no
    // memory). It may have come out of the middle of a change, so that nothing is sure of what the
    // allocator and its device know of each other, and the device keeps what it has.
    static bool is_broken_off() { return std::uncaught_exceptions() != 0; }

    // Bookkeeping for a grant and its end; `deallocate` calls the latter with what it was given.
    void count_allocated(Bytes size) {
        usage_.allocated += size;
        usage_.active += size;
    }

    void count_deallocated(const Allocation& allocation) {
        if (!allocation.retired)
            usage_.allocated -= allocation.size;
        usage_.active -= allocation.size;
    }

    // What `allocate` returns for a request that is refused.
    tl::unexpected<OutOfMemory> refuse(OutOfMemory why) {
        ++stats_.out_of_memory;
        return tl::make_unexpected(why);
    }

    // Segments of plain memory that were taken from the device, and given back.
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

    // Trims everything, for another attempt: true, and counted as a retry, if anything went back.
    bool trim_for_retry();

    Usage usage_;
    AllocatorStats stats_;
};

// Which requests a policy wants to know beforehand, by Allocator::plan_pool.
enum class PlanScope : std::uint8_t {
    nothing,
    private_pools,  // each pool's
    everything,     // all requests, of whatever pool, as the default pool's
};

// A policy as the catalogue shows it. `source` names the paper or project it follows.
struct PolicyInfo {
    std::string_view name;
    std::string_view summary;
    std::string_view source;
    std::span<const OptionInfo> options;
    // Errors: options that contradict each other, a device without a needed feature.
    Result<std::unique_ptr<Allocator>> (*make)(Device& device, const Options& options);
    // Environment variables of the modelled system: a policy's text may be a pasted assignment to
    // one. The value of "NAME" is text for these options, that of "NAME=option" is that option's.
    std::span<const std::string_view> variables = {};
    // False: nothing that is measured depends on where the device puts memory, so a simulator need
    // not place it as a driver would.
    bool placement_matters = true;
    PlanScope plans = PlanScope::nothing;
    // Its name in the modelled system, with '-' for '_', by which it is found too; "" if none.
    std::string_view also_called = {};
    // True: `compare` and `advise` try it where nobody says which.
    bool tried_unasked = true;
    // True: it follows another system's rules as they read, and no recording of that system has
    // been held against it.
    bool only_read = false;
    // True: its segments are pages that it maps, so they grow and shrink at any place.
    bool maps_segments = false;
};

// The catalogue (policies/policies.cpp). O(1), thread-safe.
std::span<const PolicyInfo> all_policies();

// The policy of that name; an Error suggests the nearest name.
Result<const PolicyInfo*> find_policy(std::string_view name);

}  // namespace tidemark
