// BlockGroups: the blocks that are live at a moment as a table with a row for each owner: by the
// trait chosen above it. A click on a row filters all views by its owner.
#pragma once

#include <array>
#include <memory>

#include "viz/draw/table.h"
#include "viz/model/blocks/moment_diff.h"
#include "viz/model/session/async_query.h"

namespace tidemark::viz {

class BlockGroups {
  public:
    // Into the frame's area, from `left` on in its first line. No event: nothing has happened yet.
    void draw(Frame& frame, const std::shared_ptr<const History>& history,
              std::optional<EventIndex> event, float left);

    bool busy() const { return groups_.running(); }

  private:
    void draw_rows(Frame& frame, const Box& box);

    AsyncQuery<DiffQuestion, MomentDiff> groups_;
    VirtualTable list_;
};

}  // namespace tidemark::viz
