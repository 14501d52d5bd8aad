// Access to buffers: queues of uses, and groups that are granted as a whole or not at all.
#include "core/tiers/engine/access_queue.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/base/text.h"

namespace tidemark {

RequestId AccessQueue::access(BufferRef ref, const AccessSpec& spec) {
    const RequestId request = state_.next_request();
    const std::size_t space = state_.position(spec.space);
    if (state_.closing) {
        state_.refuse(request, closed_error());
    } else if (!state_.find_usable(ref)) {
        state_.refuse(request, gone_error());
    } else if (space == kNoSpace) {
        state_.refuse(request, {ErrorCode::unsupported, "no access to the buffer's bytes there",
                                to_text(spec.space), "a space of the machine"});
    } else {
        state_.retry_failed();
        count_use(to_integer(ref.id), space, spec.mode);
        const std::uint32_t group = new_group(request, spec);
        groups_[group].uses.push_back({{ref, spec.mode, 0}});
        enter(group);
    }
    return request;
}

std::optional<RequestId> AccessQueue::access_all(std::span<const BufferUse> uses,
                                                 const AccessSpec& spec) {
    const std::size_t space = state_.position(spec.space);
    if (grant_at_once(uses, spec, space))
        return std::nullopt;
    const RequestId request = state_.next_request();
    if (state_.closing) {
        state_.refuse(request, closed_error());
        return request;
    }
    Bytes together = 0;
    for (const BufferUse& use : uses) {
        const SpillBuffer* buffer = state_.find_usable(use.buffer);
        if (!buffer || space == kNoSpace) {
            state_.refuse(request,
                          {buffer ? ErrorCode::unsupported : ErrorCode::not_found,
                           "no access to one of the buffers there", to_text(spec.space), ""});
            return request;
        }
        count_use(to_integer(use.buffer.id), space, use.mode);
        together += buffer->size;
    }
    if (together > state_.machine.spaces[space].capacity) {
        state_.refuse(request, {ErrorCode::no_space,
                                "buffers of " + format_bytes(together) + " don't fit together",
                                to_text(spec.space), state_.spaces[space].memory->text()});
        return request;
    }
    state_.retry_failed();
    const std::uint32_t group = new_group(request, spec);
    for (const BufferUse& use : uses)
        groups_[group].uses.push_back({use});
    enter(group);
    return request;
}

// Everything at once, without queues, if nothing prevents it.
bool AccessQueue::grant_at_once(std::span<const BufferUse> uses, const AccessSpec& spec,
                                std::size_t space) {
    if (state_.closing || space == kNoSpace)
        return false;
    for (const BufferUse& use : uses) {
        if (state_.find(use.buffer))
            holds_.seal(to_integer(use.buffer.id));
    }
    for (const BufferUse& use : uses) {
        const SpillBuffer* buffer = state_.find(use.buffer);
        if (!buffer || !free_now(*buffer, use.mode, space))
            return false;
    }
    for (const BufferUse& use : uses) {
        const std::uint32_t id = to_integer(use.buffer.id);
        count_use(id, space, use.mode);
        holds_.hold(id, space, use.mode);
    }
    for (const BufferUse& use : uses) {
        const std::uint32_t id = to_integer(use.buffer.id);
        if (writes(use.mode))
            copies_.drop_others(id, space);
        copies_.touch(id, use, space);
    }
    if (state_.options.prefetch && spec.space.tier == Tier::gpu)
        state_.agenda.post(Happening::advanced);
    return true;
}

bool AccessQueue::free_now(const SpillBuffer& buffer, AccessMode mode, std::size_t space) const {
    return buffer.state == BufferState::resident && buffer.waiting.empty() &&
           buffer.copy_in(space) && holds_.may_hold(buffer, space, mode);
}

void AccessQueue::count_use(std::uint32_t id, std::size_t space, AccessMode mode) {
    const SpillBuffer& buffer = state_.buffers[id];
    SpillCounters& counters = state_.spaces[space].counters;
    const bool there = buffer.copy_in(space) != nullptr;
    ++(there ? counters.hits : counters.misses);
    if (mode == AccessMode::prefetch)
        return;
    counters.used += buffer.size;
    if (there || buffer.blank)
        counters.hit += buffer.size;
    else if (buffer.coming_to(space))
        counters.late += buffer.size;
    else if (mode == AccessMode::overwrite)
        counters.hit += buffer.size;  // there is nothing to fetch
}

void AccessQueue::take_up(std::uint32_t id) {
    Group& group = groups_[id];
    for (const Group::Use& use : group.uses) {
        if (use.mode == AccessMode::prefetch)
            continue;
        const std::uint32_t buffer = to_integer(use.buffer.id);
        if (writes(use.mode))
            copies_.drop_others(buffer, group.space);
        copies_.touch(buffer, use, group.space);
    }
    if (state_.options.prefetch)
        state_.agenda.post(Happening::advanced);
    end_group(id);
}

void AccessQueue::turn_down(std::uint32_t id) {
    withdraw(id);
    end_group(id);
    state_.agenda.post(Happening::released);
}

void AccessQueue::serve(std::uint32_t id) {
    if (!state_.buffers[id].usable() || state_.closing)
        return;  // the waiting ones are being refused
    while (!state_.buffers[id].waiting.empty() && serve_first(id)) {
    }
}

// Whether the first one has been handled.
bool AccessQueue::serve_first(std::uint32_t id) {
    const WaitingUse waiting = state_.buffers[id].waiting.front();
    return writes(groups_[waiting.group].uses[waiting.use].mode) ? serve_writer(id, waiting)
                                                                 : serve_reader(id, waiting);
}

bool AccessQueue::serve_reader(std::uint32_t id, WaitingUse waiting) {
    SpillBuffer& buffer = state_.buffers[id];
    const std::size_t space = groups_[waiting.group].space;
    if (!buffer.copy_in(space))
        return !buffer.hold.written() && fetch_for(id, waiting);
    if (!holds_.may_hold(buffer, space, groups_[waiting.group].uses[waiting.use].mode))
        return false;
    // A copy that is used here needn't be evicted. One that has not started needn't be made.
    if (buffer.move && buffer.move->evicts_from(space)) {
        moves_.keep_source(*buffer.move);
        if (buffer.lines_up())
            (void)moves_.cancel(id);
    }
    grant(id, waiting);
    return true;
}

bool AccessQueue::serve_writer(std::uint32_t id, WaitingUse waiting) {
    SpillBuffer& buffer = state_.buffers[id];
    const std::size_t space = groups_[waiting.group].space;
    const AccessMode mode = groups_[waiting.group].uses[waiting.use].mode;
    if (buffer.coming_to(space))
        return false;
    if (buffer.move && !moves_.cancel(id))
        return false;  // served again at its end
    if (!buffer.copy_in(space)) {
        if (buffer.hold.written() ||
            (mode == AccessMode::overwrite &&
             (buffer.hold.readers != 0 || holds_.used_elsewhere(buffer, space))))
            return false;
        return fetch_for(id, waiting);
    }
    if (!holds_.may_hold(buffer, space, mode))
        return false;
    grant(id, waiting);
    return true;
}

// The first one has its buffer.
void AccessQueue::grant(std::uint32_t id, WaitingUse waiting) {
    SpillBuffer& buffer = state_.buffers[id];
    Group& group = groups_[waiting.group];
    Group::Use& use = group.uses[waiting.use];
    buffer.waiting.erase(buffer.waiting.begin());
    --waiting_;
    if (use.mode != AccessMode::prefetch)
        holds_.hold(id, group.space, use.mode);
    use.granted = true;
    state_.agenda.post(Happening::changed);
    if (--group.missing == 0)
        complete(waiting.group);
}

// Has the buffer fetched to where the first access needs it. True: that was handled otherwise.
bool AccessQueue::fetch_for(std::uint32_t id, WaitingUse waiting) {
    SpillBuffer& buffer = state_.buffers[id];
    const Group& group = groups_[waiting.group];
    const std::size_t space = group.space;
    if (buffer.move) {
        if (buffer.move->target == space) {
            if (group.spec.make_room && buffer.move->when_full == WhenFull::refuse)
                buffer.move->when_full = WhenFull::evict;
            return false;
        }
        if (!moves_.cancel(id))
            return false;  // served again at its end
    }
    const bool overwrites = group.uses[waiting.use].mode == AccessMode::overwrite;
    const bool copies = !overwrites && !buffer.blank;
    BufferMove move;
    move.kind = overwrites ? MoveKind::overwrite : MoveKind::fetch;
    move.when_full = group.spec.make_room ? WhenFull::evict : WhenFull::refuse;
    move.target = space;
    move.source = copies ? moves_.best_source(buffer, space) : kNoSpace;
    move.reservation = group.spec.reservation;
    const bool own = move.reservation == ReservationId{} && buffer.home == space;
    if (own && state_.spaces[space].memory->find(buffer.reservation))
        move.reservation = buffer.reservation;
    if (copies && move.source == kNoSpace) {
        fail_first(id, {ErrorCode::unsupported, "no link from where the buffer is",
                        to_text(group.spec.space), ""});
        return true;
    }
    moves_.begin(id, std::move(move));
    return false;
}

std::uint32_t AccessQueue::new_group(RequestId request, const AccessSpec& spec) {
    if (free_groups_.empty()) {
        free_groups_.push_back(static_cast<std::uint32_t>(groups_.size()));
        groups_.emplace_back();
    }
    const std::uint32_t made = free_groups_.back();
    free_groups_.pop_back();
    Group& group = groups_[made];
    group.request = request;
    group.spec = spec;
    group.space = state_.position(spec.space);
    group.uses.clear();
    group.retries = 0;
    group.parked = false;
    return made;
}

void AccessQueue::end_group(std::uint32_t id) {
    Group& group = groups_[id];
    if (group.parked)
        std::erase(parked_, id);
    if (trying_ == id)
        trying_ = kNoGroup;
    group.request = RequestId::none;
    free_groups_.push_back(id);
    state_.agenda.post(Happening::changed);
}

void AccessQueue::enter(std::uint32_t id) {
    const RequestId request = groups_[id].request;
    Group& group = groups_[id];
    group.missing = static_cast<std::uint32_t>(group.uses.size());
    for (const Group::Use& use : group.uses) {
        if (state_.find_usable(use.buffer))
            continue;
        group.missing = 0;
        return fail_group(id, gone_error());
    }
    for (std::uint32_t i = 0; i < group.uses.size(); ++i) {
        group.uses[i].granted = false;
        holds_.seal(to_integer(group.uses[i].buffer.id));
        state_.buffers[to_integer(group.uses[i].buffer.id)].waiting.push_back({id, i});
        ++waiting_;
    }
    state_.agenda.post(Happening::changed);
    for (std::uint32_t i = 0; group.request == request && !group.parked && i < group.uses.size();
         ++i)
        serve(to_integer(group.uses[i].buffer.id));
}

// All of them have their buffers.
void AccessQueue::complete(std::uint32_t id) {
    if (trying_ == id)
        trying_ = kNoGroup;
    state_.work.answers.push_back({.request = groups_[id].request, .group = id});
}

// It holds nothing any longer and is in no queue.
void AccessQueue::withdraw(std::uint32_t id) {
    Group& group = groups_[id];
    if (group.parked)
        return;
    const std::size_t space = group.space;
    std::vector<BufferRef> others;
    for (std::uint32_t i = 0; i < group.uses.size(); ++i) {
        Group::Use& use = group.uses[i];
        const std::uint32_t buffer = to_integer(use.buffer.id);
        if (!std::exchange(use.granted, false)) {
            if (state_.find(use.buffer))
                take_out(buffer, {id, i});
        } else if (use.mode != AccessMode::prefetch) {
            holds_.let_go(buffer, space, use.mode);
            if (state_.buffers[buffer].copy_in(space)->hollow)
                copies_.drop(buffer, space, EvictionReason::evicted);
        }
        others.push_back(use.buffer);
    }
    state_.agenda.post(Happening::changed);
    for (const BufferRef ref : others)
        if (state_.find(ref))
            serve(to_integer(ref.id));
}

// A use that no longer waits; what was fetched only for it needn't come.
void AccessQueue::take_out(std::uint32_t id, WaitingUse waiting) {
    SpillBuffer& buffer = state_.buffers[id];
    const auto found = std::ranges::find(buffer.waiting, waiting);
    if (found == buffer.waiting.end())
        return;
    buffer.waiting.erase(found);
    --waiting_;
    const std::size_t space = groups_[waiting.group].space;
    const bool wanted =
        std::any_of(buffer.waiting.begin(), buffer.waiting.end(),
                    [&](const WaitingUse& other) { return groups_[other.group].space == space; });
    if (!buffer.move || !buffer.move->fetches() || buffer.move->target != space)
        return;
    // A location that is made for a writer is useless for anybody else.
    if (buffer.move->kind == MoveKind::overwrite || (!wanted && buffer.lines_up()))
        (void)moves_.cancel(id);
}

void AccessQueue::fail_group(std::uint32_t id, Error error) {
    state_.refuse(groups_[id].request, std::move(error));
    withdraw(id);
    end_group(id);
}

void AccessQueue::fail_first(std::uint32_t id, Error error) {
    fail_group(state_.buffers[id].waiting.front().group, std::move(error));
}

// A patient group releases what it has, for others, and tries again when they have finished. If
// others are there only because their copies out failed, nothing would tell when that changes:
// those copies are retried, a few times.
void AccessQueue::no_room_for_first(std::uint32_t id, Error error) {
    constexpr std::uint32_t kRetries = 3;
    const std::uint32_t waiting = state_.buffers[id].waiting.front().group;
    Group& group = groups_[waiting];
    if (!group.spec.patient || state_.closing)
        return fail_group(waiting, std::move(error));
    if (!state_.failed.empty() && might_fit(group)) {
        if (group.retries++ == kRetries)
            return fail_group(waiting, moves_.last_failure());
        state_.retry_failed();
        state_.agenda.post(Happening::released);
    }
    withdraw(waiting);
    group.parked = true;
    state_.look_outside();
    parked_.push_back(waiting);
    if (trying_ == waiting)
        trying_ = kNoGroup;  // it found no room even with all other parked ones out of its way
    else
        state_.agenda.post(Happening::released);
}

void AccessQueue::moved(MoveEnd end) {
    using Outcome = MoveEnd::Outcome;
    const SpillBuffer& buffer = state_.buffers[end.buffer];
    const bool came_to_nothing = end.outcome == Outcome::no_room || end.outcome == Outcome::failed;
    if (came_to_nothing && !buffer.waiting.empty() &&
        groups_[buffer.waiting.front().group].space == end.target) {
        if (end.outcome == Outcome::failed)
            fail_first(end.buffer, std::move(*end.error));
        else
            no_room_for_first(end.buffer, std::move(*end.error));
    }
    serve(end.buffer);
    // The writer that it was made for may be gone.
    const BufferCopy* made = state_.buffers[end.buffer].copy_in(end.target);
    if (made && made->hollow && made->users == 0)
        copies_.drop(end.buffer, end.target, EvictionReason::evicted);
}

void AccessQueue::retry_parked() {
    tries_left_ = parked_.size();
    state_.agenda.post(Happening::changed);
}

// Whether all of its buffers would fit if everything left that nobody holds or has reserved.
// Otherwise a try would move others for nothing.
bool AccessQueue::might_fit(const Group& group) const {
    const SpillSpace& space = state_.spaces[group.space];
    const Bytes capacity = state_.machine.spaces[group.space].capacity;
    Bytes taken = space.held + space.memory->counters().reserved;
    for (const Group::Use& use : group.uses) {
        const SpillBuffer* buffer = state_.find(use.buffer);
        const BufferCopy* copy = buffer ? buffer->copy_in(group.space) : nullptr;
        const bool counted = copy && (copy->users != 0 || copy->charge.origin != ReservationId{});
        taken += buffer && !counted ? buffer->size : 0;
    }
    return taken <= capacity;
}

void AccessQueue::try_parked(std::uint32_t id) {
    trying_ = id;
    groups_[id].parked = false;
    enter(id);
}

void AccessQueue::enter_parked() {
    while (tries_left_ > 0 && trying_ == kNoGroup && !parked_.empty() && !state_.closing) {
        --tries_left_;
        const std::uint32_t next = parked_.front();
        parked_.erase(parked_.begin());
        if (might_fit(groups_[next]))
            try_parked(next);
        else
            parked_.push_back(next);
    }
}

bool AccessQueue::give_up_one() {
    if (parked_.empty())
        return false;
    // With all others out of its way it may fit.
    const std::uint32_t first = parked_.front();
    parked_.erase(parked_.begin());
    groups_[first].spec.patient = false;
    try_parked(first);
    return true;
}

// kNoGroup: there is none that has not been granted.
std::uint32_t AccessQueue::group_of(RequestId request) const {
    const auto found = std::find_if(groups_.begin(), groups_.end(), [&](const Group& group) {
        return group.request == request && request != RequestId::none;
    });
    const bool waits = found != groups_.end() && (found->missing != 0 || found->parked);
    return waits ? static_cast<std::uint32_t>(found - groups_.begin()) : kNoGroup;
}

bool AccessQueue::withdraw_request(RequestId request, Error why) {
    const std::uint32_t group = group_of(request);
    if (group == kNoGroup)
        return false;
    fail_group(group, std::move(why));
    state_.agenda.post(Happening::released);
    return true;
}

std::size_t AccessQueue::space_of(RequestId request) const {
    const std::uint32_t group = group_of(request);
    return group == kNoGroup ? kNoSpace : groups_[group].space;
}

void AccessQueue::refuse_parked() {
    while (!parked_.empty())
        fail_group(parked_.front(), closed_error());
}

}  // namespace tidemark
