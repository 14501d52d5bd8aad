// MoveTable: the moves of buffers, from their beginning to their end.
//
// A buffer has one move in flight at most: spill, fetch or its creation. A move waits in
// the target space's line for room, gets its location, and is copied. While it moves the buffer is
// no victim; the move holds it as a reader, so that readers are served where it is (as its writer,
// if it is to be overwritten). A location that is being filled is no copy until the fill has ended
// well, so a failure anywhere leaves the bytes where they were.
//
// Invariant, of each space: lined = the sizes of moves in its line; in_queued and out_queued = the
// buffers whose bytes are to be copied to and from it. What a move evicts is in the LeavingLedger.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/tiers/engine/copy_table.h"
#include "core/tiers/engine/leaving_ledger.h"
#include "core/tiers/engine/spill_state.h"

namespace tidemark {

class MoveTable {
  public:
    MoveTable(SpillState& state, LeavingLedger& leaving, CopyTable& copies)
        : state_(state), leaving_(leaving), copies_(copies) {}

    // Puts the move in its target's line. The buffer has none.
    void begin(std::uint32_t id, BufferMove move);

    // Into the target's line once more.
    void line_up(std::uint32_t id, bool first);

    // The move is over: the buffer is let go, and nothing is left of it but what it returns.
    BufferMove end(std::uint32_t id);

    // Nobody wants the move's result. True: it is over; else it ends later.
    bool cancel(std::uint32_t id);

    // What was to leave its source doesn't any more.
    void stay(BufferMove& move);

    // The location that was to be filled, and its bytes, go back.
    void give_up_target(std::uint32_t id);

    // Goes to the line of the next space that would do. False: there is none.
    bool try_next_target(std::uint32_t id);

    // The valid copy with the fastest way to `target`; kNoSpace: there is none.
    std::size_t best_source(const SpillBuffer& buffer, std::size_t target) const;

    // Its copy has begun.
    void started(BufferRef buffer, CopyId copy);

    // `freed` bytes have come free in the space: moves that the memory itself had refused are owed
    // less.
    void pay_owed(std::size_t space, Bytes freed);

    // Buffers with a move.
    const std::vector<std::uint32_t>& moving() const { return moving_; }

    // Moves that are out of their line. O(moves).
    std::size_t in_flight() const;

  private:
    SpillState& state_;
    LeavingLedger& leaving_;
    CopyTable& copies_;
    std::vector<std::uint32_t> moving_;
    std::uint64_t serials_ = 0;
};

}  // namespace tidemark
