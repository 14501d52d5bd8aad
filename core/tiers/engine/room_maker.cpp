// Queues, victims, and what becomes of them.
#include "core/tiers/engine/room_maker.h"

#include <algorithm>
#include <utility>

#include "core/base/text.h"

namespace tidemark {

bool RoomMaker::serve_head(std::size_t space) {
    SpillSpace& here = state_.spaces[space];
    const LineEntry head = here.line.front();
    if (!still_lines_up(head)) {
        here.line.pop_front();
        return true;
    }
    SpillBuffer& buffer = state_.buffers[head.buffer];
    BufferMove& move = *buffer.move;
    if (buffer.range_taken != 0 && buffer.own_space == space) {
        // Its addresses become free when the last location there has been freed.
        here.line.pop_front();
        moves_.park(head.buffer);
        return true;
    }
    if (here.reserving && move.reservation == ReservationId{} && !state_.closing)
        return false;  // what leaves is for a reservation
    // The buffer's own reservation may have ended meanwhile: then it comes back without one.
    if (move.reservation == buffer.reservation && !here.memory->find(move.reservation))
        move.reservation = {};
    Bytes need = move.owed;
    const bool may_charge =
        need == 0 && (move.when_full != WhenFull::refuse ||
                      here.memory->used() + move.size <= here.memory->thresholds().spill_start);
    if (may_charge) {
        const auto charge = here.memory->charge(move.size, move.reservation);
        if (charge) {
            here.line.pop_front();
            moves_.charged(head.buffer, *charge);
            return true;
        }
        if (here.memory->rounded(move.size) <= here.memory->spec().capacity)
            need = charge.error().missing;  // else nothing that could leave would help
    }
    // Room for those behind it too, so that the link is never idle.
    const Bytes behind =
        std::min(here.lined - std::min(here.lined, move.size), state_.options.background_in_flight);
    if (need != 0 && move.when_full != WhenFull::refuse && !state_.closing &&
        make_room(space, need + behind, move.reservation))
        return false;
    here.line.pop_front();
    if (move.when_full == WhenFull::evict_or_wait && !state_.closing && need != 0) {
        move.owed = 0;
        moves_.park(head.buffer);
    } else if (!moves_.try_redirect(head.buffer)) {
        refuse(head.buffer);
    }
    return true;
}

bool RoomMaker::still_lines_up(const LineEntry& entry) const {
    const SpillBuffer& buffer = state_.buffers[entry.buffer];
    return buffer.lines_up() && buffer.move->serial == entry.serial;
}

void RoomMaker::refuse(std::uint32_t id) {
    const BufferMove& move = *state_.buffers[id].move;
    std::string why = holders(move.target);
    if (!state_.failed.empty() && !moves_.last_failure().what.empty())
        why += "; the last copy failed: " + to_text(moves_.last_failure());
    moves_.refuse(id, {ErrorCode::no_space, "no room for " + format_bytes(move.size),
                       to_text(state_.machine.spaces[move.target].id), std::move(why)});
}

void RoomMaker::wake_parked() {
    for (SpillSpace& space : state_.spaces) {
        for (; !space.parked.empty(); space.parked.pop_back())
            if (still_lines_up(space.parked.back()))
                moves_.wake(space.parked.back().buffer);
    }
}

bool RoomMaker::anybody_parked() const {
    return std::ranges::any_of(state_.spaces,
                               [](const SpillSpace& space) { return !space.parked.empty(); });
}

bool RoomMaker::give_up_one() {
    for (SpillSpace& space : state_.spaces) {
        while (!space.parked.empty()) {
            const LineEntry first = space.parked.front();
            space.parked.pop_front();
            if (!still_lines_up(first))
                continue;
            refuse(first.buffer);
            return true;
        }
    }
    return false;
}

void RoomMaker::leave(std::uint32_t id, std::size_t space, const OnBehalf& whom,
                      std::optional<Tier> tier) {
    SpillBuffer& buffer = state_.buffers[id];
    if (space == buffer.own_space && !holds_.try_shut(id))
        return;  // somebody has pinned it meanwhile: it may no longer leave
    const bool resident = buffer.copy_in(space)->resident();
    SpillSpace& here = state_.spaces[space];
    here.counters.evictions += resident ? 1 : 0;
    if (resident && state_.options.forecast && !buffer.blank) {
        here.ahead.evicted.push_back(id);
        here.ahead.earliest_evicted =
            std::min(here.ahead.earliest_evicted, state_.options.forecast->next_use(BufferId{id}));
    }
    if (buffer.copies.size() > 1 || buffer.blank) {
        here.counters.dropped_clean += buffer.size;
        OnBehalf uncopied = whom;
        uncopied.uncopied = resident;
        copies_.drop(id, space, EvictionReason::evicted, uncopied);
        state_.report(id, space, BufferEvent::Kind::left);
        return;
    }
    BufferMove move;
    move.kind = MoveKind::evict;
    move.source = space;
    move.others = here.slower;
    if (tier)
        std::ranges::stable_partition(move.others, [&](std::size_t slower) {
            return state_.machine.spaces[slower].id.tier == *tier;
        });
    move.target = move.others.front();
    move.others.erase(move.others.begin());
    move.request = whom.request;
    move.beneficiary = whom.reservation;
    moves_.begin(id, std::move(move));
    state_.report(id, space, BufferEvent::Kind::leaving);
}

bool RoomMaker::make_room(std::size_t space, Bytes need, ReservationId beneficiary) {
    claim_victims(space, need, beneficiary);
    if (state_.spaces[space].unclaimed != 0)
        return true;
    // What was pinned a moment ago may be free now without any report. From here on nobody pins
    // anything there without the engine, and the engine is told when the last pin ends.
    for (std::uint32_t id = 0; id < state_.buffers.size(); ++id)
        if (state_.buffers[id].gate && state_.buffers[id].own_space == space)
            holds_.seal(id);
    claim_victims(space, need, beneficiary);
    return state_.spaces[space].unclaimed > 0;
}

void RoomMaker::claim_victims(std::size_t space, Bytes need, ReservationId beneficiary) {
    while (state_.spaces[space].unclaimed < need) {
        const std::optional<std::uint32_t> victim = copies_.any_victim(space, beneficiary);
        if (!victim)
            return;
        leave(*victim, space, {.reservation = beneficiary});
    }
}

Bytes RoomMaker::spare(std::size_t index) const {
    const SpillSpace& space = state_.spaces[index];
    const Bytes available = space.memory->available() + space.leaving;
    return available - std::min(available, space.lined);
}

void RoomMaker::spill_in_background(std::size_t index) {
    SpillSpace& space = state_.spaces[index];
    const SpacePressure pressure = space.memory->pressure(space.memory->thresholds());
    if (!space.spilling && pressure.starts()) {
        space.spilling = true;
        state_.retry_failed();
    }
    space.spilling = space.spilling && pressure.excess() != 0;
    while (space.spilling && pressure.excess() > space.leaving &&
           space.leaving < state_.options.background_in_flight) {
        const std::optional<std::uint32_t> victim = copies_.victim(index);
        if (!victim)
            return;
        leave(*victim, index);
    }
}

void RoomMaker::explain(FreeReport& report, std::size_t space) const {
    for (const SpillBuffer& buffer : state_.buffers) {
        const BufferCopy* copy = buffer.living() ? buffer.copy_in(space) : nullptr;
        if (!copy || !copy->owned())
            continue;
        const Bytes size = copy->charge.size;
        if (copy->users != 0 || buffer.pinned_in(space) || buffer.move || !buffer.waiting.empty())
            report.in_use += size;
        else if (!buffer.may_spill)
            report.kept += size;
        else if (copies_.credit(*copy) == 0)
            report.reserved += size;
        else
            report.no_room += size;
    }
}

std::string RoomMaker::holders(std::size_t space) const {
    std::string text = holders_in(space);
    for (const std::size_t slower : state_.spaces[space].slower)
        text += "; " + holders_in(slower);
    return text;
}

std::string RoomMaker::holders_in(std::size_t space) const {
    const SpaceCounters now = state_.spaces[space].memory->counters();
    FreeReport report;
    explain(report, space);
    std::uint64_t accesses = 0;
    for (const SpillBuffer& buffer : state_.buffers) {
        const BufferCopy* copy = buffer.living() ? buffer.copy_in(space) : nullptr;
        accesses += copy ? copy->users : 0;
        accesses += copy && copy->users == 0 && buffer.pinned_in(space) ? 1U : 0U;
    }
    std::string text = to_text(state_.machine.spaces[space].id) + ": " + format_bytes(now.used) +
                       " of " + format_bytes(state_.machine.spaces[space].capacity) + " used";
    const std::pair<Bytes, std::string> parts[] = {
        {report.in_use,
         "by buffers with " + format_counted(accesses, "open access", "open accesses")},
        {report.kept, "by buffers that stay"},
        {now.reserved, "in " + format_counted(now.reservations, "reservation")},
        {report.no_room, "by buffers that cannot leave"}};
    for (const auto& [bytes, by] : parts)
        if (bytes != 0)
            text += ", " + format_bytes(bytes) + " " + by;
    return text;
}

}  // namespace tidemark
