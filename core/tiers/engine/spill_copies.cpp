// Valid copies: where a buffer's bytes are, what leaving is worth, and who is told of it.
#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/tiers/engine/spill_engine.h"

namespace tidemark {
namespace {

constexpr std::uint64_t kRecent = 2;  // uses

}  // namespace

bool SpaceResidents::may_leave(BufferId id) const {
    return engine_.may_leave(space_, to_integer(id));
}

BufferFacts SpaceResidents::facts(BufferId id) const {
    return engine_.facts(space_, to_integer(id));
}

bool SpillEngine::encoded_in(const SpillBuffer& buffer, std::size_t space) const {
    return buffer.representation && machine_.spaces[space].id.tier >= buffer.stored_from;
}

Bytes releasable(const Charge& charge) {
    if (!charge)
        return 0;
    const std::optional<ReservationFacts> payer = charge.space->find(charge.origin);
    return payer ? std::min(charge.size, payer->excess()) : charge.size;
}

// What its charge would give back for the request that room is being made for.
Bytes SpillEngine::credit(const BufferCopy& copy) const {
    if (!copy.owned)
        return 0;
    const bool own = asking_ != ReservationId{} && copy.charge.origin == asking_;
    return own ? copy.charge.size : releasable(copy.charge);
}

bool SpillEngine::may_leave(std::size_t space, std::uint32_t id) const {
    const SpillBuffer& buffer = buffers_[id];
    if (!buffer.living || buffer.doomed || buffer.move || buffer.barred || !buffer.may_spill ||
        buffer.passed || buffer.hold.writing || !buffer.waiting.empty())
        return false;
    const BufferCopy* copy = buffer.copy_in(space);
    if (!copy || copy->users != 0 || credit(*copy) == 0 ||
        (buffer.copies.size() == 1 && !buffer.blank && spaces_[space].slower.empty()))
        return false;
    if (lenient_)
        return true;
    // A guess may be wrong: what was used a moment ago is likely to be used again, whatever it
    // says.
    const bool recent =
        options_.forecast && options_.guesses && operations_ - buffer.touched < kRecent;
    return !buffer.ahead && copy->stored >= spaces_[space].small && !recent;
}

BufferFacts SpillEngine::facts(std::size_t space, std::uint32_t id) const {
    const SpillBuffer& buffer = buffers_[id];
    const BufferCopy* copy = buffer.copy_in(space);
    TM_CHECK(copy);
    BufferFacts facts{.size = copy->stored,
                      .now = operations_,
                      .next_use = buffer.next_use,
                      .hint = buffer.hint,
                      .dirty = !buffer.blank && buffer.copies.size() == 1,
                      .empty = buffer.blank};
    if (const Forecast* forecast = options_.forecast.get()) {
        facts.now = forecast->now();
        facts.next_use = forecast->next_use(BufferId{id});
        facts.end = forecast->end_of(BufferId{id});
    }
    return facts;
}

void SpillEngine::add_copy(std::uint32_t id, BufferCopy copy) {
    std::vector<BufferCopy>& copies = buffers_[id].copies;
    const auto behind = std::find_if(copies.begin(), copies.end(), [&](const BufferCopy& other) {
        return other.space > copy.space;
    });
    copies.insert(behind, std::move(copy));
    classify(id);
    changed_ = true;
}

// Tells policies and spares what each copy is now: resident in the tier of the home, spare below.
void SpillEngine::classify(std::uint32_t id) {
    SpillBuffer& buffer = buffers_[id];
    for (BufferCopy& copy : buffer.copies) {
        SpillSpace& space = spaces_[copy.space];
        const bool resident = machine_.spaces[copy.space].id.tier ==
                              machine_.spaces[buffer.copies.front().space].id.tier;
        const bool known = copy.resident || copy.stamp != 0;
        if (known && copy.resident == resident) {
            if (resident && space.policy)
                space.policy->revise(BufferId{id});
            continue;
        }
        if (resident) {
            if (known)
                space.spares.erase({copy.stamp, id});
            copy.stamp = 0;
            copy.resident = true;
            buffer.evicted_from &= ~space_bit(copy.space);
            if (space.policy)
                space.policy->insert(BufferId{id});
            continue;
        }
        if (known && space.policy) {
            space.policy->erase(BufferId{id}, Departure::evicted);
            buffer.evicted_from |= space_bit(copy.space);
        }
        copy.resident = false;
        copy.stamp = ++stamps_;
        space.spares.insert({copy.stamp, id});
    }
}

void SpillEngine::drop_copy(std::uint32_t id, std::size_t space, Departure why, RequestId claim,
                            bool makes_room) {
    SpillBuffer& buffer = buffers_[id];
    BufferCopy* copy = buffer.copy_in(space);
    TM_CHECK(copy && copy->users == 0);
    if (!copy->resident) {
        spaces_[space].spares.erase({copy->stamp, id});
    } else if (spaces_[space].policy) {
        spaces_[space].policy->erase(BufferId{id}, why);
        if (why == Departure::evicted)
            buffer.evicted_from |= space_bit(space);
    }
    if (buffer.ahead && machine_.spaces[space].id.tier == Tier::gpu) {
        spaces_[space].counters.wasted += buffer.size;
        buffer.ahead = false;
    }
    PlaceDeparture departure;
    departure.space = space;
    departure.credit = credit(*copy);
    departure.claim = claim;
    departure.buffer = BufferId{id};
    departure.makes_room = makes_room;
    departure.charge = copy->charge;
    if (copy->owned)
        departure.place = copy->place;
    for (const UsePoint& use : buffer.uses)
        if (use.space == machine_.spaces[space].id)
            departure.after.push_back(use);
    std::erase_if(buffer.uses,
                  [&](const UsePoint& use) { return use.space == machine_.spaces[space].id; });
    const bool owned = copy->owned;
    buffer.copies.erase(buffer.copies.begin() + (copy - buffer.copies.data()));
    if (!buffer.copies.empty())
        classify(id);
    if (owned)
        depart(std::move(departure));
    changed_ = true;
}

// A writer has come to the copy in `space`: it is the only one from now on.
void SpillEngine::drop_others(std::uint32_t id, std::size_t space) {
    SpillBuffer& buffer = buffers_[id];
    buffer.copy_in(space)->hollow = false;
    for (std::size_t i = buffer.copies.size(); i-- > 0;)
        if (buffer.copies[i].space != space)
            drop_copy(id, buffer.copies[i].space, Departure::evicted, RequestId::none);
    if (std::exchange(buffer.blank, false))
        revise(id);
}

void SpillEngine::depart(PlaceDeparture departure) {
    if (free_departures_.empty()) {
        free_departures_.push_back(departures_.size());
        departures_.emplace_back();
    }
    departure.id = free_departures_.back();
    free_departures_.pop_back();
    departure.living = true;
    departure.waiting = !departure.after.empty();
    note_leaving(departure.space, departure.claim, departure.credit);
    if (departure.waiting)
        waiting_departures_.push_back(departure.id);
    else
        let_leave(departure);
    departures_[departure.id] = std::move(departure);
}

void SpillEngine::let_leave(const PlaceDeparture& departure) {
    work_.leaving.push_back(
        {departure.id, departure.place, departure.charge, departure.buffer, departure.makes_room});
}

void SpillEngine::note_leaving(std::size_t space, RequestId claim, Bytes credit) {
    spaces_[space].leaving += credit;
    if (claim == RequestId::none)
        spaces_[space].unclaimed += credit;
    for (FreeRequest& request : frees_)
        if (claim != RequestId::none && request.request == claim)
            request.leaving += credit;
}

void SpillEngine::note_left(std::size_t space, RequestId claim, Bytes credit) {
    spaces_[space].leaving -= credit;
    if (claim == RequestId::none)
        spaces_[space].unclaimed -= credit;
    for (FreeRequest& request : frees_)
        if (claim != RequestId::none && request.request == claim)
            request.leaving -= credit;
}

void SpillEngine::touch(std::uint32_t id, const UseWish& use, std::size_t space) {
    SpillBuffer& buffer = buffers_[id];
    buffer.touched = ++operations_;
    buffer.ahead = false;
    if (buffer.home != space && machine_.spaces[space].id.tier == Tier::gpu) {
        spaces_[buffer.home].live -= buffer.size;
        buffer.home = space;
        buffer.reservation = {};
        spaces_[space].live += buffer.size;
    }
    if (buffer.next_use <= operations_)
        buffer.next_use = kUnknownUse;
    if (options_.forecast && use.mode != AccessMode::pin)
        options_.forecast->used({BufferId{id}, use.mode != AccessMode::overwrite,
                                 use.mode != AccessMode::read, use.tag});
    BufferCopy* copy = buffer.copy_in(space);
    if (copy->resident) {
        if (spaces_[space].policy)
            spaces_[space].policy->touch(BufferId{id});
        return;
    }
    spaces_[space].spares.erase({copy->stamp, id});
    copy->stamp = ++stamps_;
    spaces_[space].spares.insert({copy->stamp, id});
}

void SpillEngine::note_gone(std::uint32_t id, std::size_t space) {
    forget_gone(id);
    SpillBuffer& buffer = buffers_[id];
    buffer.gone_from = space;
    buffer.gone_stamp = ++stamps_;
    spaces_[space].gone.insert({buffer.hint, buffer.gone_stamp, id});
}

void SpillEngine::forget_gone(std::uint32_t id) {
    SpillBuffer& buffer = buffers_[id];
    if (buffer.gone_from == kNoSpace)
        return;
    spaces_[buffer.gone_from].gone.erase({buffer.hint, buffer.gone_stamp, id});
    buffer.gone_from = kNoSpace;
}

void SpillEngine::revise(std::uint32_t id) {
    for (const BufferCopy& copy : buffers_[id].copies)
        if (copy.resident && spaces_[copy.space].policy)
            spaces_[copy.space].policy->revise(BufferId{id});
}

}  // namespace tidemark
