// From the line for room to the end of a copy, and what follows from that.
#include "core/tiers/engine/move_driver.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/base/text.h"

namespace tidemark {

void MoveDriver::placed(BufferRef ref, Result<BlockLocation> location) {
    const std::uint32_t id = to_integer(ref.id);
    SpillBuffer& buffer = state_.buffers[id];
    TM_CHECK(buffer.move && buffer.move->stage == MoveStage::making);
    BufferMove& move = *buffer.move;
    if (location)
        move.location = *location;
    if (move.cancelled)
        return abandon(id);
    if (!location) {
        moves_.give_up_target(id);
        const bool no_room = location.error().code == ErrorCode::no_space;
        if (no_room && ++move.refusals < state_.options.allocation_attempts) {
            move.owed = move.size;
            moves_.line_up(id, true);
        } else if (!moves_.try_next_target(id)) {
            fail(id, no_room ? Failure::no_room : Failure::failed, std::move(location.error()));
        }
    } else if (move.source == kNoSpace) {
        fill(id);
    } else {
        start_copy(ref, move);
    }
}

void MoveDriver::start_copy(BufferRef ref, BufferMove& move) {
    const SpillBuffer& buffer = state_.buffers[to_integer(ref.id)];
    move.stage = MoveStage::copying;
    const BufferCopy* source = buffer.copy_in(move.source);
    CopyOrder order;
    order.source = source->location;
    order.target = move.location;
    order.size = buffer.size;
    order.buffer = ref.id;
    for (const UsePoint& use : buffer.uses)
        if (use.space == source->location.space && use.wrote)
            order.after.push_back(use);
    state_.work.starting.push_back({ref, std::move(order)});
}

// Nobody wants the result any more.
void MoveDriver::abandon(std::uint32_t id) {
    moves_.give_up_target(id);
    (void)moves_.end(id);
    after(id);
}

void MoveDriver::copied(BufferRef ref, CopyDone done) {
    const std::uint32_t id = to_integer(ref.id);
    BufferMove& move = *state_.buffers[id].move;
    TM_CHECK(move.stage == MoveStage::copying);
    // What has come for nobody in particular may leave for whoever found no room.
    state_.let_go = state_.let_go || accesses_.anybody_parked();
    if (move.cancelled || done.end == CopyEnd::cancelled) {
        const std::size_t upper = move.kind == MoveKind::spill ? move.source : move.target;
        if (done.end != CopyEnd::cancelled)
            state_.spaces[upper].counters.copied_in_vain += move.size;
        abandon(id);
    } else if (done.end == CopyEnd::failed) {
        moves_.give_up_target(id);
        fail(id, Failure::failed, std::move(done.error));
    } else {
        fill(id);
    }
}

// The target's location holds the bytes: it is a copy from now on.
void MoveDriver::fill(std::uint32_t id) {
    const bool evict = state_.buffers[id].move->evict;
    BufferMove move = moves_.end(id);
    move.evict = evict;
    SpillBuffer& buffer = state_.buffers[id];
    BufferCopy copy;
    copy.space = move.target;
    copy.location = move.location;
    copy.charge = move.charge;
    copies_.add(id, std::move(copy));
    if (move.kind == MoveKind::create) {
        state_.work.answers.push_back({.request = std::exchange(buffer.creation, RequestId::none),
                                       .buffer = state_.ref_of(id),
                                       .location = move.location});
    } else if (move.kind == MoveKind::spill) {
        filled_by_spill(id, move);
    } else {
        filled_by_fetch(id, move);
    }
    after(id);
    // The writer that it was made for may be gone.
    const BufferCopy* made = state_.buffers[id].copy_in(move.target);
    if (made && made->hollow && made->users == 0)
        copies_.drop(id, move.target, EvictionReason::evicted, RequestId::none);
}

void MoveDriver::filled_by_spill(std::uint32_t id, const BufferMove& move) {
    SpillBuffer& buffer = state_.buffers[id];
    SpillCounters& counters = state_.spaces[move.source].counters;
    ++counters.spills;
    counters.copied_out += buffer.size;
    // Whoever came to use it meanwhile keeps it; then the new copy is a spare.
    if (!move.evict || buffer.copy_in(move.source)->users != 0)
        return;
    copies_.set_beneficiary(move.beneficiary);
    copies_.drop(id, move.source, EvictionReason::evicted, move.claim);
    state_.report(id, move.source, BufferEvent::Kind::left);
    copies_.set_beneficiary({});
    if (state_.options.forecast) {
        std::uint64_t& earliest = state_.spaces[move.source].ahead.earliest_evicted;
        earliest = std::min(earliest, state_.options.forecast->next_use(BufferId{id}));
    }
}

void MoveDriver::filled_by_fetch(std::uint32_t id, const BufferMove& move) {
    SpillBuffer& buffer = state_.buffers[id];
    state_.report(id, move.target, BufferEvent::Kind::returned);
    if (move.writing) {
        // What it was made for fills it; until then the bytes are elsewhere.
        buffer.copy_in(move.target)->hollow = buffer.copies.size() > 1;
        return;
    }
    if (move.source == kNoSpace) {
        // A blank buffer moves by being there; whoever has it elsewhere keeps it.
        for (std::size_t i = buffer.copies.size(); i-- > 0;)
            if (buffer.copies[i].space != move.target && buffer.copies[i].users == 0)
                copies_.drop(id, buffer.copies[i].space, EvictionReason::evicted, RequestId::none);
        return;
    }
    SpillCounters& counters = state_.spaces[move.target].counters;
    ++counters.fetches;
    counters.copied_in += buffer.size;
    if (move.ahead)
        counters.prefetched += buffer.size;
    else if (state_.options.forecast && state_.machine.spaces[move.target].id.tier == Tier::gpu)
        state_.spaces[move.target].ahead.fetched.push_back(id);
    buffer.ahead = move.ahead && buffer.waiting.empty();
    const BufferCopy* source = buffer.copy_in(move.source);
    // Of two tiers the slower copy stays as a spare, whichever way the bytes went.
    const bool spare =
        state_.machine.spaces[move.source].id.tier != state_.machine.spaces[move.target].id.tier;
    if (source->users == 0 && !(spare && state_.options.keep_clean))
        copies_.drop(id, move.source, EvictionReason::evicted, RequestId::none);
}

// The move comes to nothing: the buffer stays where it is, and whoever wanted the move gets the
// error.
void MoveDriver::fail(std::uint32_t id, Failure failure, Error error) {
    const BufferMove move = moves_.end(id);
    SpillBuffer& buffer = state_.buffers[id];
    const bool failed = failure == Failure::failed;
    if (failed) {
        ++state_.spaces[move.target].counters.failed;
        last_failure_ = error;
    }
    if (move.kind == MoveKind::create) {
        state_.refuse(std::exchange(buffer.creation, RequestId::none), std::move(error));
        copies_.end_buffer(id);
        return;
    }
    if (move.kind == MoveKind::spill) {
        state_.report(id, move.source, BufferEvent::Kind::failed);
        buffer.barred = true;
        state_.barred.push_back(id);
        FreeRequest* request = failed ? leaving_.find(move.claim) : nullptr;
        if (request) {
            ++request->report.failed_copies;
            request->report.last_failure = std::move(error);
        }
        return after(id);
    }
    if (failed || move.stage != MoveStage::lining)  // else nothing had begun
        state_.report(id, move.target, BufferEvent::Kind::failed);
    if (accesses_.first_wants(buffer, move.target)) {
        if (failed)
            accesses_.fail_first(id, std::move(error));
        else
            accesses_.no_room_for_first(id, std::move(error), last_failure_);
    }
    after(id);
}

void MoveDriver::after(std::uint32_t id) {
    if (state_.buffers[id].doomed)
        copies_.end_buffer(id);
    else
        accesses_.serve(id);
}

void MoveDriver::serve_line(std::size_t space) {
    while (!state_.spaces[space].line.empty() && serve_head(space)) {
    }
}

// Whether the first in line has been dealt with: served, refused or gone.
bool MoveDriver::serve_head(std::size_t space) {
    SpillSpace& here = state_.spaces[space];
    const LineEntry head = here.line.front();
    SpillBuffer& buffer = state_.buffers[head.buffer];
    if (!buffer.living || !buffer.move || buffer.move->serial != head.serial ||
        buffer.move->stage != MoveStage::lining) {
        here.line.pop_front();
        return true;
    }
    BufferMove& move = *buffer.move;
    if (buffer.departing != 0 && buffer.own_space == space) {
        // Its addresses come free when the last location there has been.
        here.line.pop_front();
        here.parked.push_back(head);
        state_.changed = true;
        return true;
    }
    if (here.reserving && move.reservation == ReservationId{} && !state_.closing)
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
            if (move.kind != MoveKind::create)
                state_.report(head.buffer, space, BufferEvent::Kind::returning);
            state_.work.making.push_back({state_.ref_of(head.buffer), here.memory->id(), move.size,
                                          buffer.own_space == space ? buffer.range : nullptr});
            state_.changed = true;
            return true;
        }
        need = here.memory->rounded(move.size) <= here.memory->spec().capacity
                   ? charge.error().missing
                   : 0;  // nothing that could leave would help
    }
    // Room for those behind it too, so that the link has no pause.
    const Bytes behind =
        std::min(here.lined - std::min(here.lined, move.size), state_.options.background_in_flight);
    if (need != 0 && !move.polite && !state_.closing &&
        room_.make_room(space, need + behind, move.reservation))
        return false;
    here.line.pop_front();
    state_.changed = true;
    if (move.patient && !state_.closing && need != 0) {
        move.owed = 0;
        here.parked.push_back(head);
    } else if (!moves_.try_next_target(head.buffer)) {
        no_room_for(head.buffer, space);
    }
    return true;
}

void MoveDriver::no_room_for(std::uint32_t id, std::size_t space) {
    const Bytes size = state_.buffers[id].move->size;
    std::string holders = room_.holders(space);
    if (!state_.barred.empty() && !last_failure_.what.empty())
        holders += "; the last copy failed: " + to_text(last_failure_);
    fail(id, Failure::no_room,
         {ErrorCode::no_space, "no room for " + format_bytes(size),
          to_text(state_.machine.spaces[space].id), std::move(holders)});
}

void MoveDriver::line_up_parked() {
    for (SpillSpace& space : state_.spaces) {
        space.line.insert(space.line.begin(), space.parked.begin(), space.parked.end());
        space.parked.clear();
    }
}

bool MoveDriver::give_up_one() {
    for (std::size_t i = 0; i < state_.spaces.size(); ++i) {
        SpillSpace& space = state_.spaces[i];
        while (!space.parked.empty()) {
            const LineEntry first = space.parked.front();
            space.parked.pop_front();
            const SpillBuffer& buffer = state_.buffers[first.buffer];
            if (!buffer.living || !buffer.move || buffer.move->serial != first.serial)
                continue;
            no_room_for(first.buffer, i);
            return true;
        }
    }
    return false;
}

}  // namespace tidemark
