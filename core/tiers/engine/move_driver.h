// MoveDriver: takes moves from the line of their target to their end, well or not.
//
// Each space has a line of moves that want room, first come first served; its head makes room. A
// head that can't be served even then goes to the next space that would do, is refused, or, if it
// is patient, parked: tried again whenever something was let go.
//
// Promise: whatever becomes of a move, its buffer has all its bytes, its charge is a copy's or the
// LeavingLedger's, and whoever waits for it is served or answered.
#pragma once

#include <cstdint>

#include "core/tiers/engine/access_queue.h"
#include "core/tiers/engine/copy_table.h"
#include "core/tiers/engine/leaving_ledger.h"
#include "core/tiers/engine/move_table.h"
#include "core/tiers/engine/room_maker.h"
#include "core/tiers/engine/spill_state.h"

namespace tidemark {

class MoveDriver {
  public:
    MoveDriver(SpillState& state, LeavingLedger& leaving, CopyTable& copies, MoveTable& moves,
               RoomMaker& room, AccessQueue& accesses)
        : state_(state),
          leaving_(leaving),
          copies_(copies),
          moves_(moves),
          room_(room),
          accesses_(accesses) {}

    // Charges and places the heads of the space's line, as far as there is room.
    void serve_line(std::size_t space);

    // Parked moves line up again.
    void line_up_parked();

    // The first parked one is refused. False: there is none.
    bool give_up_one();

    // What became of work: no_space, which is ordinary, is tried again; and the copy.
    void placed(BufferRef buffer, Result<BlockLocation> location);
    void copied(BufferRef buffer, CopyDone done);

    const Error& last_failure() const { return last_failure_; }

  private:
    enum class Failure : std::uint8_t { no_room, failed };

    bool serve_head(std::size_t space);
    void start_copy(BufferRef buffer, BufferMove& move);
    void fill(std::uint32_t id);
    void filled_by_spill(std::uint32_t id, const BufferMove& move);
    void filled_by_fetch(std::uint32_t id, const BufferMove& move);
    void abandon(std::uint32_t id);
    void fail(std::uint32_t id, Failure failure, Error error);
    void no_room_for(std::uint32_t id, std::size_t space);
    void after(std::uint32_t id);

    SpillState& state_;
    LeavingLedger& leaving_;
    CopyTable& copies_;
    MoveTable& moves_;
    RoomMaker& room_;
    AccessQueue& accesses_;
    Error last_failure_;
};

}  // namespace tidemark
