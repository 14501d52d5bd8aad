// SpillEngine: which buffer leaves a space, what is copied where and when, who gets access and who
// gets a reservation, as a state machine without lock, threads, clock or device. A real program
// has it behind a lock (TieredStore, tiered_store.h), a replay on the virtual clock
// (replay/tiers): what is predicted is what runs.
//
// A program requests, the engine decides in schedule(), and somebody (SpillExecutor,
// spill_executor.h) carries out what take_work() gives and reports how that ended:
//
//     engine.access_all(uses, spec);  // nothing: granted; else an answer comes
//     engine.schedule(false);
//     engine.take_work(work);         // locations to allocate and free, copies to begin, answers
//     engine.placed(buffer, transfers.allocate(space, size));
//
// The parts, each with its own invariant, refer only to those before them:
//
//     SpillState        the tables of buffers and spaces, what has happened, the work
//     LeavingLedger     what is on its way out of each space, and on whose behalf
//     Holds             who uses a buffer, and up to where streams work on it
//     CopyTable         valid copies, their charges, and which may leave
//     Moves             the states of buffers, from one to the next
//     RoomMaker         lines of moves that want room, and victims that leave for them
//     FreeRequests      bytes that are freed on request
//     AccessQueue       who gets access; groups that are granted together
//     ReservationQueue  reservations that wait, in fair order
//     LookAhead         what a forecast says is brought back and sent away before its time
//
// A turn, schedule(), takes what has happened (agenda.h) until nothing is left.
//
// A failure anywhere leaves the bytes where they were: a location that is being filled is no copy
// until the fill has ended well, and a copy that was given up is none from that moment on; its
// location is freed when the program's queued work on the buffer has passed (specs A-T20, defect
// 23). Every location is charged to its MemorySpace before it is made and given back after it was
// freed.
//
// Thread-safety: none. Lock order: the engine is called under the store's lock and takes spaces'
// locks inside (over-reservation policies must not call the store). Requests are O(log buffers) and
// what a policy passes over; an access to a buffer that is there and free is O(1) but for the
// policy; schedule() is O(work done + moves in flight).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/tiers/engine/access_queue.h"
#include "core/tiers/engine/copy_table.h"
#include "core/tiers/engine/free_requests.h"
#include "core/tiers/engine/holds.h"
#include "core/tiers/engine/leaving_ledger.h"
#include "core/tiers/engine/look_ahead.h"
#include "core/tiers/engine/moves.h"
#include "core/tiers/engine/reservation_queue.h"
#include "core/tiers/engine/room_maker.h"
#include "core/tiers/engine/spill_state.h"
#include "core/tiers/engine/spill_work.h"

namespace tidemark {

class SpillEngine {
  public:
    // `spaces` are those of `machine`, in its order, and outlive the engine, as the machine does.
    SpillEngine(const MachineSpec& machine, std::span<MemorySpace* const> spaces,
                SpillOptions options);
    SpillEngine(const SpillEngine&) = delete;
    SpillEngine& operator=(const SpillEngine&) = delete;

    // Without buffers, moves and deferred frees (TM_CHECK).
    ~SpillEngine();

    // Requests of the program; each is answered once by an answer of later work. Errors: no_space;
    // unsupported; not_found: the buffer ended; cancelled: the store is closing; what a copy that
    // failed gave.
    RequestId create(const BufferSpec& spec);

    RequestId access(BufferRef buffer, const AccessSpec& spec) {
        return accesses_.access(buffer, spec);
    }

    RequestId free_bytes(SpaceId space, Bytes size) { return frees_.free_bytes(space, size); }

    // As free_bytes, with one buffer alone.
    RequestId free_buffer(BufferRef buffer, SpaceId space) {
        return frees_.free_buffer(buffer, space);
    }

    RequestId reserve(const ReservationSpec& spec) { return reservations_.reserve(spec); }

    // Access to several buffers, each once, in the one space of `spec`, whose mode doesn't count.
    // Granted at once: nothing, and no answer comes.
    std::optional<RequestId> access_all(std::span<const BufferUse> uses, const AccessSpec& spec) {
        return accesses_.access_all(uses, spec);
    }

    // What becomes of accesses that were granted by an answer: they count from now on, and other
    // copies of what they write are void; or the program can't have them, and nothing was written.
    void take_up(std::uint32_t group) { accesses_.take_up(group); }

    void turn_down(std::uint32_t group) { accesses_.turn_down(group); }

    // A blank buffer that is nowhere yet: its first access gives it a location.
    BufferRef found(const BufferSpec& spec);

    // A buffer over memory that the program owns, at `location`: not charged, never freed.
    BufferRef adopt(const BufferSpec& spec, const BlockLocation& location);

    // Ends an access that was granted. `point`: the program's work on it has been queued up to
    // there; nothing if it has been done.
    void release(BufferRef buffer, SpaceId space, AccessMode mode, std::optional<UsePoint> point);

    // Pins (gate.h), for whoever gives them out: an access that was granted in the buffer's own
    // space, `share` if `write`, else `pin`, becomes a pin; what Gate::unpin says.
    void admit(BufferRef buffer, bool write);
    void unsealed(BufferRef buffer, bool writers);

    // Ends a buffer. Errors: not_found; bad_input while somebody has an access. Requests that wait
    // for it are refused.
    Result<void> destroy(BufferRef buffer);

    // What the program says of a buffer. False: it is gone.
    bool set_may_spill(BufferRef buffer, bool may_spill);

    // Has the buffer leave `space` if it may and can, for the nearest space, or for the nearest of
    // a tier. False: it stays.
    bool evict(BufferRef buffer, SpaceId space, std::optional<Tier> tier = {});

    // CopyTable::candidates; nothing of a space that the machine hasn't.
    std::vector<VictimCandidate> candidates(SpaceId space, Bytes size);

    // The program begins a part of it that has a name: a step, a module.
    void mark(std::uint64_t name_hash);

    // Decides all that can be decided now. `stirred`: something may have become free elsewhere, so
    // patient requests are tried again.
    void schedule(bool stirred);

    // Refuses everything that waits and cancels all moves; nothing new begins.
    void shut_down();

    // Ends every buffer. After shut_down(), when no move is in flight and nobody has an access.
    void end_all();

    // Whether a copy may end, or a point may pass. O(1).
    bool busy() const { return !moves_.moving().empty() || leaving_.size() != 0; }

    // Whether there is anything for schedule() to look at, or for take_work() to take. O(1).
    bool restless() const { return !state_.agenda.empty() || !state_.work.empty(); }

    // The work that has come up since the last call, in exchange for `done`, which is emptied; and
    // of it the answers alone, which any thread may deliver.
    void take_work(SpillWork& done);
    std::vector<SpillAnswer> take_answers();

    // What became of it: of a location (no_space, which is ordinary, is tried again); of a copy
    // that has begun, or has ended; of queued work that had to pass first; of what was to be freed,
    // and by how much `used` of its space fell.
    void placed(BufferRef buffer, Result<BlockLocation> location);

    void started(BufferRef buffer, CopyId copy) { moves_.started(buffer, copy); }

    void copied(BufferRef buffer, CopyDone done);

    void passed(std::uint64_t deferred) { leaving_.passed(deferred); }

    void left(std::uint64_t deferred, Bytes freed);

    // Deferred frees whose queued work has to pass first.
    std::vector<WaitingFree> awaited() const { return leaving_.waiting(); }

    // The first of the requests that wait for others gets a last try, or is refused, when none of
    // these will let anything go: the caller knows that. False: nobody waits.
    bool give_up_one();

    // The same where the engine itself knows it: nothing is under way, nobody has access to any
    // buffer or a reservation, and no memory of the spaces is in use by others. False: somebody may
    // let go yet, or nobody waits. O(1) where nobody waits for room, else O(buffers) at most.
    bool give_up_hopeless();

    // Refuses a request that has not been granted, for the given reason, to which what holds the
    // room is added; one to free bytes gets what it has (FreeEnd::withdrawn). False: too late.
    // O(buffers).
    bool withdraw(RequestId request, Error why);

    // Who uses buffers, and the points of their streams.
    Holds& holds() { return holds_; }

    const Holds& holds() const { return holds_; }

    // Where buffers are, and what the program says of them.
    CopyTable& copies() { return copies_; }

    const CopyTable& copies() const { return copies_; }

    // Figures. O(1).
    const SpillCounters& counters(SpaceId space) const {
        return state_.spaces[state_.position(space)].counters;
    }

    // Whether copies are in flight or something is yet to be freed, which ends by itself. O(moves).
    bool settling() const { return moves_.in_flight() != 0 || leaving_.size() != 0; }

    std::size_t in_flight() const { return moves_.in_flight(); }

    // Why the last copy that failed did; of no meaning while counters say that none has.
    const Error& last_failure() const { return moves_.last_failure(); }

    ForecastScore forecast_score() const {
        return state_.options.forecast ? state_.options.forecast->score() : ForecastScore{};
    }

    // Whether everything that must hold holds (TM_CHECK): for tests. O(buffers).
    void check() const;

  private:
    void serve();
    void look_ahead(bool advanced);
    void take_ends();
    void let_go(std::uint32_t id);
    bool anybody_waits() const;
    bool anybody_holds() const;
    bool withdraw_creation(RequestId request, Error why);

    SpillState state_;
    LeavingLedger leaving_;
    Holds holds_;
    CopyTable copies_;
    Moves moves_;
    RoomMaker room_;
    FreeRequests frees_;
    AccessQueue accesses_;
    ReservationQueue reservations_;
    LookAhead ahead_;
};

}  // namespace tidemark
