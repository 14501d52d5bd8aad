// Who gets a buffer when: first come, first served, per buffer.
#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/tiers/engine/spill_engine.h"

namespace tidemark {

RequestId SpillEngine::access(BufferRef ref, const AccessSpec& spec) {
    const RequestId request{++requests_};
    SpillBuffer* buffer = find(ref);
    const std::size_t space = position(spec.space);
    if (closing_) {
        refuse(request, {StoreFault::shut_down, {}});
    } else if (!buffer || buffer->doomed) {
        refuse(request, {StoreFault::not_found, {}});
    } else if (space == kNoSpace || encoded_in(*buffer, space)) {
        refuse(request, {StoreFault::unsupported,
                         {ErrorCode::bad_option, "no access to the buffer's bytes there",
                          to_text(spec.space), "a space of the machine where it isn't encoded"}});
    } else {
        unbar();
        count_wish(to_integer(ref.id), space, spec.mode);
        const std::uint32_t group = new_group(request, spec);
        groups_[group].uses.push_back({{ref, spec.mode, 0}, false});
        enter(group);
    }
    return request;
}

Place SpillEngine::place(BufferRef ref, SpaceId space) const {
    const SpillBuffer* buffer = find(ref);
    const BufferCopy* copy = buffer ? buffer->copy_in(position(space)) : nullptr;
    TM_CHECK(copy);
    return copy->place;
}

std::vector<UsePoint> SpillEngine::points_before(BufferRef ref, const AccessSpec& spec) const {
    std::vector<UsePoint> points;
    if (const SpillBuffer* buffer = find(ref))
        for (const UsePoint& use : buffer->uses)
            if (use.space == spec.space && use.stream != spec.stream &&
                (use.wrote || writes(spec.mode)))
                points.push_back(use);
    return points;
}

void SpillEngine::hold(BufferCopy& copy) {
    if (copy.users++ != 0)
        return;
    SpillSpace& space = spaces_[copy.space];
    const ReservationId payer = copy.charge.origin;
    copy.held = payer == ReservationId{} || !space.memory->find(payer);
    space.held += copy.held ? copy.charge.size : 0;
}

void SpillEngine::let_go(std::uint32_t id, std::size_t space, AccessMode mode) {
    SpillBuffer& buffer = buffers_[id];
    BufferCopy* copy = buffer.copy_in(space);
    TM_CHECK(copy && copy->users > 0);
    if (--copy->users == 0 && copy->held)
        spaces_[space].held -= copy->charge.size;
    if (mode == AccessMode::read) {
        TM_CHECK(buffer.hold.readers > 0);
        --buffer.hold.readers;
    } else if (mode == AccessMode::pin) {
        TM_CHECK(buffer.hold.pins > 0);
        --buffer.hold.pins;
    } else {
        TM_CHECK(buffer.hold.writing);
        buffer.hold.writing = false;
    }
}

void SpillEngine::release(BufferRef ref, SpaceId space, AccessMode mode,
                          std::optional<UsePoint> point) {
    SpillBuffer* buffer = find(ref);
    TM_CHECK(buffer);
    let_go(to_integer(ref.id), position(space), mode);
    if (point) {
        // A write's stream waited for everything before it; a stream's later point covers its
        // earlier ones.
        std::erase_if(buffer->uses, [&](const UsePoint& use) {
            const bool covered = use.stream == point->stream || point->wrote;
            if (use.space != space || !covered)
                return false;
            point->wrote = point->wrote || use.wrote;
            return true;
        });
        buffer->uses.push_back(*point);
    }
    if (!anybody_waits())
        return;
    changed_ = stirred_ = let_go_ = true;
    serve(to_integer(ref.id));
}

void SpillEngine::serve(std::uint32_t id) {
    if (buffers_[id].doomed || closing_)
        return;  // whoever waits is being refused
    while (!buffers_[id].waiting.empty() && serve_first(id)) {
    }
}

// Whether the first one has been dealt with.
bool SpillEngine::serve_first(std::uint32_t id) {
    const WaitingUse waiting = buffers_[id].waiting.front();
    return writes(groups_[waiting.group].uses[waiting.use].wish.mode) ? serve_writer(id, waiting)
                                                                      : serve_reader(id, waiting);
}

bool SpillEngine::serve_reader(std::uint32_t id, WaitingUse waiting) {
    SpillBuffer& buffer = buffers_[id];
    const std::size_t space = groups_[waiting.group].space;
    const AccessMode mode = groups_[waiting.group].uses[waiting.use].wish.mode;
    if (!buffer.copy_in(space)) {
        if (buffer.hold.writing)
            return false;
        return fetch_for(id, waiting);
    }
    if (mode == AccessMode::read && !buffer.hold.try_read())
        return false;
    if (mode == AccessMode::pin && !buffer.try_pin())
        return false;
    // A copy that is used here needn't leave. One that has not begun needn't be made.
    if (buffer.move && buffer.move->source == space && buffer.move->evict) {
        stay(*buffer.move);
        if (buffer.move->stage == MoveStage::lining)
            (void)cancel_move(id);
    }
    grant(id, waiting);
    return true;
}

bool SpillEngine::used_elsewhere(const SpillBuffer& buffer, std::size_t space) const {
    return std::any_of(buffer.copies.begin(), buffer.copies.end(), [&](const BufferCopy& copy) {
        return copy.space != space && copy.users != 0;
    });
}

bool SpillEngine::serve_writer(std::uint32_t id, WaitingUse waiting) {
    SpillBuffer& buffer = buffers_[id];
    const std::size_t space = groups_[waiting.group].space;
    const AccessMode mode = groups_[waiting.group].uses[waiting.use].wish.mode;
    if (buffer.move && buffer.move->target == space && !buffer.move->cancelled)
        return false;
    if (buffer.move && !cancel_move(id))
        return false;  // served again at its end
    if (!buffer.copy_in(space)) {
        if (buffer.hold.writing || (mode == AccessMode::overwrite &&
                                    (buffer.hold.readers != 0 || used_elsewhere(buffer, space))))
            return false;
        return fetch_for(id, waiting);
    }
    if (used_elsewhere(buffer, space) || !buffer.hold.try_write())
        return false;
    grant(id, waiting);
    return true;
}

// The first one has its buffer.
void SpillEngine::grant(std::uint32_t id, WaitingUse waiting) {
    SpillBuffer& buffer = buffers_[id];
    AccessGroup& group = groups_[waiting.group];
    AccessGroup::Use& use = group.uses[waiting.use];
    buffer.waiting.erase(buffer.waiting.begin());
    --waiting_accesses_;
    if (use.wish.mode != AccessMode::prefetch)
        hold(*buffer.copy_in(group.space));
    use.granted = true;
    changed_ = true;
    if (--group.missing == 0)
        complete(waiting.group);
}

// Has the buffer brought to where the first access wants it. True: that was dealt with otherwise.
bool SpillEngine::fetch_for(std::uint32_t id, WaitingUse waiting) {
    SpillBuffer& buffer = buffers_[id];
    const AccessGroup& group = groups_[waiting.group];
    const std::size_t space = group.space;
    if (buffer.move) {
        if (buffer.move->target == space) {
            buffer.move->polite = buffer.move->polite && !group.spec.make_room;
            return false;
        }
        if (!cancel_move(id))
            return false;  // served again at its end
    }
    const bool overwrites = group.uses[waiting.use].wish.mode == AccessMode::overwrite;
    const bool copies = !overwrites && !buffer.blank;
    BufferMove move;
    move.kind = MoveKind::fetch;
    move.target = space;
    move.source = copies ? best_source(buffer, space) : kNoSpace;
    move.polite = !group.spec.make_room;
    move.reservation = group.spec.reservation;
    const bool own = move.reservation == ReservationId{} && buffer.home == space;
    if (own && spaces_[space].memory->find(buffer.reservation))
        move.reservation = buffer.reservation;
    move.writing = overwrites;
    if (copies && move.source == kNoSpace) {
        fail_first(id, {StoreFault::unsupported,
                        {ErrorCode::unsupported, "no link from where the buffer is",
                         to_text(group.spec.space), ""}});
        return true;
    }
    begin_move(id, std::move(move));
    return false;
}

}  // namespace tidemark
