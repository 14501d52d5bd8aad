// Room: lines of moves that want some, victims that make it, spilling in the background, and what
// comes back when there is room again.
#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/base/text.h"
#include "core/tiers/engine/spill_engine.h"

namespace tidemark {

// What could be allocated in `space` when all that leaves has left and all that lines up has come.
Bytes SpillEngine::spare(std::size_t index) const {
    const SpillSpace& space = spaces_[index];
    const Bytes available = space.memory->available() + space.leaving;
    return available - std::min(available, space.lined);
}

// The next to leave: a spare, or the policy's victim.
std::optional<std::uint32_t> SpillEngine::pick(std::size_t space, bool lenient) {
    for (const auto& [stamp, id] : spaces_[space].spares) {
        const SpillBuffer& buffer = buffers_[id];
        const BufferCopy* copy = buffer.copy_in(space);
        if (copy->users == 0 && !buffer.move && !buffer.hold.writing && credit(*copy) > 0)
            return id;
    }
    if (!spaces_[space].policy)
        return std::nullopt;
    lenient_ = lenient;
    const std::optional<BufferId> victim = spaces_[space].policy->victim();
    if (victim)
        TM_CHECK(may_leave(space, to_integer(*victim)));
    lenient_ = false;
    return victim ? std::optional(to_integer(*victim)) : std::nullopt;
}

// One that should stay as long as others can leave, if no other can.
std::optional<std::uint32_t> SpillEngine::pick_any(std::size_t space) {
    const std::optional<std::uint32_t> victim = pick(space, false);
    return victim ? victim : pick(space, true);
}

// Has the buffer leave `space`: dropped if its bytes are elsewhere or don't matter, else copied
// first.
void SpillEngine::leave(std::uint32_t id, std::size_t space, RequestId claim) {
    SpillBuffer& buffer = buffers_[id];
    const BufferCopy* copy = buffer.copy_in(space);
    const bool resident = copy->resident;
    SpillSpace& here = spaces_[space];
    here.counters.evictions += resident ? 1 : 0;
    if (resident && options_.forecast && !buffer.blank) {
        here.ahead.evicted.push_back(id);
        here.ahead.earliest_evicted =
            std::min(here.ahead.earliest_evicted, options_.forecast->next_use(BufferId{id}));
    }
    if (buffer.copies.size() > 1 || buffer.blank) {
        here.counters.dropped_clean += copy->stored;
        drop_copy(id, space, Departure::evicted, claim, resident);
        if (resident)
            note_gone(id, space);
        return;
    }
    BufferMove move;
    move.kind = MoveKind::spill;
    move.source = space;
    move.target = here.slower.front();
    move.others.assign(here.slower.begin() + 1, here.slower.end());
    move.evict = true;
    move.claim = claim;
    move.asking = asking_;
    begin_move(id, std::move(move));
}

// Has victims leave until what is leaving and nobody's yet is `need`. False: nothing is leaving.
bool SpillEngine::make_room(std::size_t space, Bytes need, ReservationId asking) {
    asking_ = asking;
    while (spaces_[space].unclaimed < need) {
        const std::optional<std::uint32_t> victim = pick_any(space);
        if (!victim)
            break;
        leave(*victim, space, RequestId::none);
    }
    asking_ = {};
    return spaces_[space].unclaimed > 0;
}

void SpillEngine::serve_line(std::size_t space) {
    while (!spaces_[space].line.empty() && serve_head(space)) {
    }
}

// Whether the first in line has been dealt with: served, refused or gone.
bool SpillEngine::serve_head(std::size_t space) {
    SpillSpace& here = spaces_[space];
    const LineEntry head = here.line.front();
    SpillBuffer& buffer = buffers_[head.buffer];
    if (!buffer.living || !buffer.move || buffer.move->serial != head.serial ||
        buffer.move->stage != MoveStage::lining) {
        here.line.pop_front();
        return true;
    }
    BufferMove& move = *buffer.move;
    if (here.reserving && move.reservation == ReservationId{} && !closing_)
        return false;  // what leaves is for a reservation
    // The buffer's own reservation may have ended meanwhile: it comes back without one.
    if (move.reservation == buffer.reservation && !here.memory->find(move.reservation))
        move.reservation = {};
    Bytes need = move.owed;
    const bool too_much =
        move.polite && here.memory->used() + move.size > here.memory->thresholds().spill_start;
    if (need == 0 && !too_much) {
        auto charge = here.memory->charge(move.size, move.reservation);
        if (charge) {
            here.line.pop_front();
            here.lined -= move.size;
            move.charge = *charge;
            here.charged += charge->size;
            move.stage = MoveStage::making;
            work_.making.push_back({ref_of(head.buffer), here.memory->id(), move.size});
            changed_ = true;
            return true;
        }
        need = here.memory->rounded(move.size) <= here.memory->spec().capacity
                   ? charge.error().missing
                   : 0;  // nothing that could leave would help
    }
    // Room for those behind it too, so that the link has no pause.
    const Bytes behind =
        std::min(here.lined - std::min(here.lined, move.size), options_.background_in_flight);
    if (need != 0 && !move.polite && !closing_ && make_room(space, need + behind, move.reservation))
        return false;
    here.line.pop_front();
    changed_ = true;
    if (move.patient && !closing_ && need != 0) {
        move.owed = 0;
        here.parked.push_back(head);
    } else if (!try_next_target(head.buffer)) {
        no_room_for(head.buffer, *here.memory);
    }
    return true;
}

void SpillEngine::no_room_for(std::uint32_t id, const MemorySpace& space) {
    const Bytes size = buffers_[id].move->size;
    fail_move(id, {StoreFault::no_room,
                   {ErrorCode::no_space, "no room for " + format_bytes(size), to_text(space.id()),
                    space.text()}});
}

// "Free N bytes now".

RequestId SpillEngine::free_bytes(SpaceId id, Bytes size) {
    const RequestId request{++requests_};
    const std::size_t space = position(id);
    FreeRequest entry;
    entry.request = request;
    entry.space = space;
    entry.report.space = id;
    entry.report.asked = size;
    if (closing_ || space == kNoSpace) {
        entry.report.end = closing_ ? FreeEnd::shut_down : FreeEnd::nothing_left;
        SpillAnswer answer;
        answer.request = request;
        answer.freed = std::move(entry.report);
        if (space == kNoSpace)
            answer.refusal = StoreError{StoreFault::unsupported,
                                        {ErrorCode::bad_option, "no such space", to_text(id), ""}};
        work_.answers.push_back(std::move(answer));
        return request;
    }
    unbar();
    frees_.push_back(std::move(entry));
    changed_ = true;
    return request;
}

void SpillEngine::serve_frees(std::size_t space) {
    for (std::size_t i = 0; i < frees_.size();) {
        if (frees_[i].space == space && serve_free(frees_[i]))
            frees_.erase(frees_.begin() + static_cast<std::ptrdiff_t>(i));
        else
            ++i;
    }
}

// What is leaving for nobody in particular leaves for this request.
void SpillEngine::claim_unclaimed(FreeRequest& request, Bytes need) {
    Bytes claimed = 0;
    const auto claim = [&](std::size_t space, RequestId& claimed_by, Bytes credit) {
        note_left(space, claimed_by, credit);
        claimed_by = request.request;
        note_leaving(space, claimed_by, credit);
        claimed += credit;
    };
    for (PlaceDeparture& departure : departures_)
        if (claimed < need && departure.living && departure.space == request.space &&
            departure.claim == RequestId::none)
            claim(departure.space, departure.claim, departure.credit);
    for (const std::uint32_t id : moving_) {
        BufferMove& move = *buffers_[id].move;
        if (claimed >= need || move.source != request.space || !move.evict || move.cancelled ||
            move.claim != RequestId::none)
            continue;
        claim(move.source, move.claim, move.credit);
    }
}

// Whether it has been answered.
bool SpillEngine::serve_free(FreeRequest& request) {
    FreeReport& report = request.report;
    if (report.freed < report.asked && report.freed + request.leaving < report.asked)
        claim_unclaimed(request, report.asked - report.freed - request.leaving);
    while (report.freed + request.leaving < report.asked) {
        const std::optional<std::uint32_t> victim = pick_any(request.space);
        if (!victim)
            break;
        leave(*victim, request.space, request.request);
    }
    if (report.freed < report.asked && request.leaving > 0)
        return false;
    report.end = report.freed >= report.asked ? FreeEnd::enough : FreeEnd::nothing_left;
    if (report.end == FreeEnd::nothing_left)
        explain(report, request.space);
    SpillAnswer answer;
    answer.request = request.request;
    answer.freed = std::move(report);
    work_.answers.push_back(std::move(answer));
    changed_ = true;
    return true;
}

// Why more of `space` could not be freed: what stayed, by reason.
void SpillEngine::explain(FreeReport& report, std::size_t space) const {
    for (const SpillBuffer& buffer : buffers_) {
        const BufferCopy* copy = buffer.living ? buffer.copy_in(space) : nullptr;
        if (!copy || !copy->owned)
            continue;
        const Bytes size = copy->charge.size;
        if (copy->users != 0 || buffer.move || !buffer.waiting.empty())
            report.in_use += size;
        else if (!buffer.may_spill)
            report.kept += size;
        else if (credit(*copy) == 0)
            report.reserved += size;
        else
            report.no_room += size;
    }
}

// Background and upgrades.

void SpillEngine::spill_in_background(std::size_t index) {
    SpillSpace& space = spaces_[index];
    if (!space.background)
        return;
    const Thresholds& thresholds = space.memory->thresholds();
    const Bytes used = space.memory->used();
    if (!space.spilling && used > thresholds.spill_start) {
        space.spilling = true;
        unbar();
    }
    if (!space.spilling)
        return;
    if (used <= thresholds.spill_stop) {
        space.spilling = false;
        return;
    }
    while (used > thresholds.spill_stop + space.leaving &&
           space.leaving < options_.background_in_flight) {
        const std::optional<std::uint32_t> victim = pick(index, false);
        if (!victim)
            return;
        leave(*victim, index, RequestId::none);
    }
}

// Brings back what was spilled from the space: the program's favourites first, then the latest.
void SpillEngine::upgrade(std::size_t index) {
    SpillSpace& space = spaces_[index];
    if (!options_.upgrade || space.spilling || !space.line.empty())
        return;
    for (const FreeRequest& request : frees_)
        if (request.space == index)
            return;
    Bytes coming = 0;
    for (const std::uint32_t id : moving_) {
        const BufferMove& move = *buffers_[id].move;
        if (move.target == index && move.kind == MoveKind::upgrade)
            coming += move.size;
    }
    for (auto entry = space.gone.rbegin(); entry != space.gone.rend(); ++entry) {
        const std::uint32_t id = std::get<2>(*entry);
        SpillBuffer& buffer = buffers_[id];
        if (coming >= options_.background_in_flight ||
            space.memory->used() + buffer.size > space.memory->thresholds().spill_stop)
            return;
        if (buffer.move || !buffer.waiting.empty() || buffer.hold.writing)
            continue;
        BufferMove move;
        move.kind = MoveKind::upgrade;
        move.source = best_source(buffer, index);
        move.target = index;
        move.polite = true;
        if (move.source == kNoSpace)
            continue;
        begin_move(id, std::move(move));
        return;  // one at a time takes its charge before the next is looked at
    }
}

}  // namespace tidemark
