// CaptureAllocator: the rules while graphs are captured, around any allocator.
//
// Outside of captures it passes everything on. A capture, or the dry run of one, is a session with
// streams of its own: the one it was opened on, and those that join. Requests on these streams
// belong to the session: in a dry run they are served as usual and recorded; in a capture they are
// served from its arena, planned or bump. So sessions on different streams are separate, and work
// on other streams belongs to no session.
//
// What happens to a freed block:
//   of the arena, while its capture runs: bookkeeping; the layout decides what may be reused
//   of the arena, later: an escape has ended; bookkeeping too, since the arena belongs to the graph
//   not of the arena, on a stream of a capture: waits until no capture runs, then is freed
//   everything else: passed on immediately
//
// So no address of an arena ever reaches the allocator outside, a capture never makes the device
// take memory back, and nothing is lost.
//
// The device and the allocator outside must outlive it; arenas and graphs may outlive it, but not
// the device. Not thread-safe: threads share it under a lock, each with a session of its own.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "core/allocator/allocator.h"
#include "core/base/vacant_ids.h"
#include "core/capture/arena_layout.h"
#include "core/capture/dry_run.h"
#include "core/capture/graph_arena.h"

namespace tidemark {

enum class SessionId : std::uint32_t {};

// How to capture. Without an arena: a dry run.
struct CaptureSetup {
    StreamId stream = StreamId::default_stream;
    std::shared_ptr<GraphArena> arena = {};
    const DryRun* planned_from = nullptr;  // null: a bump arena
    EscapeRule escapes = EscapeRule::apart;
};

// The summary of a session, when it has ended.
struct CaptureReport {
    std::uint64_t requests = 0;    // that it served
    std::uint64_t refused = 0;     // requests that failed
    Error last_refusal = {};       // by the arena: how much it lacked
    std::uint64_t deviations = 0;  // from the plan
    Bytes used = 0;                // of the arena, from its base
    std::vector<Range> escapes;    // what is still live, by address
    std::uint64_t deferred = 0;    // frees of memory from outside that waited for the end
    DryRun dry_run;                // of a dry run: its record
};

class CaptureAllocator final : public Allocator {
  public:
    // Passes on to `outside`, which serves `device`.
    CaptureAllocator(Device& device, Allocator& outside);
    ~CaptureAllocator() override;

    // An arena whose memory counts in usage(). Size 0: it grows. Errors: the device's, as an Error.
    Result<std::shared_ptr<GraphArena>> make_arena(Bytes size = 0,
                                                   ArenaSharing sharing = ArenaSharing::one_graph);

    // Opens a session. Errors (unsupported): its stream is in one already, its arena is in use; a
    // plan's errors. After an error nothing has changed.
    Result<SessionId> open(const CaptureSetup& setup);

    // `stream` takes part in the session from now on. Errors (unsupported): it is in one already.
    Result<void> join(SessionId session, StreamId stream);

    // In the session, from now on `to` runs after what `from` did so far.
    void edge(SessionId session, StreamId from, StreamId to);

    // Ends a session; `graph` says whether it produced a graph, which holds the arena's addresses.
    // When no capture is open any longer, delayed frees are carried out.
    CaptureReport close(SessionId session, bool graph);

    // The session of a stream, or null.
    const SessionId* session_of(StreamId stream) const;

    bool any_capture() const;

    // Memory of arenas that are gone, which the device refused to take back. trim() tries again.
    Bytes left_over() const { return ledger_->left_over(); }

    tl::expected<Allocation, OutOfMemory> allocate(const Request& request) override;
    void deallocate(const Allocation& allocation, StreamId stream) override;
    void record_use(const Allocation& allocation, StreamId stream) override;

    // Nothing is released while a graph is captured.
    void trim(TrimLevel level) override;

    void begin_pool(PoolId pool, PoolTraits traits) override;
    void end_pool(PoolId pool) override;
    void close_pool(PoolId pool) override;
    void trim_pool(PoolId pool) override;
    void plan_pool(PoolId pool, std::span<const PlannedAllocation> expected) override;
    Result<void> reconfigure(const Options& options) override;
    Bytes largest_free() const override;

    // The regions outside, and then what is live in arenas, each in a segment of its own.
    void for_each_region(const std::function<void(const Region&)>& visit) const override;

    void for_each_address(const std::function<void(const AddressSpan&)>& visit) const override {
        outside_.for_each_address(visit);
    }

  private:
    static constexpr std::uint32_t kNone = 0xffffffffU;

    struct Session {
        CaptureSetup setup;
        ArenaLayout layout;
        Address base = Address::null;
        CaptureReport report;
        std::vector<StreamId> streams;
    };

    // A block that was granted and not yet freed.
    struct Entry {
        Allocation inner = {};                   // as the allocator outside knows it, or the arena
        std::shared_ptr<GraphArena> arena = {};  // null: from outside
        std::uint32_t session = kNone;           // while it is open
        std::uint32_t request = kNone;           // in its dry run
        std::vector<StreamId> users = {};        // its own stream first
    };

    struct Deferred {
        Allocation allocation;
        StreamId stream = StreamId::default_stream;
    };

    std::uint32_t number_of(StreamId stream) const;
    tl::expected<Allocation, OutOfMemory> allocate_outside(const Request& request);
    tl::expected<Allocation, OutOfMemory> allocate_in(Session& session, std::uint32_t number,
                                                      const Request& request);
    void give_to_arena(const Entry& entry, const Allocation& allocation);
    void give_outside(const Entry& entry, const Allocation& allocation, StreamId stream);
    void carry_out_deferred();
    void before_call();
    void after_call();

    Device& device_;
    Allocator& outside_;
    std::shared_ptr<ArenaLedger> ledger_;
    std::map<std::uint32_t, Session> sessions_;
    std::uint32_t next_session_ = 0;
    std::map<StreamId, SessionId> of_stream_;
    std::vector<Entry> entries_;
    VacantIds vacant_;
    std::vector<Deferred> deferred_;
    Bytes in_arenas_ = 0;           // granted there and live
    Bytes arenas_peak_ = 0;         // of the memory that they hold
    Bytes deferred_bytes_ = 0;      // freed, not yet passed on
    Bytes retired_ = 0;             // retired, not yet freed
    Usage reported_;                // usage_ as the last call left it
    std::uint64_t refused_ = 0;     // by arenas
    std::uint64_t deviations_ = 0;  // in sessions that have ended
};

}  // namespace tidemark
