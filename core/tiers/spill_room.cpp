// Room: lines of moves that want some, victims that make it, spilling in the background, and what
// comes back when there is room again.
#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/base/text.h"
#include "core/tiers/spill_engine.h"

namespace tidemark {

// What is leaving `space`: for `claim`, or for anybody.
Bytes SpillEngine::pledged(std::size_t space, std::optional<RequestId> claim) const {
    Bytes bytes = 0;
    for (const auto& [id, departure] : departures_)
        if (departure.space == space && (!claim || departure.claim == *claim))
            bytes += departure.credit;
    for (const std::uint32_t id : moving_) {
        const BufferMove& move = *buffers_[id].move;
        if (move.source == space && move.evict && !move.cancelled &&
            (!claim || move.claim == *claim))
            bytes += credit(*buffers_[id].copy_in(space));
    }
    return bytes;
}

// The next to leave: a spare, or the policy's victim.
std::optional<std::uint32_t> SpillEngine::pick(std::size_t space) {
    for (const auto& [stamp, id] : spaces_[space].spares) {
        const BufferCopy* copy = buffers_[id].copy_in(space);
        if (copy->users == 0 && !buffers_[id].move && credit(*copy) > 0)
            return id;
    }
    if (!spaces_[space].policy)
        return std::nullopt;
    const std::optional<BufferId> victim = spaces_[space].policy->victim();
    if (!victim)
        return std::nullopt;
    TM_CHECK(may_leave(space, to_integer(*victim)));
    return to_integer(*victim);
}

// Has the buffer leave `space`: dropped if its bytes are elsewhere, else copied first.
void SpillEngine::leave(std::uint32_t id, std::size_t space, RequestId claim) {
    SpillBuffer& buffer = buffers_[id];
    const BufferCopy* copy = buffer.copy_in(space);
    if (buffer.copies.size() > 1) {
        const bool resident = copy->resident;
        spaces_[space].counters.dropped_clean += copy->stored;
        drop_copy(id, space, Departure::evicted, claim);
        if (resident)
            note_gone(id, space);
        return;
    }
    BufferMove move;
    move.kind = MoveKind::spill;
    move.source = space;
    move.target = spaces_[space].slower.front();
    move.others.assign(spaces_[space].slower.begin() + 1, spaces_[space].slower.end());
    move.evict = true;
    move.claim = claim;
    begin_move(id, std::move(move));
}

// Has victims leave until what is leaving and nobody's yet is `need`. False: nothing is leaving.
bool SpillEngine::make_room(std::size_t space, Bytes need) {
    Bytes leaving = pledged(space, RequestId::none);
    while (leaving < need) {
        const std::optional<std::uint32_t> victim = pick(space);
        if (!victim)
            break;
        leaving += credit(*buffers_[*victim].copy_in(space));
        leave(*victim, space, RequestId::none);
    }
    return leaving > 0;
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
    Bytes need = move.owed;
    const bool too_much =
        move.polite && here.memory->used() + move.size > here.memory->thresholds().spill_start;
    if (need == 0 && !too_much) {
        auto charge = here.memory->charge(move.size, move.reservation);
        if (charge) {
            here.line.pop_front();
            move.charge = *charge;
            move.stage = MoveStage::making;
            work_.making.push_back({ref_of(head.buffer), here.memory->id(), move.size});
            changed_ = true;
            return true;
        }
        need = here.memory->rounded(move.size) <= here.memory->spec().capacity
                   ? charge.error().missing
                   : 0;  // nothing that could leave would help
    }
    if (need != 0 && !move.polite && !closing_ && make_room(space, need))
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
    for (auto& [id, departure] : departures_) {
        if (claimed >= need || departure.space != request.space ||
            departure.claim != RequestId::none)
            continue;
        departure.claim = request.request;
        claimed += departure.credit;
    }
    for (const std::uint32_t id : moving_) {
        BufferMove& move = *buffers_[id].move;
        if (claimed >= need || move.source != request.space || !move.evict || move.cancelled ||
            move.claim != RequestId::none)
            continue;
        move.claim = request.request;
        claimed += credit(*buffers_[id].copy_in(request.space));
    }
}

// Whether it has been answered.
bool SpillEngine::serve_free(FreeRequest& request) {
    FreeReport& report = request.report;
    Bytes leaving = pledged(request.space, request.request);
    if (report.freed < report.asked && report.freed + leaving < report.asked) {
        claim_unclaimed(request, report.asked - report.freed - leaving);
        leaving = pledged(request.space, request.request);
    }
    while (report.freed + leaving < report.asked) {
        const std::optional<std::uint32_t> victim = pick(request.space);
        if (!victim)
            break;
        leaving += credit(*buffers_[*victim].copy_in(request.space));
        leave(*victim, request.space, request.request);
    }
    if (report.freed < report.asked && leaving > 0)
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
    Bytes leaving = pledged(index, std::nullopt);
    while (used > thresholds.spill_stop + leaving && leaving < options_.background_in_flight) {
        const std::optional<std::uint32_t> victim = pick(index);
        if (!victim)
            return;
        leaving += credit(*buffers_[*victim].copy_in(index));
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
        if (buffer.move || !buffer.waiting.empty() || buffer.lock.state().writing())
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
