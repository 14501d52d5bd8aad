// LookAhead: uses the time before things are needed. Where a forecast says what comes, buffers are
// brought back before their uses, and what will not be needed until after a peak is sent away ahead
// of it, so that both directions of the link work while kernels run.
//
// Where it says nothing, a part of the memory is kept free, and when much more is free than that,
// what left last is brought back: what a program computes forward it mostly needs again backward.
// Only while that proves right: what was fetched on demand must have been among the last to leave,
// too.
//
// It begins moves as anybody does and keeps nothing but SpillAhead, a record of each space, so that
// whatever it guesses wrong costs time and never bytes.
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

    // There is a forecast, and nothing else is to be decided. `advanced`: the program did something
    // since the last look. Nothing is done for a space of another tier than the GPU's.
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
