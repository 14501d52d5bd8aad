// Access to buffers: queues of uses, and groups that are granted together or not at all.
#include "core/tiers/engine/access_queue.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/base/text.h"

namespace tidemark {

RequestId AccessQueue::access(BufferRef ref, const AccessSpec& spec) {
    const RequestId request = state_.next_request();
    SpillBuffer* buffer = state_.find(ref);
    const std::size_t space = state_.position(spec.space);
    if (state_.closing) {
        state_.refuse(request, closed_error());
    } else if (!buffer || buffer->doomed) {
        state_.refuse(request, gone_error());
    } else if (space == kNoSpace) {
        state_.refuse(request, {ErrorCode::unsupported, "no access to the buffer's bytes there",
                                to_text(spec.space), "a space of the machine"});
    } else {
        state_.unbar();
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
        const SpillBuffer* buffer = state_.find(use.buffer);
        const bool usable = space != kNoSpace && buffer;
        if (!buffer || buffer->doomed || !usable) {
            state_.refuse(
                request, {!buffer || buffer->doomed ? ErrorCode::not_found : ErrorCode::unsupported,
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
    state_.unbar();
    const std::uint32_t group = new_group(request, spec);
    for (const BufferUse& use : uses)
        groups_[group].uses.push_back({use});
    enter(group);
    return request;
}

// All of it at once, without queues, if nothing stands in the way.
bool AccessQueue::grant_at_once(std::span<const BufferUse> uses, const AccessSpec& spec,
                                std::size_t space) {
    if (state_.closing || space == kNoSpace)
        return false;
    for (const BufferUse& use : uses) {
        if (state_.find(use.buffer))
            copies_.seal(to_integer(use.buffer.id));
    }
    for (const BufferUse& use : uses) {
        const SpillBuffer* buffer = state_.find(use.buffer);
        if (!buffer || !free_now(*buffer, use.mode, space))
            return false;
    }
    for (const BufferUse& use : uses) {
        const std::uint32_t id = to_integer(use.buffer.id);
        SpillBuffer& buffer = state_.buffers[id];
        count_use(id, space, use.mode);
        copies_.hold(*buffer.copy_in(space));
        if (use.mode == AccessMode::read)
            ++buffer.hold.readers;
        else if (use.mode == AccessMode::pin)
            ++buffer.hold.pins;
        else if (use.mode == AccessMode::share)
            ++buffer.hold.sharers;
        else
            buffer.hold.writing = true;
    }
    for (const BufferUse& use : uses) {
        const std::uint32_t id = to_integer(use.buffer.id);
        if (writes(use.mode))
            copies_.drop_others(id, space);
        copies_.touch(id, use, space);
    }
    state_.moved_on = state_.options.prefetch && spec.space.tier == Tier::gpu;
    return true;
}

bool AccessQueue::free_now(const SpillBuffer& buffer, AccessMode mode, std::size_t space) const {
    const BufferCopy* copy = buffer.copy_in(space);
    if (buffer.doomed || buffer.move || !buffer.waiting.empty() || !copy)
        return false;
    if (!writes(mode))
        return mode == AccessMode::pin ? buffer.may_pin(space) : !buffer.hold.written();
    return !buffer.hold.writing && (buffer.hold.sharers == 0 || mode == AccessMode::share) &&
           buffer.hold.readers == 0 && !copies_.used_elsewhere(buffer, space);
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
    else if (buffer.move && buffer.move->target == space && !buffer.move->cancelled)
        counters.late += buffer.size;
    else if (mode == AccessMode::overwrite)
        counters.hit += buffer.size;  // there is nothing to bring
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
    state_.moved_on = state_.options.prefetch;
    end_group(id);
}

void AccessQueue::turn_down(std::uint32_t id) {
    withdraw(id);
    end_group(id);
    state_.let_go = true;
}

void AccessQueue::serve(std::uint32_t id) {
    if (state_.buffers[id].doomed || state_.closing)
        return;  // whoever waits is being refused
    while (!state_.buffers[id].waiting.empty() && serve_first(id)) {
    }
}

// Whether the first one has been dealt with.
bool AccessQueue::serve_first(std::uint32_t id) {
    const WaitingUse waiting = state_.buffers[id].waiting.front();
    return writes(groups_[waiting.group].uses[waiting.use].mode) ? serve_writer(id, waiting)
                                                                 : serve_reader(id, waiting);
}

bool AccessQueue::serve_reader(std::uint32_t id, WaitingUse waiting) {
    SpillBuffer& buffer = state_.buffers[id];
    const std::size_t space = groups_[waiting.group].space;
    const AccessMode mode = groups_[waiting.group].uses[waiting.use].mode;
    if (!buffer.copy_in(space)) {
        if (buffer.hold.written())
            return false;
        return fetch_for(id, waiting);
    }
    if (mode == AccessMode::read && !buffer.hold.try_read())
        return false;
    if (mode == AccessMode::pin && !buffer.try_pin(space))
        return false;
    // A copy that is used here needn't leave. One that has not begun needn't be made.
    if (buffer.move && buffer.move->source == space && buffer.move->evict) {
        moves_.stay(*buffer.move);
        if (buffer.move->stage == MoveStage::lining)
            (void)moves_.cancel(id);
    }
    grant(id, waiting);
    return true;
}

bool AccessQueue::serve_writer(std::uint32_t id, WaitingUse waiting) {
    SpillBuffer& buffer = state_.buffers[id];
    const std::size_t space = groups_[waiting.group].space;
    const AccessMode mode = groups_[waiting.group].uses[waiting.use].mode;
    if (buffer.move && buffer.move->target == space && !buffer.move->cancelled)
        return false;
    if (buffer.move && !moves_.cancel(id))
        return false;  // served again at its end
    if (!buffer.copy_in(space)) {
        if (buffer.hold.written() ||
            (mode == AccessMode::overwrite &&
             (buffer.hold.readers != 0 || copies_.used_elsewhere(buffer, space))))
            return false;
        return fetch_for(id, waiting);
    }
    if (copies_.used_elsewhere(buffer, space) ||
        !(mode == AccessMode::share ? buffer.hold.try_share() : buffer.hold.try_write()))
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
        copies_.hold(*buffer.copy_in(group.space));
    use.granted = true;
    state_.changed = true;
    if (--group.missing == 0)
        complete(waiting.group);
}

// Has the buffer brought to where the first access wants it. True: that was dealt with otherwise.
bool AccessQueue::fetch_for(std::uint32_t id, WaitingUse waiting) {
    SpillBuffer& buffer = state_.buffers[id];
    const Group& group = groups_[waiting.group];
    const std::size_t space = group.space;
    if (buffer.move) {
        if (buffer.move->target == space) {
            buffer.move->polite = buffer.move->polite && !group.spec.make_room;
            return false;
        }
        if (!moves_.cancel(id))
            return false;  // served again at its end
    }
    const bool overwrites = group.uses[waiting.use].mode == AccessMode::overwrite;
    const bool copies = !overwrites && !buffer.blank;
    BufferMove move;
    move.kind = MoveKind::fetch;
    move.target = space;
    move.source = copies ? moves_.best_source(buffer, space) : kNoSpace;
    move.polite = !group.spec.make_room;
    move.reservation = group.spec.reservation;
    const bool own = move.reservation == ReservationId{} && buffer.home == space;
    if (own && state_.spaces[space].memory->find(buffer.reservation))
        move.reservation = buffer.reservation;
    move.writing = overwrites;
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
    state_.changed = true;
}

void AccessQueue::enter(std::uint32_t id) {
    const RequestId request = groups_[id].request;
    Group& group = groups_[id];
    group.missing = static_cast<std::uint32_t>(group.uses.size());
    for (const Group::Use& use : group.uses) {
        if (state_.find(use.buffer) && !state_.find(use.buffer)->doomed)
            continue;
        group.missing = 0;
        return fail_group(id, gone_error());
    }
    for (std::uint32_t i = 0; i < group.uses.size(); ++i) {
        group.uses[i].granted = false;
        copies_.seal(to_integer(group.uses[i].buffer.id));
        state_.buffers[to_integer(group.uses[i].buffer.id)].waiting.push_back({id, i});
        ++waiting_;
    }
    state_.changed = true;
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

// It holds nothing more and waits nowhere.
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
            copies_.let_go(buffer, space, use.mode);
            if (state_.buffers[buffer].copy_in(space)->hollow)
                copies_.drop(buffer, space, EvictionReason::evicted, RequestId::none);
        }
        others.push_back(use.buffer);
    }
    state_.changed = true;
    for (const BufferRef ref : others)
        if (state_.find(ref))
            serve(to_integer(ref.id));
}

// A use that waits no more; what was on its way for it alone needn't come.
void AccessQueue::take_out(std::uint32_t id, WaitingUse waiting) {
    SpillBuffer& buffer = state_.buffers[id];
    const auto found =
        std::find_if(buffer.waiting.begin(), buffer.waiting.end(), [&](const WaitingUse& other) {
            return other.group == waiting.group && other.use == waiting.use;
        });
    if (found == buffer.waiting.end())
        return;
    buffer.waiting.erase(found);
    --waiting_;
    const std::size_t space = groups_[waiting.group].space;
    const bool wanted =
        std::any_of(buffer.waiting.begin(), buffer.waiting.end(),
                    [&](const WaitingUse& other) { return groups_[other.group].space == space; });
    if (!buffer.move || buffer.move->kind != MoveKind::fetch || buffer.move->target != space)
        return;
    // A location that is made for a writer is of no use to anybody else.
    if (buffer.move->writing || (!wanted && buffer.move->stage == MoveStage::lining))
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

// A patient group lets go of what it has, for others, and comes again when they have. Where others
// are there only because their copies out failed, nobody would say when: those are tried again, a
// few times.
void AccessQueue::no_room_for_first(std::uint32_t id, Error error, const Error& last_failure) {
    constexpr std::uint32_t kRetries = 3;
    const std::uint32_t waiting = state_.buffers[id].waiting.front().group;
    Group& group = groups_[waiting];
    if (!group.spec.patient || state_.closing)
        return fail_group(waiting, std::move(error));
    if (!state_.barred.empty() && might_fit(group)) {
        if (group.retries++ == kRetries)
            return fail_group(waiting, last_failure);
        state_.unbar();
        state_.let_go = true;
    }
    withdraw(waiting);
    group.parked = true;
    state_.look_outside();
    parked_.push_back(waiting);
    if (trying_ == waiting)
        trying_ = kNoGroup;  // it found no room with all other parked ones out of its way
    else
        state_.let_go = true;
}

bool AccessQueue::first_wants(const SpillBuffer& buffer, std::size_t space) const {
    return !buffer.waiting.empty() && groups_[buffer.waiting.front().group].space == space;
}

// Whether all of its buffers would have room if everything left that nobody holds or has reserved.
// Else a try would move others for nothing.
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
    // With everybody else out of its way it may fit.
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
    state_.let_go = true;
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
