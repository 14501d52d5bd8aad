// SpillEngine: which buffer leaves a space, what is copied where and when, who gets access and who
// gets a reservation, as a state machine without lock, threads, clock or device. A real program has
// it behind a lock (TieredStore, tiered_store.h), a replay on the virtual clock (replay/tiers): the
// prediction runs the same code as the program.
//
// A program makes requests, the engine decides in schedule(), and an executor (SpillExecutor,
// spill_executor.h) carries out what take_work() returns and reports how it ended:
//
//     engine.access_all(uses, spec);  // nothing: granted; else an answer comes
//     engine.schedule(false);
//     engine.take_work(work);         // locations to allocate and free, copies to begin, answers
//     engine.placed(buffer, transfers.allocate(space, size));
//
// The parts, each with its own invariant, refer only to those before them:
//
//     SpillState        the tables of buffers and spaces, what has happened, the work
//     LeavingLedger     what is about to leave each space, and for whom
//     Holds             who uses a buffer, and up to where streams work on it
//     CopyTable         valid copies, their charges, and which may leave
//     Moves             the states of buffers, from one to the next
//     RoomMaker         queues of moves that need room, and victims that leave for them
//     FreeRequests      bytes that are freed on request
//     AccessQueue       who gets access; groups that are granted together
//     ReservationQueue  reservations that wait, in fair order
//     LookAhead         what is brought back and sent away early because of a forecast
//
// A turn, schedule(), handles what has happened (agenda.h) until nothing is left.
//
// A failure anywhere leaves the bytes where they were. A location that is being filled becomes a
// copy only when the fill has succeeded. A copy that was given up stops being one at that moment;
// its location is freed when the program's queued work on the buffer has passed (specs A-T20,
// defect 23). Every location is charged to its MemorySpace before it is made, and the charge ends
// after it was freed.
//
// Thread-safety: none. Lock order: the engine is called under the store's lock and takes spaces'
// locks inside (over-reservation policies must not call the store). Requests are O(log buffers)
// plus what a policy skips; an access to a buffer that is present and free is O(1) apart from the
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
    // `spaces` are those of `machine`, in its order. Both must outlive the engine.
    SpillEngine(const MachineSpec& machine, std::span<MemorySpace* const> spaces,
                SpillOptions options);
    SpillEngine(const SpillEngine&) = delete;
    SpillEngine& operator=(const SpillEngine&) = delete;

    // There may be no buffers, moves or deferred frees (TM_CHECK).
    ~SpillEngine();

    // Requests of the program; each is answered once, in later work. Errors: no_space; unsupported;
    // not_found: the buffer ended; cancelled: the store is closing; the error of a copy that
    // failed.
    RequestId create(const BufferSpec& spec);

    RequestId access(BufferRef buffer, const AccessSpec& spec) {
        return accesses_.access(buffer, spec);
    }

    RequestId free_bytes(SpaceId space, Bytes size) { return frees_.free_bytes(space, size); }

    // The same as free_bytes, for a single buffer.
    RequestId free_buffer(BufferRef buffer, SpaceId space) {
        return frees_.free_buffer(buffer, space);
    }

    RequestId reserve(const ReservationSpec& spec) { return reservations_.reserve(spec); }

    // Access to several buffers, each once, in the one space of `spec`, whose mode doesn't count.
    // Returns nothing if granted immediately, and no answer comes.
    std::optional<RequestId> access_all(std::span<const BufferUse> uses, const AccessSpec& spec) {
        return accesses_.access_all(uses, spec);
    }

    // The result for accesses that were granted by an answer: they count from now on, and other
    // copies of what they write are void; or the program can't have them, and nothing was written.
    void take_up(std::uint32_t group) { accesses_.take_up(group); }

    void turn_down(std::uint32_t group) { accesses_.turn_down(group); }

    // A blank buffer that is nowhere yet: its first access gives it a location.
    BufferRef found(const BufferSpec& spec);

    // A buffer over memory that the program owns, at `location`: not charged, never freed.
    BufferRef adopt(const BufferSpec& spec, const BlockLocation& location);

    // Ends an access that was granted. `point`: the program's work on it has been queued up to
    // there; nothing if that work is done.
    void release(BufferRef buffer, SpaceId space, AccessMode mode, std::optional<UsePoint> point);

    // For pins (gate.h), called by whoever hands them out: an access that was granted in the
    // buffer's own space, `share` if `write`, else `pin`, becomes a pin; and the report of
    // Gate::unpin.
    void admit(BufferRef buffer, bool write);
    void unsealed(BufferRef buffer, bool writers);

    // Ends a buffer. Errors: not_found; bad_input while somebody has access. Requests that wait for
    // it are refused.
    Result<void> destroy(BufferRef buffer);

    // Facts that the program states about a buffer. False: it is gone.
    bool set_may_spill(BufferRef buffer, bool may_spill);

    // Evicts the buffer from `space` if possible, to the nearest space, or to the nearest of a
    // tier. False: it stays.
    bool evict(BufferRef buffer, SpaceId space, std::optional<Tier> tier = {});

    // CopyTable::candidates; nothing for a space that the machine doesn't have.
    std::vector<VictimCandidate> candidates(SpaceId space, Bytes size);

    // The program starts a named part of itself: a step, a module.
    void mark(std::uint64_t name_hash);

    // Decides everything that can be decided now. `stirred`: something may have become free
    // elsewhere, so it tries patient requests again.
    void schedule(bool stirred);

    // Refuses everything that waits and cancels all moves; nothing new starts.
    void shut_down();

    // Ends every buffer. After shut_down(), when no move is in flight and nobody has access.
    void end_all();

    // Whether a copy may end, or a point may pass. O(1).
    bool busy() const { return !moves_.moving().empty() || leaving_.size() != 0; }

    // Whether schedule() has anything to look at, or take_work() anything to return. O(1).
    bool restless() const { return !state_.agenda.empty() || !state_.work.empty(); }

    // The work that has come up since the last call, in exchange for `done`, which is emptied; and
    // separately its answers, which any thread may deliver.
    void take_work(SpillWork& done);
    std::vector<SpillAnswer> take_answers();

    // The results: of a location (no_space, which is ordinary, is retried); of a copy that has
    // started, or has ended; of queued work that had to pass first; of a free, with how much `used`
    // of its space fell.
    void placed(BufferRef buffer, Result<BlockLocation> location);

    void started(BufferRef buffer, CopyId copy) { moves_.started(buffer, copy); }

    void copied(BufferRef buffer, CopyDone done);

    void passed(std::uint64_t deferred) { leaving_.passed(deferred); }

    void left(std::uint64_t deferred, Bytes freed);

    // Deferred frees whose queued work has to pass first.
    std::vector<WaitingFree> awaited() const { return leaving_.waiting(); }

    // The first of the requests that wait for others gets a last try, or is refused, when none of
    // the others will release anything, which the caller knows. False: nobody waits.
    bool give_up_one();

    // The same, if the engine itself knows it: nothing is in progress, nobody has access to any
    // buffer or a reservation, and no memory of the spaces is in use by others. False: somebody may
    // still release something, or nobody waits. O(1) if nobody waits for room, otherwise at most
    // O(buffers).
    bool give_up_hopeless();

    // Refuses a request that has not been granted, for the given reason, to which what holds the
    // room is added; a request to free bytes gets what it has (FreeEnd::withdrawn). False: too
    // late. O(buffers).
    bool withdraw(RequestId request, Error why);

    // Who uses buffers, and the points of their streams.
    Holds& holds() { return holds_; }

    const Holds& holds() const { return holds_; }

    // Where buffers are, and what the program has stated about them.
    CopyTable& copies() { return copies_; }

    const CopyTable& copies() const { return copies_; }

    // Figures. O(1).
    const SpillCounters& counters(SpaceId space) const {
        return state_.spaces[state_.position(space)].counters;
    }

    // Whether copies are in flight or something has yet to be freed, which ends by itself.
    // O(moves).
    bool settling() const { return moves_.in_flight() != 0 || leaving_.size() != 0; }

    std::size_t in_flight() const { return moves_.in_flight(); }

    // Why the last failed copy failed; meaningless while counters show none.
    const Error& last_failure() const { return moves_.last_failure(); }

    ForecastScore forecast_score() const {
        return state_.options.forecast ? state_.options.forecast->score() : ForecastScore{};
    }

    // Checks all invariants (TM_CHECK): for tests. O(buffers).
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
