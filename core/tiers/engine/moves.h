// Moves: the state machine of buffers. A buffer has at most one move, which takes it from
// `resident` through the target's queue, the making of a location there and the copy, back to
// `resident`. The table in moves.cpp says what may happen in which state, and what is done then.
// Everything that happens to a buffer is a row of it, and anything else is a defect.
//
// While it moves, the buffer is not a victim. The move holds it as a reader, so that readers are
// served where it is; a move for a writer who needs no bytes holds it as its writer. A location
// that is being filled becomes a copy only when the fill has succeeded, so a failure anywhere
// leaves the bytes where they were. However a move ends, its charge belongs to a copy or to the
// LeavingLedger, and its end is posted (MoveEnd).
//
// Invariant, for each space: lined = the sizes of moves in its queue, or parked; in_queued and
// out_queued = the buffers whose bytes are to be copied to and from it. What a move evicts is in
// the LeavingLedger.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/tiers/engine/copy_table.h"
#include "core/tiers/engine/leaving_ledger.h"
#include "core/tiers/engine/spill_state.h"

namespace tidemark {

class Moves {
  public:
    enum class Event : std::uint8_t {
        begun,       // it is to move
        charged,     // there is room at the target
        must_wait,   // there is no room, and it can wait
        woken,       // memory has become free
        redirected,  // there is no room, but another space would do
        refused,     // there is no room
        placed,      // its location is made
        put_off,     // the memory itself had no room for the location
        filled,      // the location holds its bytes
        failed,      // the location or the copy did
        cancelled,   // the move's result is no longer needed
        destroyed,   // the program ends the buffer
        ended,       // what was in flight no longer is
    };

    // A set of states: bit i is the state i.
    using States = std::uint8_t;

    template <class... State>
    static constexpr States of(State... states) {
        return static_cast<States>(((1U << static_cast<unsigned>(states)) | ...));
    }

    struct Transition {
        States from;
        Event event;
        BufferState to;
        void (Moves::*action)(std::uint32_t buffer, Error* why);
        std::string_view text;  // of the action
    };

    // All of them; docs/impl-spill-engine.md shows them.
    static std::span<const Transition> transitions();

    Moves(SpillState& state, LeavingLedger& leaving, CopyTable& copies)
        : state_(state), leaving_(leaving), copies_(copies) {}

    // Puts the move in its target's queue.
    void begin(std::uint32_t id, BufferMove move);

    // The move's result is no longer needed. True: the move has ended; otherwise it ends later.
    bool cancel(std::uint32_t id);

    // Destroys the buffer and cancels its move. The buffer is gone if nothing of it is in flight
    // and nobody waits for it.
    void destroy(std::uint32_t id);
    void end(std::uint32_t id);

    // What was to leave its source stays there; the copy is still made.
    void keep_source(BufferMove& move);

    // The result for a move at the head of its queue. Its bytes are charged to its target. Or there
    // is no room: it waits outside the queue until woken, or goes to the next space that would do
    // (false: there is none), or fails.
    void charged(std::uint32_t id, const Charge& charge);

    void park(std::uint32_t id) { happen(id, Event::must_wait); }

    void wake(std::uint32_t id) { happen(id, Event::woken); }

    bool try_redirect(std::uint32_t id);
    void refuse(std::uint32_t id, Error error);

    // The result of work: of a location, where no_space is ordinary and retried; of a copy.
    void placed(BufferRef buffer, Result<BlockLocation> location);
    void started(BufferRef buffer, CopyId copy);
    void copied(BufferRef buffer, CopyDone done);

    // `freed` bytes have become free in the space: moves that the memory itself had refused need
    // less.
    void pay_owed(std::size_t space, Bytes freed);

    // The valid copy with the fastest way to `target`; kNoSpace: there is none.
    std::size_t best_source(const SpillBuffer& buffer, std::size_t target) const;

    // Buffers with a move, and how many of them are out of their queue: O(moves).
    const std::vector<std::uint32_t>& moving() const { return moving_; }

    std::size_t in_flight() const;

    // Why the last failed copy failed; meaningless while counters show none.
    const Error& last_failure() const { return last_failure_; }

  private:
    void happen(std::uint32_t id, Event event, Error* why = nullptr);

    // Actions.
    void line_up(std::uint32_t id, Error* why);
    void line_up_again(std::uint32_t id, Error* why);
    void line_up_elsewhere(std::uint32_t id, Error* why);
    void step_aside(std::uint32_t id, Error* why);
    void return_first(std::uint32_t id, Error* why);
    void make_location(std::uint32_t id, Error* why);
    void start_copy(std::uint32_t id, Error* why);
    void become_copy(std::uint32_t id, Error* why);
    void give_up(std::uint32_t id, Error* why);
    void fail(std::uint32_t id, Error* why);
    void withdraw(std::uint32_t id, Error* why);
    void stop(std::uint32_t id, Error* why);
    void abandon(std::uint32_t id, Error* why);
    void retire(std::uint32_t id, Error* why);

    void nothing(std::uint32_t, Error*) {}

    BufferMove take(std::uint32_t id);
    void leave_line(std::uint32_t id);
    void free_target(std::uint32_t id);
    void filled_by_spill(std::uint32_t id, const BufferMove& move);
    void filled_by_fetch(std::uint32_t id, const BufferMove& move);
    void come_to_nothing(std::uint32_t id, MoveEnd::Outcome outcome, Error* why);

    SpillState& state_;
    LeavingLedger& leaving_;
    CopyTable& copies_;
    std::vector<std::uint32_t> moving_;
    std::uint64_t serials_ = 0;
    Error last_failure_;
};

std::string_view to_text(BufferState state);
std::string_view to_text(Moves::Event event);

}  // namespace tidemark
