// RoomMaker: each space's queue of moves that need room there, and the victims that leave for them,
// for reservations, and in the background.
//
// A queue is served first come, first served. Its head is charged as soon as it fits. Before that,
// victims leave: spares first, then what the space's policy names, until what is leaving suffices.
// A victim is dropped if its bytes are elsewhere or don't matter; otherwise it is copied to the
// next slower space, where its copy may wait in the queue in turn. A victim whose copy fails stays,
// readable; it is not tried again before the next request for room. A head that can't be served
// even then goes to the next space that would do, or is parked or refused (WhenFull).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/tiers/engine/copy_table.h"
#include "core/tiers/engine/moves.h"
#include "core/tiers/engine/spill_state.h"

namespace tidemark {

class RoomMaker {
  public:
    RoomMaker(SpillState& state, Holds& holds, CopyTable& copies, Moves& moves)
        : state_(state), holds_(holds), copies_(copies), moves_(moves) {}

    // Handles the head of the space's queue, which is not empty: it is charged, parked, redirected,
    // refused or gone. False: it continues to wait.
    bool serve_head(std::size_t space);

    // Parked moves are the first in the queue again.
    void wake_parked();

    bool anybody_parked() const;

    // The first parked one is refused. False: there is none.
    bool give_up_one();

    // Evicts victims until `need` bytes are leaving that nobody has claimed. False: nothing is
    // leaving.
    bool make_room(std::size_t space, Bytes need, ReservationId beneficiary);

    // Evicts the buffer from `space`, to the nearest slower space, or to one of `tier`.
    void leave(std::uint32_t id, std::size_t space, const OnBehalf& whom = {},
               std::optional<Tier> tier = {});

    // Between the thresholds of a space.
    void spill_in_background(std::size_t space);

    // What could be allocated in `space` when everything that leaves has left and everything in the
    // queue has come.
    Bytes spare(std::size_t space) const;

    // What holds the memory of a space, and of those that its buffers would go to: "host:0: 8.00
    // MiB of 8.00 MiB used, 6.00 MiB by buffers with 2 open accesses; disk:0: ...". O(buffers).
    std::string holders(std::size_t space) const;

    // Why buffers in `space` stay there, by reason.
    void explain(FreeReport& report, std::size_t space) const;

  private:
    bool still_lines_up(const LineEntry& entry) const;
    void refuse(std::uint32_t id);
    void claim_victims(std::size_t space, Bytes need, ReservationId beneficiary);
    std::string holders_in(std::size_t space) const;

    SpillState& state_;
    Holds& holds_;
    CopyTable& copies_;
    Moves& moves_;
};

}  // namespace tidemark
