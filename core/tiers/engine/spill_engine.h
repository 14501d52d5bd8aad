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
//     SpillState        the tables of buffers and spaces, the work, what has changed
//     LeavingLedger     what is on its way out of each space, and on whose behalf
//     CopyTable         valid copies, their charges, and which may leave
//     MoveTable         moves in line for room or in flight
//     RoomMaker         victims: for moves, requests, reservations, in the background
//     AccessQueue       who gets access; groups that are granted together
//     GateKeeper        pins of buffers that have gates
//     ReservationQueue  reservations that wait, in fair order
//     LookAhead         what a forecast says is brought back and sent away before its time
//     MoveDriver        moves from their line to their end
//     WaitKeeper        who waits in vain, and who waits no more
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
#include "core/tiers/engine/gate_keeper.h"
#include "core/tiers/engine/leaving_ledger.h"
#include "core/tiers/engine/look_ahead.h"
#include "core/tiers/engine/move_driver.h"
#include "core/tiers/engine/move_table.h"
#include "core/tiers/engine/reservation_queue.h"
#include "core/tiers/engine/room_maker.h"
#include "core/tiers/engine/spill_state.h"
#include "core/tiers/engine/spill_work.h"
#include "core/tiers/engine/wait_keeper.h"

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

    RequestId free_bytes(SpaceId space, Bytes size) { return room_.free_bytes(space, size); }

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

    // Ends a buffer. Errors: not_found; bad_input while somebody has an access. Requests that wait
    // for it are refused.
    Result<void> destroy(BufferRef buffer);

    // What the program says of a buffer. False: it is gone.
    bool set_may_spill(BufferRef buffer, bool may_spill);

    // Has the buffer leave `space` if it may and can, for the nearest space, or for the nearest of
    // a tier. False: it stays.
    bool evict(BufferRef buffer, SpaceId space, std::optional<Tier> tier = {});

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
    bool restless() const { return state_.restless(); }

    // The work that has come up since the last call, in exchange for `done`, which is emptied; and
    // of it the answers alone, which any thread may deliver.
    void take_work(SpillWork& done);
    std::vector<SpillAnswer> take_answers();

    // What became of it: of a location (no_space, which is ordinary, is tried again); of a copy; of
    // what was to be freed, and by how much `used` of its space fell.
    void placed(BufferRef buffer, Result<BlockLocation> location) {
        driver_.placed(buffer, std::move(location));
    }

    void copied(BufferRef buffer, CopyDone done) { driver_.copied(buffer, std::move(done)); }

    void left(std::uint64_t deferred, Bytes freed);

    // The parts that whoever carries out work reports to directly: copies that begin, locations
    // that shrink, queued work that has passed.
    MoveTable& moves() { return moves_; }

    LeavingLedger& leaving() { return leaving_; }

    GateKeeper& gates() { return gates_; }

    WaitKeeper& waits() { return waits_; }

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
    const Error& last_failure() const { return driver_.last_failure(); }

    ForecastScore forecast_score() const {
        return state_.options.forecast ? state_.options.forecast->score() : ForecastScore{};
    }

    // Whether everything that must hold holds (TM_CHECK): for tests. O(buffers).
    void check() const;

  private:
    bool anybody_waits() const;

    SpillState state_;
    LeavingLedger leaving_;
    CopyTable copies_;
    MoveTable moves_;
    RoomMaker room_;
    AccessQueue accesses_;
    ReservationQueue reservations_;
    GateKeeper gates_;
    LookAhead ahead_;
    MoveDriver driver_;
    WaitKeeper waits_;
};

}  // namespace tidemark
