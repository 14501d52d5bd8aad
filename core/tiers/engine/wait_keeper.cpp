// See wait_keeper.h.
#include "core/tiers/engine/wait_keeper.h"

#include <algorithm>
#include <utility>

namespace tidemark {

bool WaitKeeper::give_up_one() {
    return parts_.accesses.give_up_one() || parts_.reservations.give_up_one() ||
           parts_.driver.give_up_one();
}

bool WaitKeeper::give_up_hopeless() {
    const SpillState& state = parts_.state;
    const auto has_parked = [](const SpillSpace& space) { return !space.parked.empty(); };
    const bool waits = parts_.accesses.anybody_parked() || !parts_.reservations.empty() ||
                       std::ranges::any_of(state.spaces, has_parked);
    const bool settling = parts_.moves.in_flight() != 0 || parts_.leaving.size() != 0;
    return waits && !settling && !state.closing && !state.restless() && !anybody_holds() &&
           give_up_one();
}

bool WaitKeeper::anybody_holds() const {
    for (const SpillSpace& space : parts_.state.spaces) {
        const SpaceCounters now = space.memory->counters();
        if (now.reservations != 0 || now.allocated > space.charged)
            return true;
    }
    return std::ranges::any_of(parts_.state.buffers, [](const SpillBuffer& buffer) {
        return buffer.living && std::ranges::any_of(buffer.copies, [&](const BufferCopy& copy) {
                   return copy.users != 0 || buffer.pinned_in(copy.space);
               });
    });
}

bool WaitKeeper::withdraw(RequestId request, Error why) {
    std::size_t space = parts_.accesses.space_of(request);
    if (space == kNoSpace)
        space = parts_.reservations.space_of(request);
    if (space != kNoSpace && why.hint.empty())
        why.hint = parts_.room.holders(space);
    return parts_.accesses.withdraw_request(request, why) ||
           parts_.reservations.withdraw(request, why) || parts_.room.withdraw_free(request) ||
           withdraw_creation(request, std::move(why));
}

bool WaitKeeper::withdraw_creation(RequestId request, Error why) {
    std::vector<SpillBuffer>& buffers = parts_.state.buffers;
    const auto found = std::ranges::find_if(buffers, [&](const SpillBuffer& buffer) {
        return buffer.living && buffer.creation == request && request != RequestId::none;
    });
    if (found == buffers.end())
        return false;
    if (why.hint.empty())
        why.hint = parts_.room.holders(found->move->target);
    parts_.state.refuse(std::exchange(found->creation, RequestId::none), std::move(why));
    found->doomed = true;
    const auto id = static_cast<std::uint32_t>(found - buffers.begin());
    if (parts_.moves.cancel(id))
        parts_.copies.end_buffer(id);
    return true;
}

}  // namespace tidemark
