// Checker: the sanitizer behind --check. It keeps a shadow of the memory that the device handed
// out, what the allocator granted and which work may still touch which bytes, and reports what must
// not happen.
//
// CheckedDevice and CheckedAllocator (checked.h) report what was done; a replay sets the current
// event. Its findings are in a HazardLog, the device's memory in a DeviceShadow; the Checker itself
// has grants, work in flight, captures and launches. It never changes an answer: checked and
// unchecked runs are the same. Bytes are followed through the page table, so that two mappings of
// one handle share them.
//
// Graphs: a graph uses the addresses that its copies and fills name, and every allocation granted
// or used on a stream while that was captured. Whether a program may reuse such memory depends on
// whether it launches the graph again, so the checker judges at the launch. By then nobody else may
// have got the memory (except a grant of another capture: graphs share pools when they never run
// together), and the program may not have freed memory that it had before the capture. The device
// must still have all of it, and no other launch that may still run may write what this one uses,
// or the other way round. The checker doesn't see into kernels: their use of memory from before the
// capture is unknown.
//
// It assumes: an allocation is used on its stream from the grant to the deallocate, and on the
// streams that record_use named; if an allocation was retired before it is deallocated, its uses
// have been seen to finish (Allocator::retire).
//
// Not thread-safe. O(log live ranges + streams) a call, and O(mappings) if a range has many.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "backends/wrap/device_shadow.h"
#include "backends/wrap/graph_uses.h"
#include "backends/wrap/hazards.h"
#include "backends/wrap/interval_map.h"
#include "backends/wrap/stream_order.h"
#include "core/allocator/allocator.h"

namespace tidemark {

class Checker {
  public:
    static constexpr std::size_t kMostKept = HazardLog::kMostKept;

    // From `most_past` ranges of past work on, it removes those that can no longer clash, and joins
    // neighbours with the same work (the later of their events stays).
    explicit Checker(std::size_t most_past = std::size_t{1} << 20)
        : past_limit_(most_past), launched_limit_(most_past) {}

    Checker(const Checker&) = delete;
    Checker& operator=(const Checker&) = delete;

    // The number of the current event. A plain store: call it before each event.
    void set_event(std::uint64_t event) { log_.set_event(event); }

    // The first kMostKept hazards, in the order of their discovery.
    std::span<const Hazard> hazards() const { return log_.hazards(); }

    // All of them.
    std::uint64_t count() const { return log_.count(); }

    std::uint64_t count(HazardKind kind) const { return log_.count(kind); }

    // What the program had not freed at the end: not a hazard, since a trace may end early.
    std::uint64_t live_at_end() const { return live_at_end_; }

    // At the very end, when the allocator is gone: whatever the device still has handed out is a
    // leak.
    void finish();

    // From CheckedDevice: `call` was made (while a graph was captured or not), with that outcome.
    void device_call(const CallArguments& call, const CallOutcome& outcome, bool capturing);

    // From CheckedAllocator: after a grant, before a deallocate, at a record_use; and before the
    // allocator is destroyed, when the program and all its work have ended.
    void granted(const Request& request, const Allocation& allocation);
    void deallocating(const Allocation& allocation);
    void used_on(const Allocation& allocation, StreamId stream);
    void tearing_down();

  private:
    using LoanKind = DeviceShadow::LoanKind;
    using Access = DeviceShadow::Access;
    using Backing = DeviceShadow::Backing;

    struct Grant {
        std::uint64_t id = 0;
        std::uint64_t event = 0;
        Bytes size = 0;
        bool captured = false;  // granted on a captured stream
        std::uint32_t node = 0;
        std::vector<StreamId> streams;
        std::vector<Range> extents;  // physical
    };

    struct Live {
        std::uint64_t grant = 0;
        std::uint64_t event = 0;
        bool captured = false;  // granted on a captured stream
    };

    // A capture in progress.
    struct Capture {
        std::vector<StreamId> streams;  // the first one began it
        std::set<std::uint64_t> events;
        GraphUses uses;
        std::vector<Range> own;  // returned by malloc_async in it
    };

    struct Graph {
        GraphUses uses;
        std::vector<Range> left = {};  // of its own memory, what it does not free itself
    };

    using Launches = std::shared_ptr<const std::vector<LaunchWork>>;

    // Work that may still use bytes that nobody owns any longer.
    struct Past {
        std::uint64_t event = 0;   // of the deallocation
        std::uint64_t offset = 0;  // address in the allocation's mapping - physical address
        std::vector<StreamOrder::Work> work;
    };

    using SharedPast = std::shared_ptr<const Past>;

    void check_capture(const CallArguments& call, bool capturing);
    void check_movement(const CallArguments& call);
    void check_backing(const Request& request, const Allocation& allocation,
                       const Backing& backing);
    void check_owners(const Request& request, Range range, const Backing& backing);

    void order_call(const CallArguments& call, const CallOutcome& outcome);
    void loan_made(const CallArguments& call, const CallOutcome& outcome);
    void giving_back(const CallArguments& call, const CallOutcome& outcome);
    void give_back_loan(const CallArguments& call, bool ok, LoanKind kind);
    void check_nothing_lives(const CallArguments& call, Range range);
    void check_pool_order(const CallArguments& call, Range range);

    void unmapping(const CallArguments& call, bool ok);
    void check_unmapped_work(const CallArguments& call, Address begin,
                             const DeviceShadow::Mapping& mapping);

    Capture* capture_of(StreamId stream);
    void follow_capture(const CallArguments& call, const CallOutcome& outcome);
    void capture_ended(const CallArguments& call, const CallOutcome& outcome);
    void forget_captured_work(const Graph& graph);
    void name_movement(Capture& capture, const CallArguments& call);
    void name_use(Capture& capture, Range range, bool writes);
    bool is_granted(const GraphUse& use) const;
    void launching(const CallArguments& call, const CallOutcome& outcome);
    void check_launch(std::uint64_t id, const Graph& graph);
    void launched(const CallArguments& call, const Graph& graph);
    void add_launch(Range extent, const LaunchWork& mine, bool& races);
    void check_launched(const CallArguments& call, Range physical, std::uint64_t offset);

    void remember_past(const Grant& grant, Address address);
    void limit_past();
    void limit_launched();

    HazardLog log_;
    DeviceShadow device_{log_};
    std::uint64_t live_at_end_ = 0;
    bool in_capture_ = false;
    std::uint64_t capture_event_ = 0;

    StreamOrder order_;
    std::uint64_t grant_count_ = 0;
    std::multimap<Address, Grant> grants_;  // live ones
    IntervalMap<Live> live_;                // physical
    IntervalMap<SharedPast> past_;          // physical
    std::size_t past_limit_;
    FreedLog freed_;  // allocations, by address

    std::vector<Capture> captures_;
    std::map<std::uint64_t, Graph> graphs_;
    IntervalMap<Launches> launched_;  // physical
    std::size_t launched_limit_;
};

}  // namespace tidemark
