// Reservations that wait.
#include "core/tiers/engine/reservation_queue.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/base/text.h"

namespace tidemark {

RequestId ReservationQueue::reserve(const ReservationSpec& spec) {
    const RequestId request = state_.next_request();
    Waiting waiting{request, spec, {}};
    SpaceMask mask = 0;
    Bytes most = 0;
    for (const SpaceId id : spec.spaces) {
        const std::size_t space = state_.position(id);
        if (space == kNoSpace)
            continue;
        waiting.spaces.push_back(space);
        mask |= space_bit(space);
        const Bytes limit = state_.spaces[space].memory->thresholds().limit;
        const SpaceCounters now = state_.spaces[space].memory->counters();
        most = std::max(most, spec.up_to ? limit - std::min(limit, now.reserved) : limit);
    }
    if (state_.closing || mask == 0) {
        state_.refuse(request,
                      state_.closing
                          ? closed_error()
                          : Error{ErrorCode::unsupported, "no such space to reserve memory of",
                                  spec.spaces.empty() ? "" : to_text(spec.spaces.front()), ""});
        return request;
    }
    if (spec.up_to) {
        const Bytes unit = state_.spaces[waiting.spaces.front()].memory->spec().granularity;
        waiting.spec.size = std::min(spec.size, most & ~(unit - 1));
    } else if (state_.spaces[waiting.spaces.front()].memory->rounded(spec.size) > most) {
        state_.refuse(request,
                      {ErrorCode::no_space,
                       "a reservation of " + format_bytes(spec.size) + " is beyond the limit",
                       to_text(spec.spaces.front()), format_bytes(most) + " at most"});
        return request;
    }
    state_.retry_failed();
    order_.push(request, spec.priority, mask);
    waiting_.push_back(std::move(waiting));
    state_.agenda.post(Happening::changed);
    return request;
}

void ReservationQueue::serve() {
    for (SpillSpace& space : state_.spaces)
        space.reserving = false;
    if (waiting_.empty())
        return;
    std::vector<RequestId> served;
    order_.try_each([&](RequestId request, SpaceMask open) {
        const SpaceMask taken = attempt(waiting_[index_of(request)], open);
        if (taken != 0)
            served.push_back(request);
        return taken;
    });
    for (const RequestId request : served)
        waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(index_of(request)));
    if (!served.empty())
        state_.agenda.post(Happening::changed);
    std::vector<RequestId> order;
    order_.for_each([&](RequestId request, const WaitStanding&) { order.push_back(request); });
    bool making = false;
    for (const RequestId request : order) {
        const std::size_t waiting = index_of(request);
        making = (!state_.closing && make_room_for(waiting_[waiting])) || making;
        if (making || waiting_[waiting].spec.patient)
            continue;
        refuse(waiting,
               {ErrorCode::no_space,
                "no room for a reservation of " + format_bytes(waiting_[waiting].spec.size),
                to_text(waiting_[waiting].spec.spaces.front()),
                room_.holders(waiting_[waiting].spaces.front())});
    }
}

// The space that it was taken from; none: it doesn't fit.
SpaceMask ReservationQueue::attempt(const Waiting& waiting, SpaceMask open) {
    for (const std::size_t space : waiting.spaces) {
        if ((open & space_bit(space)) == 0)
            continue;
        auto made = state_.spaces[space].memory->try_reserve(waiting.spec.size, waiting.spec.owner);
        if (!made)
            continue;
        state_.work.answers.push_back(
            {.request = waiting.request, .reservation = std::move(*made)});
        return space_bit(space);
    }
    return 0;
}

// Only other reservations are a lasting obstacle: whatever else is there can leave.
bool ReservationQueue::make_room_for(const Waiting& waiting) {
    for (const std::size_t space : waiting.spaces) {
        SpillSpace& here = state_.spaces[space];
        const SpaceCounters now = here.memory->counters();
        const Bytes size = here.memory->rounded(waiting.spec.size);
        const Bytes limit = here.memory->thresholds().limit;
        if (size > limit - std::min(limit, now.reserved))
            continue;
        const Bytes need = now.used + size - std::min(now.used + size, limit);
        here.reserving = room_.make_room(space, need, {});
        if (here.reserving)
            return true;
    }
    return false;
}

void ReservationQueue::refuse(std::size_t waiting, Error error) {
    state_.refuse(waiting_[waiting].request, std::move(error));
    order_.erase(waiting_[waiting].request);
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(waiting));
    state_.agenda.post(Happening::released);
    state_.agenda.post(Happening::changed);
}

std::size_t ReservationQueue::index_of(RequestId request) const {
    return static_cast<std::size_t>(
        std::find_if(waiting_.begin(), waiting_.end(),
                     [&](const Waiting& one) { return one.request == request; }) -
        waiting_.begin());
}

bool ReservationQueue::give_up_one() {
    if (waiting_.empty())
        return false;
    std::optional<RequestId> first;
    order_.for_each([&](RequestId request, const WaitStanding&) {
        if (!first)
            first = request;
    });
    const std::size_t index = index_of(*first);
    refuse(index, {ErrorCode::no_space, "nobody will free the memory that it waits for",
                   to_text(waiting_[index].spec.spaces.front()),
                   room_.holders(waiting_[index].spaces.front())});
    return true;
}

bool ReservationQueue::withdraw(RequestId request, Error why) {
    const std::size_t index = index_of(request);
    if (index == waiting_.size())
        return false;
    refuse(index, std::move(why));
    return true;
}

std::size_t ReservationQueue::space_of(RequestId request) const {
    const std::size_t index = index_of(request);
    return index == waiting_.size() ? kNoSpace : waiting_[index].spaces.front();
}

void ReservationQueue::refuse_all() {
    while (!waiting_.empty())
        refuse(0, closed_error());
}

}  // namespace tidemark
