// The row of traits by which owners of memory are grouped, the same in all views that do.
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

// Draws it into the top of the frame's area from `left` on, after `label`, and writes the
// selection. Until a user chooses a trait that this history has, it is `usual`, or the first one
// that it has.
OwnerChooser choose_owners(Frame& frame, const History& history, std::string_view label, float left,
                           std::optional<BlockTrait> usual = {});

}  // namespace tidemark::viz
