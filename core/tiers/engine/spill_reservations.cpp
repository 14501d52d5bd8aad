// Reservations that wait: granted in fair order, out of room that is made for the first of them.
#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/base/text.h"
#include "core/tiers/engine/spill_engine.h"

namespace tidemark {

RequestId SpillEngine::reserve(const ReservationWish& wish) {
    const RequestId request{++requests_};
    WaitingReservation waiting{request, wish, {}};
    SpaceMask mask = 0;
    Bytes most = 0;
    for (const SpaceId id : wish.spaces) {
        const std::size_t space = position(id);
        if (space == kNoSpace)
            continue;
        waiting.spaces.push_back(space);
        mask |= space_bit(space);
        const Bytes limit = spaces_[space].memory->thresholds().limit;
        const SpaceCounters now = spaces_[space].memory->counters();
        most = std::max(most, wish.up_to ? limit - std::min(limit, now.reserved) : limit);
    }
    if (closing_ || mask == 0) {
        refuse(request, {closing_ ? StoreFault::shut_down : StoreFault::unsupported,
                         {ErrorCode::bad_option, "no such space to reserve memory of",
                          wish.spaces.empty() ? "" : to_text(wish.spaces.front()), ""}});
        return request;
    }
    if (wish.up_to) {
        const Bytes unit = spaces_[waiting.spaces.front()].memory->spec().granularity;
        waiting.wish.size = std::min(wish.size, most & ~(unit - 1));
    } else if (spaces_[waiting.spaces.front()].memory->rounded(wish.size) > most) {
        refuse(request, {StoreFault::no_room,
                         {ErrorCode::no_space,
                          "a reservation of " + format_bytes(wish.size) + " is beyond the limit",
                          to_text(wish.spaces.front()), format_bytes(most) + " at most"}});
        return request;
    }
    unbar();
    reserving_.push(request, wish.priority, mask);
    reservations_.push_back(std::move(waiting));
    changed_ = true;
    return request;
}

void SpillEngine::refuse_reservation(std::size_t waiting, StoreError error) {
    refuse(reservations_[waiting].request, std::move(error));
    reserving_.erase(reservations_[waiting].request);
    reservations_.erase(reservations_.begin() + static_cast<std::ptrdiff_t>(waiting));
    let_go_ = changed_ = true;
}

// The space that it was taken from; none: it doesn't fit.
SpaceMask SpillEngine::try_reservation(std::size_t index, SpaceMask open) {
    const WaitingReservation& waiting = reservations_[index];
    for (const std::size_t space : waiting.spaces) {
        if ((open & space_bit(space)) == 0)
            continue;
        auto made = spaces_[space].memory->try_reserve(waiting.wish.size, waiting.wish.owner);
        if (!made)
            continue;
        SpillAnswer answer;
        answer.request = waiting.request;
        answer.reservation = std::move(*made);
        work_.answers.push_back(std::move(answer));
        return space_bit(space);
    }
    return 0;
}

// Only what others have reserved stands in the way for good: whatever is merely there can leave.
bool SpillEngine::make_room_for(const WaitingReservation& waiting) {
    for (const std::size_t space : waiting.spaces) {
        SpillSpace& here = spaces_[space];
        const SpaceCounters now = here.memory->counters();
        const Bytes size = here.memory->rounded(waiting.wish.size);
        const Bytes limit = here.memory->thresholds().limit;
        if (size > limit - std::min(limit, now.reserved))
            continue;
        const Bytes need = now.used + size - std::min(now.used + size, limit);
        here.reserving = make_room(space, need, {});
        if (here.reserving)
            return true;
    }
    return false;
}

void SpillEngine::serve_reservations() {
    for (SpillSpace& space : spaces_)
        space.reserving = false;
    if (reservations_.empty())
        return;
    const auto index = [&](RequestId request) {
        return static_cast<std::size_t>(
            std::find_if(reservations_.begin(), reservations_.end(),
                         [&](const auto& one) { return one.request == request; }) -
            reservations_.begin());
    };
    std::vector<RequestId> served;
    reserving_.try_each([&](RequestId request, SpaceMask open) {
        const SpaceMask taken = try_reservation(index(request), open);
        if (taken != 0)
            served.push_back(request);
        return taken;
    });
    for (const RequestId request : served)
        reservations_.erase(reservations_.begin() + static_cast<std::ptrdiff_t>(index(request)));
    changed_ = changed_ || !served.empty();
    std::vector<RequestId> order;
    reserving_.for_each([&](RequestId request, const WaitStanding&) { order.push_back(request); });
    bool making = false;
    for (const RequestId request : order) {
        const std::size_t waiting = index(request);
        making = (!closing_ && make_room_for(reservations_[waiting])) || making;
        if (making || reservations_[waiting].wish.patient)
            continue;
        refuse_reservation(waiting, {StoreFault::no_room,
                                     {ErrorCode::no_space,
                                      "no room for a reservation of " +
                                          format_bytes(reservations_[waiting].wish.size),
                                      to_text(reservations_[waiting].wish.spaces.front()), ""}});
    }
}

}  // namespace tidemark
