// ReservationQueue: reservations that wait, granted in fair order (fair_order.h).
//
// Room is made, from unreserved memory, for the first of them for which that is possible. Meanwhile
// moves without a reservation wait at that space (SpillSpace::reserving).
//
// Invariant: `order_` holds the requests of `waiting_`, each once.
#pragma once

#include <vector>

#include "core/tiers/engine/fair_order.h"
#include "core/tiers/engine/room_maker.h"
#include "core/tiers/engine/spill_state.h"

namespace tidemark {

class ReservationQueue {
  public:
    ReservationQueue(SpillState& state, RoomMaker& room) : state_(state), room_(room) {}

    RequestId reserve(const ReservationSpec& spec);

    // For each one that waits: grants it, refuses it, or has room made.
    void serve();

    // Refuses the first. False: nobody waits.
    bool give_up_one();

    // Refuses it. False: it doesn't wait.
    bool withdraw(RequestId request, Error why);

    // The first space that the request waits for; kNoSpace: it doesn't wait.
    std::size_t space_of(RequestId request) const;

    // Refuses all.
    void refuse_all();

    bool empty() const { return waiting_.empty(); }

  private:
    struct Waiting {
        RequestId request{};
        ReservationSpec spec;
        std::vector<std::size_t> spaces;
    };

    std::size_t index_of(RequestId request) const;
    SpaceMask attempt(const Waiting& waiting, SpaceMask open);
    bool make_room_for(const Waiting& waiting);
    void refuse(std::size_t waiting, Error error);

    SpillState& state_;
    RoomMaker& room_;
    FairOrder<RequestId> order_;
    std::vector<Waiting> waiting_;
};

}  // namespace tidemark
