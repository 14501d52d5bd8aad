// GateKeeper: buffers that have gates (gate.h), for whoever gives out pins: accesses that were
// granted become pins, the last pin of a sealed gate lets go, and notes become points.
//
// Thread-safety: none, as of the engine. O(1) but for `stream_ended`: O(buffers).
#pragma once

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "core/tiers/engine/access_queue.h"
#include "core/tiers/engine/copy_table.h"
#include "core/tiers/engine/room_maker.h"

namespace tidemark {

class GateKeeper {
  public:
    GateKeeper(SpillState& state, CopyTable& copies, RoomMaker& room, AccessQueue& accesses)
        : state_(state), copies_(copies), room_(room), accesses_(accesses) {}

    // How work that was only noted gets points; before the first buffer that has a gate.
    void set_recorder(
        std::function<std::optional<UsePoint>(SpaceId, StreamId, bool wrote)> recorder) {
        state_.record = std::move(recorder);
    }

    // An access that was granted, `share` if `write`, else `pin`, to a buffer that has a gate, in
    // its own space, becomes a pin.
    void admit(BufferRef buffer, bool write);

    // What Gate::unpin says.
    void unsealed(BufferRef buffer, bool writers);

    // The work on it, also what was only noted.
    std::vector<UsePoint> points(BufferRef buffer);

    bool moving(BufferRef buffer) const;

    // No more work comes on the stream, whose name may be used again.
    void stream_ended(StreamId stream);

    // Has one buffer leave `space`, as free_bytes has any.
    RequestId defer(BufferRef buffer, SpaceId space);

  private:
    void let_go(std::uint32_t id);

    SpillState& state_;
    CopyTable& copies_;
    RoomMaker& room_;
    AccessQueue& accesses_;
};

}  // namespace tidemark
