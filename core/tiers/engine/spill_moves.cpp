// Moves: a copy's way from the line for room to its end, well or not.
#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/tiers/engine/spill_engine.h"

namespace tidemark {

// The valid copy with the fastest way to `target`; kNoSpace: there is none.
std::size_t SpillEngine::best_source(const SpillBuffer& buffer, std::size_t target) const {
    std::size_t best = kNoSpace;
    double best_rate = 0;
    for (const BufferCopy& copy : buffer.copies) {
        const double rate_there = copy.hollow ? 0 : rate(copy.space, target);
        if (rate_there > best_rate) {
            best = copy.space;
            best_rate = rate_there;
        }
    }
    return best;
}

// What the place has to hold, and what is done to the bytes on the way.
void SpillEngine::size_up(const SpillBuffer& buffer, BufferMove& move) const {
    const BufferCopy* source = move.source == kNoSpace ? nullptr : buffer.copy_in(move.source);
    const bool encoded = encoded_in(buffer, move.target);
    move.recoding = Recoding::none;
    move.size = source ? source->stored : buffer.size;
    if (source && encoded && !source->encoded) {
        move.recoding = Recoding::encode;
        move.size = buffer.representation->most(buffer.size);
    } else if (source && !encoded && source->encoded) {
        move.recoding = Recoding::decode;
        move.size = buffer.size;
    }
}

void SpillEngine::begin_move(std::uint32_t id, BufferMove move) {
    SpillBuffer& buffer = buffers_[id];
    TM_CHECK(!buffer.move);
    if (move.writing)
        TM_CHECK(buffer.hold.try_write());
    else if (move.source != kNoSpace)
        TM_CHECK(buffer.hold.try_read());
    size_up(buffer, move);
    if (move.source != kNoSpace) {
        spaces_[move.source].out_queued += buffer.size;
        spaces_[move.target].in_queued += buffer.size;
    }
    if (move.evict) {
        move.credit = credit(*buffer.copy_in(move.source));
        note_leaving(move.source, move.claim, move.credit);
    }
    move.place_among = moving_.size();
    buffer.move = std::move(move);
    moving_.push_back(id);
    line_up(id, false);
}

void SpillEngine::line_up(std::uint32_t id, bool first) {
    BufferMove& move = *buffers_[id].move;
    move.stage = MoveStage::lining;
    move.serial = ++serials_;
    SpillSpace& target = spaces_[move.target];
    target.lined += move.size;
    if (first)
        target.line.push_front({id, move.serial});
    else
        target.line.push_back({id, move.serial});
    changed_ = true;
}

// The move is over: the buffer is let go, and nothing is left of it but what it returns.
BufferMove SpillEngine::end_move(std::uint32_t id) {
    SpillBuffer& buffer = buffers_[id];
    stay(*buffer.move);
    BufferMove move = std::move(*buffer.move);
    buffer.move.reset();
    moving_[move.place_among] = moving_.back();
    buffers_[moving_.back()].move_place(move.place_among);
    moving_.pop_back();
    if (move.stage == MoveStage::lining)
        spaces_[move.target].lined -= move.size;
    if (move.source != kNoSpace) {
        spaces_[move.source].out_queued -= buffer.size;
        spaces_[move.target].in_queued -= buffer.size;
    }
    if (move.writing)
        buffer.hold.writing = false;
    else if (move.source != kNoSpace)
        --buffer.hold.readers;
    changed_ = true;
    return move;
}

// What was to leave its source doesn't any more.
void SpillEngine::stay(BufferMove& move) {
    if (std::exchange(move.evict, false))
        note_left(move.source, move.claim, move.credit);
}

void SpillEngine::after_move(std::uint32_t id) {
    if (buffers_[id].doomed)
        end_buffer(id);
    else
        serve(id);
}

// Nobody wants the move's result. True: it is over; else it ends later, and after_move() follows.
bool SpillEngine::cancel_move(std::uint32_t id) {
    BufferMove& move = *buffers_[id].move;
    if (!move.cancelled)
        ++spaces_[move.target].counters.cancelled;
    move.cancelled = true;
    if (move.copy)
        work_.cancelling.push_back(*move.copy);
    if (move.stage != MoveStage::lining)
        return false;
    (void)end_move(id);
    return true;
}

// The place that was to be filled, and its bytes, go back.
void SpillEngine::give_up_target(BufferMove& move) {
    if (!move.charge)
        return;
    PlaceDeparture departure;
    departure.space = move.target;
    departure.charge = std::exchange(move.charge, {});
    departure.credit = departure.charge.size;
    if (move.place.size != 0)
        departure.place = std::exchange(move.place, {});
    depart(std::move(departure));
}

void SpillEngine::placed(BufferRef ref, tl::expected<Place, PlaceRefusal> place) {
    const std::uint32_t id = to_integer(ref.id);
    SpillBuffer& buffer = buffers_[id];
    TM_CHECK(buffer.move && buffer.move->stage == MoveStage::making);
    BufferMove& move = *buffer.move;
    if (place)
        move.place = *place;
    if (move.cancelled) {
        give_up_target(move);
        (void)end_move(id);
        after_move(id);
        return;
    }
    if (!place) {
        give_up_target(move);
        const bool again = place.error().no_room && ++move.refusals < options_.place_attempts;
        StoreError error{place.error().no_room ? StoreFault::no_room : StoreFault::failed,
                         std::move(place.error().error)};
        if (again) {
            move.owed = move.size;
            line_up(id, true);
        } else if (!try_next_target(id)) {
            fail_move(id, std::move(error));
        }
        return;
    }
    if (move.source == kNoSpace) {
        fill(id, buffer.size);
        return;
    }
    move.stage = MoveStage::copying;
    const BufferCopy* source = buffer.copy_in(move.source);
    CopyOrder order;
    order.source = source->place;
    order.target = move.place;
    order.size = source->stored;
    order.buffer = ref.id;
    order.recoding = move.recoding;
    if (move.recoding != Recoding::none)
        order.representation = buffer.representation;
    for (const UsePoint& use : buffer.uses)
        if (use.space == source->place.space && use.wrote)
            order.after.push_back(use);
    work_.starting.push_back({ref, std::move(order)});
}

void SpillEngine::started(BufferRef ref, CopyId copy) {
    BufferMove& move = *buffers_[to_integer(ref.id)].move;
    move.copy = copy;
    if (move.cancelled)
        work_.cancelling.push_back(copy);
}

std::pair<Charge, Place> SpillEngine::filled(BufferRef ref) const {
    const BufferMove& move = *buffers_[to_integer(ref.id)].move;
    return {move.charge, move.place};
}

void SpillEngine::set_filled(BufferRef ref, const Charge& charge, const Place& place) {
    BufferMove& move = *buffers_[to_integer(ref.id)].move;
    spaces_[move.target].charged -= move.charge.size - charge.size;
    move.charge = charge;
    move.place = place;
    changed_ = true;
}

void SpillEngine::copied(BufferRef ref, CopyDone done) {
    const std::uint32_t id = to_integer(ref.id);
    BufferMove& move = *buffers_[id].move;
    TM_CHECK(move.stage == MoveStage::copying);
    if (move.cancelled || done.end == CopyEnd::cancelled) {
        give_up_target(move);
        (void)end_move(id);
        after_move(id);
    } else if (done.end == CopyEnd::failed) {
        give_up_target(move);
        fail_move(id, {StoreFault::failed, std::move(done.error)});
    } else {
        fill(id, done.stored);
    }
}

// The target's place holds the bytes: it is a copy from now on.
void SpillEngine::fill(std::uint32_t id, Bytes stored) {
    const bool evict = buffers_[id].move->evict;
    BufferMove move = end_move(id);
    move.evict = evict;
    SpillBuffer& buffer = buffers_[id];
    BufferCopy copy;
    copy.space = move.target;
    copy.place = move.place;
    copy.stored = stored;
    copy.charge = move.charge;
    copy.encoded = encoded_in(buffer, move.target);
    add_copy(id, std::move(copy));
    if (move.kind == MoveKind::create) {
        SpillAnswer answer;
        answer.request = std::exchange(buffer.creation, RequestId::none);
        answer.buffer = ref_of(id);
        answer.place = move.place;
        work_.answers.push_back(std::move(answer));
    } else if (move.kind == MoveKind::spill) {
        filled_by_spill(id, move);
    } else {
        filled_by_fetch(id, move);
    }
    after_move(id);
    // The writer that it was made for may be gone.
    const BufferCopy* made = buffers_[id].copy_in(move.target);
    if (made && made->hollow && made->users == 0)
        drop_copy(id, move.target, Departure::evicted, RequestId::none);
}

void SpillEngine::filled_by_spill(std::uint32_t id, const BufferMove& move) {
    SpillBuffer& buffer = buffers_[id];
    SpillCounters& counters = spaces_[move.source].counters;
    ++counters.spills;
    counters.copied_out += buffer.copy_in(move.source)->stored;
    // Whoever came to use it meanwhile keeps it; then the new copy is a spare.
    if (!move.evict || buffer.copy_in(move.source)->users != 0)
        return;
    asking_ = move.asking;
    drop_copy(id, move.source, Departure::evicted, move.claim);
    asking_ = {};
    note_gone(id, move.source);
    if (options_.forecast) {
        std::uint64_t& earliest = spaces_[move.source].ahead.earliest_evicted;
        earliest = std::min(earliest, options_.forecast->next_use(BufferId{id}));
    }
}

void SpillEngine::filled_by_fetch(std::uint32_t id, const BufferMove& move) {
    SpillBuffer& buffer = buffers_[id];
    if (buffer.gone_from == move.target)
        forget_gone(id);
    if (move.writing) {
        // What it was made for fills it; until then the bytes are elsewhere.
        buffer.copy_in(move.target)->hollow = buffer.copies.size() > 1;
        return;
    }
    if (move.source == kNoSpace) {
        // A blank buffer moves by being there; whoever has it elsewhere keeps it.
        for (std::size_t i = buffer.copies.size(); i-- > 0;)
            if (buffer.copies[i].space != move.target && buffer.copies[i].users == 0)
                drop_copy(id, buffer.copies[i].space, Departure::evicted, RequestId::none);
        return;
    }
    SpillCounters& counters = spaces_[move.target].counters;
    ++counters.fetches;
    counters.copied_in += buffer.size;
    if (move.kind == MoveKind::upgrade)
        counters.upgraded += buffer.size;
    if (move.ahead)
        counters.prefetched += buffer.size;
    else if (options_.forecast && machine_.spaces[move.target].id.tier == Tier::gpu)
        spaces_[move.target].ahead.fetched.push_back(id);
    buffer.ahead = move.ahead && buffer.waiting.empty();
    const BufferCopy* source = buffer.copy_in(move.source);
    // Of two tiers the slower copy stays as a spare, whichever way the bytes went.
    const bool spare = machine_.spaces[move.source].id.tier != machine_.spaces[move.target].id.tier;
    if (source->users == 0 && !(spare && options_.keep_clean))
        drop_copy(id, move.source, Departure::evicted, RequestId::none);
}

// Goes to the line of the next space that would do. False: there is none.
bool SpillEngine::try_next_target(std::uint32_t id) {
    BufferMove& move = *buffers_[id].move;
    if (move.others.empty())
        return false;
    const Bytes size = buffers_[id].size;
    const bool copies = move.source != kNoSpace;
    if (move.stage == MoveStage::lining)
        spaces_[move.target].lined -= move.size;
    spaces_[move.target].in_queued -= copies ? size : 0;
    move.target = move.others.front();
    spaces_[move.target].in_queued += copies ? size : 0;
    move.others.erase(move.others.begin());
    move.reservation = {};
    move.refusals = 0;
    move.owed = 0;
    size_up(buffers_[id], move);
    line_up(id, false);
    return true;
}

// The move comes to nothing: the buffer stays where it is, and whoever wanted the move hears why.
void SpillEngine::fail_move(std::uint32_t id, StoreError error) {
    const BufferMove move = end_move(id);
    SpillBuffer& buffer = buffers_[id];
    const bool failed = error.fault == StoreFault::failed;
    if (failed) {
        ++spaces_[move.target].counters.failed;
        last_failure_ = error.error;
    }
    if (move.kind == MoveKind::create) {
        refuse(std::exchange(buffer.creation, RequestId::none), std::move(error));
        end_buffer(id);
        return;
    }
    if (move.kind == MoveKind::spill) {
        buffer.barred = true;
        barred_.push_back(id);
        for (FreeRequest& request : frees_) {
            if (!failed || request.request != move.claim)
                continue;
            ++request.report.failed_copies;
            request.report.last_failure = error.error;
        }
    } else if (move.kind == MoveKind::upgrade) {
        forget_gone(id);  // or it would be tried again at once
    } else if (!buffer.waiting.empty() &&
               groups_[buffer.waiting.front().group].space == move.target) {
        if (failed)
            fail_first(id, std::move(error));
        else
            no_room_for_first(id, std::move(error));
    }
    after_move(id);
}

}  // namespace tidemark
