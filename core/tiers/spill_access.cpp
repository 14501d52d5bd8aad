// Who gets access to a buffer when: first come, first served, per buffer.
#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/tiers/spill_engine.h"

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
        SpillCounters& counters = spaces_[space].counters;
        ++(buffer->copy_in(space) ? counters.hits : counters.misses);
        buffer->waiting.push_back({request, space, spec});
        ++waiting_accesses_;
        serve(to_integer(ref.id));
    }
    return request;
}

void SpillEngine::release(BufferRef ref, SpaceId space, AccessMode mode,
                          std::optional<UsePoint> point) {
    SpillBuffer* buffer = find(ref);
    TM_CHECK(buffer);
    BufferCopy* copy = buffer->copy_in(position(space));
    TM_CHECK(copy && copy->users > 0);
    --copy->users;
    if (mode == AccessMode::read)
        buffer->lock.end_read();
    else if (mode == AccessMode::pin)
        buffer->lock.end_pin();
    else
        buffer->lock.end_write();
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
    changed_ = true;
    serve(to_integer(ref.id));
}

void SpillEngine::serve(std::uint32_t id) {
    while (!buffers_[id].waiting.empty() && serve_first(id)) {
    }
}

// Whether the first one has been answered.
bool SpillEngine::serve_first(std::uint32_t id) {
    const WaitingAccess access = buffers_[id].waiting.front();
    const bool writes =
        access.spec.mode == AccessMode::write || access.spec.mode == AccessMode::overwrite;
    return writes ? serve_writer(id, access) : serve_reader(id, access);
}

bool SpillEngine::serve_reader(std::uint32_t id, const WaitingAccess& access) {
    SpillBuffer& buffer = buffers_[id];
    if (!buffer.copy_in(access.space)) {
        if (buffer.lock.state().writing())
            return false;
        return fetch_for(id, access);
    }
    if (access.spec.mode == AccessMode::read && !buffer.lock.try_read())
        return false;
    if (access.spec.mode == AccessMode::pin)
        TM_CHECK(buffer.lock.try_pin());  // the engine moves as a reader
    // A copy that is used here needn't leave. One that has not begun needn't be made.
    if (buffer.move && buffer.move->source == access.space && buffer.move->evict) {
        buffer.move->evict = false;
        if (buffer.move->stage == MoveStage::lining)
            (void)cancel_move(id);
    }
    grant(id, access.space, access);
    return true;
}

bool SpillEngine::serve_writer(std::uint32_t id, const WaitingAccess& access) {
    SpillBuffer& buffer = buffers_[id];
    if (buffer.move && buffer.move->target == access.space && !buffer.move->cancelled)
        return false;
    if (buffer.move && !cancel_move(id))
        return false;  // served again at its end
    const bool used_elsewhere = std::any_of(
        buffer.copies.begin(), buffer.copies.end(),
        [&](const BufferCopy& copy) { return copy.space != access.space && copy.users != 0; });
    if (!buffer.copy_in(access.space)) {
        if (buffer.lock.state().writing() ||
            (access.spec.mode == AccessMode::overwrite && used_elsewhere))
            return false;
        return fetch_for(id, access);
    }
    if (used_elsewhere || !buffer.lock.try_write())
        return false;
    grant(id, access.space, access);
    return true;
}

// Answers the first one; the lock is taken.
void SpillEngine::grant(std::uint32_t id, std::size_t space, const WaitingAccess& access) {
    SpillBuffer& buffer = buffers_[id];
    const AccessMode mode = access.spec.mode;
    const bool writes = mode == AccessMode::write || mode == AccessMode::overwrite;
    SpillAnswer answer;
    answer.request = access.request;
    answer.buffer = ref_of(id);
    answer.mode = mode;
    answer.place = buffer.copy_in(space)->place;
    for (const UsePoint& use : buffer.uses)
        if (use.space == answer.place.space && use.stream != access.spec.stream &&
            (use.wrote || writes))
            answer.after.push_back(use);
    buffer.waiting.erase(buffer.waiting.begin());
    --waiting_accesses_;
    if (mode != AccessMode::prefetch)
        ++buffer.copy_in(space)->users;
    for (std::size_t i = buffer.copies.size(); writes && i-- > 0;)
        if (buffer.copies[i].space != space)
            drop_copy(id, buffer.copies[i].space, Departure::evicted, RequestId::none);
    if (mode != AccessMode::prefetch)
        touch(id, space);
    work_.answers.push_back(std::move(answer));
    changed_ = true;
}

// Has the buffer brought to where the first access wants it. True: that was refused.
bool SpillEngine::fetch_for(std::uint32_t id, const WaitingAccess& access) {
    SpillBuffer& buffer = buffers_[id];
    if (buffer.move) {
        if (buffer.move->target == access.space) {
            buffer.move->polite = buffer.move->polite && !access.spec.make_room;
            return false;
        }
        if (!cancel_move(id))
            return false;  // served again at its end
    }
    const bool copies = access.spec.mode != AccessMode::overwrite;
    BufferMove move;
    move.kind = MoveKind::fetch;
    move.target = access.space;
    move.source = copies ? best_source(buffer, access.space) : kNoSpace;
    move.polite = !access.spec.make_room;
    move.patient = access.spec.patient;
    move.reservation = access.spec.reservation;
    move.writing = !copies;
    if (copies && move.source == kNoSpace) {
        fail_first(id, {StoreFault::unsupported,
                        {ErrorCode::unsupported, "no link from where the buffer is",
                         to_text(access.spec.space), ""}});
        return true;
    }
    begin_move(id, std::move(move));
    return false;
}

void SpillEngine::fail_first(std::uint32_t id, StoreError error) {
    SpillBuffer& buffer = buffers_[id];
    refuse(buffer.waiting.front().request, std::move(error));
    buffer.waiting.erase(buffer.waiting.begin());
    --waiting_accesses_;
    changed_ = true;
}

}  // namespace tidemark
