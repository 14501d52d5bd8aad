// RoomMaker: has buffers leave a space: for the move at the head of its line, for requests to free
// bytes, for a reservation, or in the background; and brings back what left when there is room.
//
// Spares go first, then the victims of the space's policy, until what is leaving suffices. A victim
// is dropped if its bytes are elsewhere or don't matter, else copied to the next slower space,
// where its copy may wait for room in turn (the cascade). One whose copy fails stays, readable; it
// is not tried again before somebody asks for room anew.
#pragma once

#include <cstdint>
#include <optional>

#include "core/tiers/engine/copy_table.h"
#include "core/tiers/engine/leaving_ledger.h"
#include "core/tiers/engine/move_table.h"
#include "core/tiers/engine/spill_state.h"

namespace tidemark {

class RoomMaker {
  public:
    RoomMaker(SpillState& state, LeavingLedger& leaving, CopyTable& copies, MoveTable& moves)
        : state_(state), leaving_(leaving), copies_(copies), moves_(moves) {}

    // Has the buffer leave `space`, for the nearest that is slower, or for one of `tier`.
    void leave(std::uint32_t id, std::size_t space, RequestId claim, std::optional<Tier> tier = {});

    // Has victims leave until what is leaving and nobody's yet is `need`. False: nothing is
    // leaving.
    bool make_room(std::size_t space, Bytes need, ReservationId beneficiary);

    // What could be allocated in `space` when all that leaves has left and all that lines up has
    // come.
    Bytes spare(std::size_t space) const;

    // "Free N bytes now".
    RequestId free_bytes(SpaceId space, Bytes size);
    RequestId defer(SpaceId space, std::optional<std::uint32_t> buffer);  // this one alone
    void serve_frees(std::size_t space);
    void refuse_frees();

    // A request to free bytes is answered with what it has got. False: it has been answered.
    bool withdraw_free(RequestId request);

    // What holds the memory of a space, and of those that its buffers would leave for: "host:0:
    // 8.00 MiB of 8.00 MiB used, 6.00 MiB by buffers with 2 open accesses; disk:0: ...".
    // O(buffers).
    std::string holders(std::size_t space) const;

    // Between the thresholds of a space.
    void spill_in_background(std::size_t space);

  private:
    void answer(FreeRequest& request, std::optional<Error> refusal = {});
    bool serve_free(FreeRequest& request);
    void seal_gates(std::size_t space);
    void claim_victims(std::size_t space, Bytes need);
    void claim_unclaimed(FreeRequest& request, Bytes need);
    void explain(FreeReport& report, std::size_t space) const;
    std::string holders_in(std::size_t space) const;

    SpillState& state_;
    LeavingLedger& leaving_;
    CopyTable& copies_;
    MoveTable& moves_;
};

}  // namespace tidemark
