// The transitions of a buffer, and their actions.
#include "core/tiers/engine/moves.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"

namespace tidemark {

std::span<const Moves::Transition> Moves::transitions() {
    using enum BufferState;
    using enum Event;
    static constexpr Transition kTransitions[] = {
        {of(resident), begun, waiting, &Moves::line_up, "it lines up for room at its target"},
        {of(waiting), charged, allocating, &Moves::make_location, "its location is to be made"},
        {of(waiting), must_wait, parked, &Moves::step_aside, "it leaves the line"},
        {of(parked), woken, waiting, &Moves::return_first, "it is the first in line"},
        {of(allocating), put_off, waiting, &Moves::line_up_again, "it is the first in line again"},
        {of(waiting, allocating), redirected, waiting, &Moves::line_up_elsewhere,
         "it lines up at the next target"},
        {of(allocating), placed, copying, &Moves::start_copy, "its copy is to begin"},
        {of(allocating, copying), filled, resident, &Moves::become_copy,
         "its location is a copy; a victim's source is given up"},
        {of(waiting, parked, allocating), refused, resident, &Moves::give_up,
         "those who wait for it are refused, or parked"},
        {of(allocating, copying), failed, resident, &Moves::fail,
         "those who wait for it get the error; a victim stays, and is set aside"},
        {of(waiting, parked), cancelled, resident, &Moves::withdraw, "nothing had begun"},
        {of(allocating, copying), cancelled, abandoned, &Moves::stop, "a copy is to stop"},
        {of(abandoned), cancelled, abandoned, &Moves::nothing, "nothing more"},
        {of(copying, abandoned), ended, resident, &Moves::abandon, "its location is given up"},
        {of(resident, abandoned), destroyed, ending, &Moves::nothing, "forecasts forget it"},
        {of(waiting, parked), destroyed, ending, &Moves::withdraw, "nothing had begun"},
        {of(allocating, copying), destroyed, ending, &Moves::stop, "a copy is to stop"},
        {of(ending), ended, gone, &Moves::retire, "all its locations are given up"},
    };
    return kTransitions;
}

void Moves::happen(std::uint32_t id, Event event, Error* why) {
    SpillBuffer& buffer = state_.buffers[id];
    for (const Transition& row : transitions()) {
        if (row.event != event || (row.from & of(buffer.state)) == 0)
            continue;
        buffer.state = row.to;
        state_.agenda.post(Happening::changed);
        return (this->*row.action)(id, why);
    }
    TM_CHECK(!"a transition of the table");
}

// Requests.

void Moves::begin(std::uint32_t id, BufferMove move) {
    SpillBuffer& buffer = state_.buffers[id];
    TM_CHECK(!buffer.move);
    TM_CHECK(!buffer.hold.written() || move.kind == MoveKind::create);
    if (move.kind == MoveKind::overwrite)
        ++buffer.hold.writers;
    else if (move.source != kNoSpace)
        ++buffer.hold.readers;
    move.size = buffer.size;
    if (move.source != kNoSpace)
        state_.spaces[move.source].out_queued += buffer.size;
    if (move.kind == MoveKind::evict) {
        move.credit = copies_.credit(*buffer.copy_in(move.source), move.beneficiary);
        leaving_.note_leaving(move.source, move.request, move.credit);
    }
    move.moving_index = moving_.size();
    moving_.push_back(id);
    buffer.move = std::move(move);
    happen(id, Event::begun);
}

bool Moves::cancel(std::uint32_t id) {
    happen(id, Event::cancelled);
    return state_.buffers[id].state == BufferState::resident;
}

void Moves::destroy(std::uint32_t id) {
    happen(id, Event::destroyed);
    copies_.end_life(id);
}

void Moves::end(std::uint32_t id) {
    if (!state_.buffers[id].move)
        happen(id, Event::ended);
}

void Moves::keep_source(BufferMove& move) {
    if (move.kind != MoveKind::evict)
        return;
    move.kind = MoveKind::write_back;
    leaving_.note_staying(move.source, move.request, move.credit);
}

void Moves::charged(std::uint32_t id, const Charge& charge) {
    state_.buffers[id].move->charge = charge;
    happen(id, Event::charged);
}

bool Moves::try_redirect(std::uint32_t id) {
    if (state_.buffers[id].move->others.empty())
        return false;
    happen(id, Event::redirected);
    return true;
}

void Moves::refuse(std::uint32_t id, Error error) {
    happen(id, Event::refused, &error);
}

// Results of work.

void Moves::placed(BufferRef ref, Result<BlockLocation> location) {
    const std::uint32_t id = to_integer(ref.id);
    const SpillBuffer& buffer = state_.buffers[id];
    BufferMove& move = *state_.buffers[id].move;
    if (location)
        move.location = *location;
    const bool no_room = !location && location.error().code == ErrorCode::no_space;
    if (buffer.state != BufferState::allocating)
        happen(id, Event::ended);
    else if (location)
        happen(id, move.source == kNoSpace ? Event::filled : Event::placed);
    else if (no_room && ++move.refusals < state_.options.allocation_attempts)
        happen(id, Event::put_off);
    else if (!try_redirect(id))
        happen(id, no_room ? Event::refused : Event::failed, &location.error());
}

void Moves::started(BufferRef ref, CopyId copy) {
    SpillBuffer& buffer = state_.buffers[to_integer(ref.id)];
    buffer.move->copy = copy;
    if (buffer.state != BufferState::copying)
        state_.work.cancelling.push_back(copy);
}

void Moves::copied(BufferRef ref, CopyDone done) {
    const std::uint32_t id = to_integer(ref.id);
    const BufferMove& move = *state_.buffers[id].move;
    const bool wanted = state_.buffers[id].state == BufferState::copying;
    if (!wanted && done.end != CopyEnd::cancelled)
        state_.spaces[move.spills() ? move.source : move.target].counters.copied_in_vain +=
            move.size;
    if (!wanted || done.end == CopyEnd::cancelled)
        happen(id, Event::ended);
    else if (done.end == CopyEnd::failed)
        happen(id, Event::failed, &done.error);
    else
        happen(id, Event::filled);
}

void Moves::pay_owed(std::size_t space, Bytes freed) {
    for (const std::uint32_t id : moving_) {
        SpillBuffer& buffer = state_.buffers[id];
        if (buffer.lines_up() && buffer.move->target == space)
            buffer.move->owed -= std::min(buffer.move->owed, freed);
    }
}

// Actions: queuing.

void Moves::line_up(std::uint32_t id, Error*) {
    BufferMove& move = *state_.buffers[id].move;
    SpillSpace& target = state_.spaces[move.target];
    target.in_queued += move.source == kNoSpace ? 0 : move.size;
    target.lined += move.size;
    move.serial = ++serials_;
    target.line.push_back({id, move.serial});
}

void Moves::line_up_again(std::uint32_t id, Error* why) {
    free_target(id);
    BufferMove& move = *state_.buffers[id].move;
    move.owed = move.size;
    state_.spaces[move.target].lined += move.size;
    return_first(id, why);
}

void Moves::line_up_elsewhere(std::uint32_t id, Error* why) {
    BufferMove& move = *state_.buffers[id].move;
    if (!move.charge)
        leave_line(id);
    free_target(id);
    state_.spaces[move.target].in_queued -= move.source == kNoSpace ? 0 : move.size;
    move.target = move.others.front();
    move.others.erase(move.others.begin());
    move.reservation = {};
    move.refusals = 0;
    move.owed = 0;
    line_up(id, why);
}

void Moves::leave_line(std::uint32_t id) {
    const BufferMove& move = *state_.buffers[id].move;
    state_.spaces[move.target].lined -= move.size;
}

void Moves::step_aside(std::uint32_t id, Error*) {
    const BufferMove& move = *state_.buffers[id].move;
    state_.spaces[move.target].parked.push_back({id, move.serial});
}

void Moves::return_first(std::uint32_t id, Error*) {
    BufferMove& move = *state_.buffers[id].move;
    move.serial = ++serials_;
    state_.spaces[move.target].line.push_front({id, move.serial});
}

// Actions: from a charge to a copy.

void Moves::make_location(std::uint32_t id, Error*) {
    const SpillBuffer& buffer = state_.buffers[id];
    const BufferMove& move = *buffer.move;
    SpillSpace& target = state_.spaces[move.target];
    leave_line(id);
    target.charged += move.charge.size;
    if (move.kind != MoveKind::create)
        state_.report(id, move.target, BufferEvent::Kind::returning);
    state_.work.making.push_back({state_.ref_of(id), target.memory->id(), move.size,
                                  buffer.own_space == move.target ? buffer.range : nullptr});
}

void Moves::start_copy(std::uint32_t id, Error*) {
    const SpillBuffer& buffer = state_.buffers[id];
    CopyOrder order;
    order.source = buffer.copy_in(buffer.move->source)->location;
    order.target = buffer.move->location;
    order.size = buffer.size;
    order.buffer = BufferId{id};
    for (const UsePoint& use : buffer.uses)
        if (use.space == order.source.space && use.wrote)
            order.after.push_back(use);
    state_.work.starting.push_back({state_.ref_of(id), std::move(order)});
}

// The target's location holds the bytes: from now on it is a copy.
void Moves::become_copy(std::uint32_t id, Error*) {
    const BufferMove move = take(id);
    BufferCopy copy;
    copy.space = move.target;
    copy.location = move.location;
    copy.charge = move.charge;
    copies_.add(id, std::move(copy));
    if (move.kind == MoveKind::create)
        state_.work.answers.push_back(
            {.request = move.request, .buffer = state_.ref_of(id), .location = move.location});
    else if (move.spills())
        filled_by_spill(id, move);
    else
        filled_by_fetch(id, move);
    state_.agenda.post(MoveEnd{.buffer = id, .target = move.target});
}

void Moves::filled_by_spill(std::uint32_t id, const BufferMove& move) {
    SpillBuffer& buffer = state_.buffers[id];
    SpillSpace& source = state_.spaces[move.source];
    ++source.counters.spills;
    source.counters.copied_out += buffer.size;
    // If somebody has started to use it meanwhile, it stays; then the new copy is a spare.
    if (move.kind == MoveKind::write_back || buffer.copy_in(move.source)->users != 0)
        return;
    copies_.drop(id, move.source, EvictionReason::evicted,
                 {.request = move.request, .reservation = move.beneficiary});
    state_.report(id, move.source, BufferEvent::Kind::left);
    if (state_.options.forecast)
        source.ahead.earliest_evicted = std::min(source.ahead.earliest_evicted,
                                                 state_.options.forecast->next_use(BufferId{id}));
}

void Moves::filled_by_fetch(std::uint32_t id, const BufferMove& move) {
    SpillBuffer& buffer = state_.buffers[id];
    state_.report(id, move.target, BufferEvent::Kind::returned);
    if (move.kind == MoveKind::overwrite) {
        // The user that it was made for fills it; until then the bytes are elsewhere.
        buffer.copy_in(move.target)->hollow = buffer.copies.size() > 1;
        return;
    }
    if (move.source == kNoSpace) {
        // A blank buffer moves by getting a location; users elsewhere keep theirs.
        for (std::size_t i = buffer.copies.size(); i-- > 0;)
            if (buffer.copies[i].space != move.target && buffer.copies[i].users == 0)
                copies_.drop(id, buffer.copies[i].space, EvictionReason::evicted);
        return;
    }
    SpillSpace& target = state_.spaces[move.target];
    ++target.counters.fetches;
    target.counters.copied_in += buffer.size;
    if (move.kind == MoveKind::ahead)
        target.counters.prefetched += buffer.size;
    else if (state_.options.forecast && state_.machine.spaces[move.target].id.tier == Tier::gpu)
        target.ahead.fetched.push_back(id);
    buffer.ahead = move.kind == MoveKind::ahead && buffer.waiting.empty();
    // Of two tiers the slower copy stays as a spare, in whichever direction the bytes went.
    const bool spare =
        state_.machine.spaces[move.source].id.tier != state_.machine.spaces[move.target].id.tier;
    if (buffer.copy_in(move.source)->users == 0 && !(spare && state_.options.keep_clean))
        copies_.drop(id, move.source, EvictionReason::evicted);
}

// Actions: moves that fail.

void Moves::give_up(std::uint32_t id, Error* why) {
    const BufferMove& move = *state_.buffers[id].move;
    if (!move.charge)
        leave_line(id);
    else if (move.fetches())
        state_.report(id, move.target, BufferEvent::Kind::failed);
    come_to_nothing(id, MoveEnd::Outcome::no_room, why);
}

void Moves::fail(std::uint32_t id, Error* why) {
    const BufferMove& move = *state_.buffers[id].move;
    if (move.fetches())
        state_.report(id, move.target, BufferEvent::Kind::failed);
    ++state_.spaces[move.target].counters.failed;
    last_failure_ = *why;
    if (FreeRequest* request = move.spills() ? leaving_.find(move.request) : nullptr) {
        ++request->report.failed_copies;
        request->report.last_failure = *why;
    }
    come_to_nothing(id, MoveEnd::Outcome::failed, why);
}

// The buffer stays where it is, and whoever requested the move gets the error.
void Moves::come_to_nothing(std::uint32_t id, MoveEnd::Outcome outcome, Error* why) {
    free_target(id);
    const BufferMove move = take(id);
    if (move.kind == MoveKind::create) {
        state_.refuse(move.request, std::move(*why));
        destroy(id);
        return end(id);
    }
    if (move.spills()) {
        state_.report(id, move.source, BufferEvent::Kind::failed);
        state_.set_failed_aside(id);
        outcome = MoveEnd::Outcome::abandoned;  // nobody waits for that
    }
    state_.agenda.post(MoveEnd{id, move.target, outcome, std::make_unique<Error>(std::move(*why))});
}

void Moves::withdraw(std::uint32_t id, Error*) {
    leave_line(id);
    ++state_.spaces[take(id).target].counters.cancelled;
}

void Moves::stop(std::uint32_t id, Error*) {
    const BufferMove& move = *state_.buffers[id].move;
    ++state_.spaces[move.target].counters.cancelled;
    if (move.copy)
        state_.work.cancelling.push_back(*move.copy);
}

void Moves::abandon(std::uint32_t id, Error*) {
    free_target(id);
    const std::size_t target = take(id).target;
    state_.agenda.post(MoveEnd{id, target, MoveEnd::Outcome::abandoned, {}});
}

void Moves::retire(std::uint32_t id, Error*) {
    if (state_.buffers[id].move) {
        free_target(id);
        (void)take(id);
    }
    copies_.end_buffer(id);
}

// The move has ended: its buffer is released, and only what this returns is left. What was to leave
// its source stays there for now.
BufferMove Moves::take(std::uint32_t id) {
    SpillBuffer& buffer = state_.buffers[id];
    BufferMove move = std::move(*buffer.move);
    buffer.move.reset();
    if (move.kind == MoveKind::evict)
        leaving_.note_staying(move.source, move.request, move.credit);
    moving_[move.moving_index] = moving_.back();
    if (moving_.back() != id)
        state_.buffers[moving_.back()].move->moving_index = move.moving_index;
    moving_.pop_back();
    SpillSpace& target = state_.spaces[move.target];
    if (move.source != kNoSpace) {
        state_.spaces[move.source].out_queued -= move.size;
        target.in_queued -= move.size;
    }
    if (move.kind == MoveKind::overwrite)
        --buffer.hold.writers;
    else if (move.source != kNoSpace)
        --buffer.hold.readers;
    return move;
}

// The location that was to be filled is freed, with its bytes.
void Moves::free_target(std::uint32_t id) {
    const SpillBuffer& buffer = state_.buffers[id];
    BufferMove& move = *state_.buffers[id].move;
    if (!move.charge)
        return;
    DeferredFree deferred;
    deferred.space = move.target;
    deferred.charge = std::exchange(move.charge, {});
    deferred.credit = deferred.charge.size;
    if (move.location.size != 0 && buffer.range && buffer.own_space == move.target)
        deferred.owner = state_.ref_of(id);
    if (move.location.size != 0)
        deferred.location = std::exchange(move.location, {});
    leaving_.add(std::move(deferred));
}

// Figures.

std::size_t Moves::best_source(const SpillBuffer& buffer, std::size_t target) const {
    std::size_t best = kNoSpace;
    double best_rate = 0;
    for (const BufferCopy& copy : buffer.copies) {
        const double rate_there = copy.hollow ? 0 : state_.rate(copy.space, target);
        if (rate_there > best_rate) {
            best = copy.space;
            best_rate = rate_there;
        }
    }
    return best;
}

std::size_t Moves::in_flight() const {
    return static_cast<std::size_t>(std::ranges::count_if(
        moving_, [&](std::uint32_t id) { return !state_.buffers[id].lines_up(); }));
}

std::string_view to_text(BufferState state) {
    constexpr std::string_view kNames[] = {"gone",       "resident", "waiting",   "parked",
                                           "allocating", "copying",  "abandoned", "ending"};
    return kNames[static_cast<std::size_t>(state)];
}

std::string_view to_text(Moves::Event event) {
    constexpr std::string_view kNames[] = {
        "begun",   "charged", "must wait", "woken",     "redirected", "refused", "placed",
        "put off", "filled",  "failed",    "cancelled", "destroyed",  "ended"};
    return kNames[static_cast<std::size_t>(event)];
}

}  // namespace tidemark
