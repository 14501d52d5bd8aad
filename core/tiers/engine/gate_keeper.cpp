// See gate_keeper.h.
#include "core/tiers/engine/gate_keeper.h"

#include "core/base/check.h"

namespace tidemark {

// Whoever waits for the buffer, or for room, looks again.
void GateKeeper::let_go(std::uint32_t id) {
    state_.changed = state_.stirred = state_.let_go = true;
    accesses_.serve(id);
}

void GateKeeper::admit(BufferRef ref, bool write) {
    TM_CHECK(state_.find(ref));
    copies_.admit(to_integer(ref.id), write);
    let_go(to_integer(ref.id));
}

void GateKeeper::unsealed(BufferRef ref, bool writers) {
    TM_CHECK(state_.find(ref));
    copies_.unsealed(to_integer(ref.id), writers);
    let_go(to_integer(ref.id));
}

std::vector<UsePoint> GateKeeper::points(BufferRef ref) {
    SpillBuffer* buffer = state_.find(ref);
    if (!buffer)
        return {};
    if (buffer->gate)
        copies_.settle_notes(to_integer(ref.id), buffer->gate->state().writers);
    return buffer->uses;
}

bool GateKeeper::moving(BufferRef ref) const {
    const SpillBuffer* buffer = state_.find(ref);
    return buffer && buffer->move;
}

void GateKeeper::stream_ended(StreamId stream) {
    for (std::uint32_t id = 0; id < state_.buffers.size(); ++id)
        if (state_.buffers[id].gate)
            copies_.settle_note(id, stream);
}

RequestId GateKeeper::defer(BufferRef ref, SpaceId id) {
    const std::size_t space = state_.position(id);
    const bool known = state_.find(ref) && space != kNoSpace && !state_.closing;
    state_.unbar();
    const bool may = known && copies_.may_leave(space, to_integer(ref.id));
    return room_.defer(id, may ? std::optional(to_integer(ref.id)) : std::nullopt);
}

}  // namespace tidemark
