// WaitKeeper: requests that wait, seen together: who is refused because nobody can let go of what
// it waits for, and who is withdrawn.
//
// Thread-safety: none, as of the engine.
#pragma once

#include "core/tiers/engine/access_queue.h"
#include "core/tiers/engine/copy_table.h"
#include "core/tiers/engine/leaving_ledger.h"
#include "core/tiers/engine/move_driver.h"
#include "core/tiers/engine/move_table.h"
#include "core/tiers/engine/reservation_queue.h"
#include "core/tiers/engine/room_maker.h"

namespace tidemark {

class WaitKeeper {
  public:
    // The parts of one engine.
    struct Parts {
        SpillState& state;
        LeavingLedger& leaving;
        CopyTable& copies;
        MoveTable& moves;
        RoomMaker& room;
        AccessQueue& accesses;
        ReservationQueue& reservations;
        MoveDriver& driver;
    };

    explicit WaitKeeper(const Parts& parts) : parts_(parts) {}

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

  private:
    bool anybody_holds() const;
    bool withdraw_creation(RequestId request, Error why);

    Parts parts_;
};

}  // namespace tidemark
