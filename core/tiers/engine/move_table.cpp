// The steps of a move that leave nobody waiting.
#include "core/tiers/engine/move_table.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"

namespace tidemark {

void MoveTable::begin(std::uint32_t id, BufferMove move) {
    SpillBuffer& buffer = state_.buffers[id];
    TM_CHECK(!buffer.move);
    if (move.writing)
        TM_CHECK(buffer.hold.try_write());
    else if (move.source != kNoSpace)
        TM_CHECK(buffer.hold.try_read());
    move.size = buffer.size;
    if (move.source != kNoSpace) {
        state_.spaces[move.source].out_queued += buffer.size;
        state_.spaces[move.target].in_queued += buffer.size;
    }
    if (move.evict) {
        move.credit = copies_.credit(*buffer.copy_in(move.source));
        leaving_.note_leaving(move.source, move.claim, move.credit);
    }
    move.moving_index = moving_.size();
    buffer.move = std::move(move);
    moving_.push_back(id);
    line_up(id, false);
}

void MoveTable::line_up(std::uint32_t id, bool first) {
    BufferMove& move = *state_.buffers[id].move;
    move.stage = MoveStage::lining;
    move.serial = ++serials_;
    SpillSpace& target = state_.spaces[move.target];
    target.lined += move.size;
    if (first)
        target.line.push_front({id, move.serial});
    else
        target.line.push_back({id, move.serial});
    state_.changed = true;
}

BufferMove MoveTable::end(std::uint32_t id) {
    SpillBuffer& buffer = state_.buffers[id];
    stay(*buffer.move);
    BufferMove move = std::move(*buffer.move);
    buffer.move.reset();
    moving_[move.moving_index] = moving_.back();
    state_.buffers[moving_.back()].set_moving_index(move.moving_index);
    moving_.pop_back();
    if (move.stage == MoveStage::lining)
        state_.spaces[move.target].lined -= move.size;
    if (move.source != kNoSpace) {
        state_.spaces[move.source].out_queued -= buffer.size;
        state_.spaces[move.target].in_queued -= buffer.size;
    }
    if (move.writing)
        buffer.hold.writing = false;
    else if (move.source != kNoSpace)
        --buffer.hold.readers;
    state_.changed = true;
    return move;
}

void MoveTable::stay(BufferMove& move) {
    if (std::exchange(move.evict, false))
        leaving_.note_staying(move.source, move.claim, move.credit);
}

bool MoveTable::cancel(std::uint32_t id) {
    BufferMove& move = *state_.buffers[id].move;
    if (!move.cancelled)
        ++state_.spaces[move.target].counters.cancelled;
    move.cancelled = true;
    if (move.copy)
        state_.work.cancelling.push_back(*move.copy);
    if (move.stage != MoveStage::lining)
        return false;
    (void)end(id);
    return true;
}

void MoveTable::give_up_target(std::uint32_t id) {
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

bool MoveTable::try_next_target(std::uint32_t id) {
    BufferMove& move = *state_.buffers[id].move;
    if (move.others.empty())
        return false;
    const Bytes size = state_.buffers[id].size;
    const bool copies = move.source != kNoSpace;
    if (move.stage == MoveStage::lining)
        state_.spaces[move.target].lined -= move.size;
    state_.spaces[move.target].in_queued -= copies ? size : 0;
    move.target = move.others.front();
    state_.spaces[move.target].in_queued += copies ? size : 0;
    move.others.erase(move.others.begin());
    move.reservation = {};
    move.refusals = 0;
    move.owed = 0;
    line_up(id, false);
    return true;
}

std::size_t MoveTable::best_source(const SpillBuffer& buffer, std::size_t target) const {
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

void MoveTable::started(BufferRef ref, CopyId copy) {
    BufferMove& move = *state_.buffers[to_integer(ref.id)].move;
    move.copy = copy;
    if (move.cancelled)
        state_.work.cancelling.push_back(copy);
}

std::size_t MoveTable::in_flight() const {
    return static_cast<std::size_t>(std::count_if(
        moving_.begin(), moving_.end(),
        [&](std::uint32_t id) { return state_.buffers[id].move->stage != MoveStage::lining; }));
}

void MoveTable::pay_owed(std::size_t space, Bytes freed) {
    for (const std::uint32_t id : moving_) {
        BufferMove& move = *state_.buffers[id].move;
        if (move.stage == MoveStage::lining && move.target == space)
            move.owed -= std::min(move.owed, freed);
    }
}

}  // namespace tidemark
