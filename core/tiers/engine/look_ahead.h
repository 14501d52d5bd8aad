// LookAhead: uses the time before buffers are needed. Where a forecast covers the future, buffers
// are brought back before their uses, and buffers that are not needed until after a peak are sent
// away ahead of it, so that both directions of the link work while kernels run.
//
// Where it doesn't, a part of the memory is kept free, and when much more than that is free, the
// buffers that left last are brought back: what a program computes in the forward pass it mostly
// needs again in the backward pass. This continues only while it proves right: what was fetched on
// demand must have been among the last to leave, too.
//
// It starts moves like any other part and keeps only SpillAhead, a record for each space, so a
// wrong guess costs time and never bytes.
#pragma once

#include <cstdint>
#include <vector>

#include "core/tiers/engine/copy_table.h"
#include "core/tiers/engine/moves.h"
#include "core/tiers/engine/room_maker.h"
#include "core/tiers/engine/spill_state.h"

namespace tidemark {

class LookAhead {
  public:
    LookAhead(SpillState& state, CopyTable& copies, Moves& moves, RoomMaker& room)
        : state_(state), copies_(copies), moves_(moves), room_(room) {}

    // There is a forecast, and nothing else is left to decide. `advanced`: the program did
    // something since the last look. Does nothing for a space of any tier but the GPU's.
    void look(std::size_t space, bool advanced);

  private:
    void send_away(std::size_t space);
    bool must_leave(std::size_t space, std::uint32_t id) const;
    bool short_of_room(std::size_t space) const;
    bool overflows(std::size_t space, std::uint64_t position) const;
    void bring_back(std::size_t space);
    bool bring_in(std::size_t space, std::uint32_t id, std::uint64_t position, Bytes kept);
    void refill(std::size_t space);
    void learn_order(std::size_t space);
    bool away(std::uint32_t id, std::size_t space) const;
    bool came_back(std::uint32_t id, std::size_t space) const;

    SpillState& state_;
    CopyTable& copies_;
    Moves& moves_;
    RoomMaker& room_;
    std::vector<std::uint32_t> skipped_;
};

}  // namespace tidemark
