// The row of choices by what owners of memory are told apart, the same in all views that do.
#pragma once

#include <optional>
#include <string_view>

#include "viz/draw/frame.h"
#include "viz/model/blocks/owners.h"

namespace tidemark::viz {

struct OwnerChooser {
    BlockTrait trait = BlockTrait::size;  // the one that is chosen
    float right = 0;                      // where the row ends
};

// Draws it into the top of the frame's area from `left` on, behind `label`, and writes the
// selection. As long as nobody chose what this history tells, it is `usual`, or the first that it
// does.
OwnerChooser choose_owners(Frame& frame, const History& history, std::string_view label, float left,
                           std::optional<BlockTrait> usual = {});

}  // namespace tidemark::viz
