// See holds.h.
#include "core/tiers/engine/holds.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"

namespace tidemark {
namespace {

// How pins hold the buffer, as one access.
AccessMode mode_of(bool writers) {
    return writers ? AccessMode::share : AccessMode::pin;
}

}  // namespace

bool Holds::may_hold(const SpillBuffer& buffer, std::size_t space, AccessMode mode) const {
    const BufferHold& hold = buffer.hold;
    if (writes(mode))
        return hold.writers == 0 && (hold.sharers == 0 || mode == AccessMode::share) &&
               hold.readers == 0 && !used_elsewhere(buffer, space);
    if (mode == AccessMode::prefetch)
        return true;
    if (mode == AccessMode::read)
        return !hold.written();
    const bool others_stay =
        hold.writers == 0 && (hold.sharers == 0 || buffer.copy_in(space)->users != 0);
    return others_stay || (buffer.copies.size() == 1 && !buffer.move);
}

void Holds::hold(std::uint32_t id, std::size_t index, AccessMode mode) {
    SpillBuffer& buffer = state_.buffers[id];
    BufferCopy& copy = *buffer.copy_in(index);
    ++count(buffer.hold, mode);
    if (copy.users++ != 0)
        return;
    SpillSpace& space = state_.spaces[index];
    const ReservationId payer = copy.charge.origin;
    copy.held = payer == ReservationId{} || !space.memory->find(payer) ? copy.charge.size : 0;
    space.held += copy.held;
}

void Holds::let_go(std::uint32_t id, std::size_t space, AccessMode mode) {
    SpillBuffer& buffer = state_.buffers[id];
    BufferCopy* copy = buffer.copy_in(space);
    TM_CHECK(copy && copy->users > 0 && count(buffer.hold, mode) > 0);
    if (--copy->users == 0)
        state_.spaces[space].held -= std::exchange(copy->held, 0);
    --count(buffer.hold, mode);
}

std::uint32_t& Holds::count(BufferHold& hold, AccessMode mode) {
    if (mode == AccessMode::write || mode == AccessMode::overwrite)
        return hold.writers;
    if (mode == AccessMode::read)
        return hold.readers;
    return mode == AccessMode::share ? hold.sharers : hold.pins;
}

bool Holds::used_elsewhere(const SpillBuffer& buffer, std::size_t space) const {
    return std::ranges::any_of(buffer.copies, [&](const BufferCopy& copy) {
        return copy.space != space && copy.users != 0;
    });
}

void Holds::seal(std::uint32_t id) {
    SpillBuffer& buffer = state_.buffers[id];
    if (!buffer.gate)
        return;
    Gate::State before;
    buffer.gate->seal(before);
    if (before.pins == 0)
        settle_notes(id, before.writers);
    else if (!before.sealed)
        hold(id, buffer.own_space, mode_of(before.writers));
}

bool Holds::try_shut(std::uint32_t id) {
    SpillBuffer& buffer = state_.buffers[id];
    Gate::State before;
    if (buffer.gate && !buffer.gate->shut(before))
        return false;
    if (buffer.gate)
        settle_notes(id, before.writers);
    return true;
}

void Holds::unsealed(std::uint32_t id, bool writers) {
    settle_notes(id, writers);
    let_go(id, state_.buffers[id].own_space, mode_of(writers));
}

void Holds::admit(std::uint32_t id, bool write) {
    SpillBuffer& buffer = state_.buffers[id];
    const bool sealed =
        !buffer.waiting.empty() || buffer.state != BufferState::resident || state_.closing;
    Gate::State before;
    buffer.gate->admit(write, sealed, before);
    buffer.seen_uses = before.uses + 1;
    if (sealed)
        hold(id, buffer.own_space, mode_of(write || before.writers));
    if (before.sealed)
        let_go(id, buffer.own_space, mode_of(before.writers));
    let_go(id, buffer.own_space, mode_of(write));
}

void Holds::note_use(SpillBuffer& buffer, UsePoint point) {
    // A write's stream waited for everything before it; a stream's later point covers its earlier
    // ones.
    std::erase_if(buffer.uses, [&](const UsePoint& use) {
        const bool covered = use.stream == point.stream || point.wrote;
        if (use.space != point.space || !covered)
            return false;
        point.wrote = point.wrote || use.wrote;
        return true;
    });
    buffer.uses.push_back(point);
}

void Holds::settle_notes(std::uint32_t id, bool wrote) {
    SpillBuffer& buffer = state_.buffers[id];
    for (const StreamId stream : buffer.gate->take_notes())
        settle(buffer, stream, wrote);
}

// Nothing orders the streams of its pins: a point covers only its own stream.
void Holds::settle(SpillBuffer& buffer, StreamId stream, bool wrote) {
    std::optional<UsePoint> point =
        record_(state_.machine.spaces[buffer.own_space].id, stream, wrote);
    if (!point)
        return;
    std::erase_if(buffer.uses, [&](const UsePoint& use) {
        const bool covered = use.space == point->space && use.stream == point->stream;
        point->wrote = point->wrote || (covered && use.wrote);
        return covered;
    });
    buffer.uses.push_back(*point);
}

std::vector<UsePoint> Holds::points(BufferRef ref) {
    SpillBuffer* buffer = state_.find(ref);
    if (!buffer)
        return {};
    if (buffer->gate)
        settle_notes(to_integer(ref.id), buffer->gate->state().writers);
    return buffer->uses;
}

std::vector<UsePoint> Holds::points_before(BufferRef ref, const AccessSpec& spec) const {
    std::vector<UsePoint> points;
    if (const SpillBuffer* buffer = state_.find(ref))
        for (const UsePoint& use : buffer->uses)
            if (use.space == spec.space && use.stream != spec.stream &&
                (use.wrote || writes(spec.mode)))
                points.push_back(use);
    return points;
}

void Holds::stream_ended(StreamId stream) {
    for (SpillBuffer& buffer : state_.buffers)
        if (buffer.gate && buffer.gate->take_note(stream))
            settle(buffer, stream, buffer.gate->state().writers);
}

}  // namespace tidemark
