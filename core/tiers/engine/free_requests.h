// FreeRequests: requests to free bytes of a space, or of one buffer there. What is leaving for
// nobody in particular counts first. Then victims leave until it is enough or nothing more can
// leave. The answer reports how much was freed, and why not more (FreeReport).
//
// The LeavingLedger has the requests, since they claim what leaves.
#pragma once

#include <cstdint>
#include <optional>

#include "core/tiers/engine/copy_table.h"
#include "core/tiers/engine/leaving_ledger.h"
#include "core/tiers/engine/moves.h"
#include "core/tiers/engine/room_maker.h"

namespace tidemark {

class FreeRequests {
  public:
    FreeRequests(SpillState& state, LeavingLedger& leaving, CopyTable& copies, Moves& moves,
                 RoomMaker& room)
        : state_(state), leaving_(leaving), copies_(copies), moves_(moves), room_(room) {}

    // "Free N bytes now".
    RequestId free_bytes(SpaceId space, Bytes size);

    // The same with one buffer alone.
    RequestId free_buffer(BufferRef buffer, SpaceId space);

    // Has more victims leave for the requests of a space, and answers those that are done.
    void serve(std::size_t space);

    void refuse_all();

    // It is answered with what it has so far. False: it has been answered.
    bool withdraw(RequestId request);

  private:
    RequestId refuse(FreeRequest& request, std::optional<Error> why = {});
    void answer(FreeRequest& request, FreeEnd end, std::optional<Error> refusal = {});
    bool serve_one(FreeRequest& request);
    void claim_unclaimed(FreeRequest& request, Bytes need);

    SpillState& state_;
    LeavingLedger& leaving_;
    CopyTable& copies_;
    Moves& moves_;
    RoomMaker& room_;
};

}  // namespace tidemark
