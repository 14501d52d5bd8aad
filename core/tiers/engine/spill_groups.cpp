// Groups: accesses that are granted together, or not at all.
#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/base/text.h"
#include "core/tiers/engine/spill_engine.h"

namespace tidemark {

std::uint32_t SpillEngine::new_group(RequestId request, const AccessSpec& spec) {
    if (free_groups_.empty()) {
        free_groups_.push_back(static_cast<std::uint32_t>(groups_.size()));
        groups_.emplace_back();
    }
    const std::uint32_t made = free_groups_.back();
    free_groups_.pop_back();
    AccessGroup& group = groups_[made];
    group.request = request;
    group.spec = spec;
    group.space = position(spec.space);
    group.uses.clear();
    group.parked = false;
    return made;
}

void SpillEngine::end_group(std::uint32_t id) {
    AccessGroup& group = groups_[id];
    if (group.parked)
        std::erase(parked_, id);
    if (trying_ == id)
        trying_ = kNoGroup;
    group.request = RequestId::none;
    free_groups_.push_back(id);
    changed_ = true;
}

std::optional<RequestId> SpillEngine::access_all(std::span<const UseWish> uses,
                                                 const AccessSpec& spec) {
    const std::size_t space = position(spec.space);
    if (grant_at_once(uses, spec, space))
        return std::nullopt;
    const RequestId request{++requests_};
    if (closing_) {
        refuse(request, {StoreFault::shut_down, {}});
        return request;
    }
    Bytes together = 0;
    for (const UseWish& use : uses) {
        const SpillBuffer* buffer = find(use.buffer);
        const bool usable = space != kNoSpace && buffer && !encoded_in(*buffer, space);
        if (!buffer || buffer->doomed || !usable) {
            refuse(request,
                   {!buffer || buffer->doomed ? StoreFault::not_found : StoreFault::unsupported,
                    {ErrorCode::bad_option, "no access to one of the buffers there",
                     to_text(spec.space), ""}});
            return request;
        }
        count_wish(to_integer(use.buffer.id), space, use.mode);
        together += buffer->size;
    }
    if (together > machine_.spaces[space].capacity) {
        refuse(request, {StoreFault::no_room,
                         {ErrorCode::no_space,
                          "buffers of " + format_bytes(together) + " don't fit together",
                          to_text(spec.space), spaces_[space].memory->text()}});
        return request;
    }
    unbar();
    const std::uint32_t group = new_group(request, spec);
    for (const UseWish& use : uses)
        groups_[group].uses.push_back({use, false});
    enter(group);
    return request;
}

// All of it at once, without queues, if nothing stands in the way.
bool SpillEngine::grant_at_once(std::span<const UseWish> uses, const AccessSpec& spec,
                                std::size_t space) {
    if (closing_ || space == kNoSpace)
        return false;
    for (const UseWish& use : uses) {
        const SpillBuffer* buffer = find(use.buffer);
        if (!buffer || !free_now(*buffer, use.mode, space))
            return false;
    }
    for (const UseWish& use : uses) {
        const std::uint32_t id = to_integer(use.buffer.id);
        SpillBuffer& buffer = buffers_[id];
        count_wish(id, space, use.mode);
        hold(*buffer.copy_in(space));
        if (use.mode == AccessMode::read)
            ++buffer.hold.readers;
        else if (use.mode == AccessMode::pin)
            ++buffer.hold.pins;
        else
            buffer.hold.writing = true;
    }
    for (const UseWish& use : uses) {
        const std::uint32_t id = to_integer(use.buffer.id);
        if (writes(use.mode))
            drop_others(id, space);
        touch(id, use, space);
    }
    moved_on_ = options_.prefetch && spec.space.tier == Tier::gpu;
    return true;
}

bool SpillEngine::free_now(const SpillBuffer& buffer, AccessMode mode, std::size_t space) const {
    const BufferCopy* copy = buffer.copy_in(space);
    if (buffer.doomed || buffer.move || !buffer.waiting.empty() || !copy || copy->encoded)
        return false;
    if (!writes(mode))
        return mode == AccessMode::pin ? buffer.may_pin() : !buffer.hold.writing;
    return !buffer.hold.writing && buffer.hold.readers == 0 && !used_elsewhere(buffer, space);
}

void SpillEngine::count_wish(std::uint32_t id, std::size_t space, AccessMode mode) {
    const SpillBuffer& buffer = buffers_[id];
    SpillCounters& counters = spaces_[space].counters;
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

void SpillEngine::enter(std::uint32_t id) {
    const RequestId request = groups_[id].request;
    AccessGroup& group = groups_[id];
    group.missing = static_cast<std::uint32_t>(group.uses.size());
    for (const AccessGroup::Use& use : group.uses) {
        if (find(use.wish.buffer) && !find(use.wish.buffer)->doomed)
            continue;
        group.missing = 0;
        return fail_group(id, {StoreFault::not_found, {}});
    }
    for (std::uint32_t i = 0; i < group.uses.size(); ++i) {
        group.uses[i].granted = false;
        buffers_[to_integer(group.uses[i].wish.buffer.id)].waiting.push_back({id, i});
        ++waiting_accesses_;
    }
    changed_ = true;
    for (std::uint32_t i = 0; group.request == request && !group.parked && i < group.uses.size();
         ++i)
        serve(to_integer(group.uses[i].wish.buffer.id));
}

// All of them have their buffers.
void SpillEngine::complete(std::uint32_t id) {
    if (trying_ == id)
        trying_ = kNoGroup;
    SpillAnswer answer;
    answer.request = groups_[id].request;
    answer.group = id;
    work_.answers.push_back(std::move(answer));
}

void SpillEngine::take_up(std::uint32_t id) {
    AccessGroup& group = groups_[id];
    for (const AccessGroup::Use& use : group.uses) {
        if (use.wish.mode == AccessMode::prefetch)
            continue;
        const std::uint32_t buffer = to_integer(use.wish.buffer.id);
        if (writes(use.wish.mode))
            drop_others(buffer, group.space);
        touch(buffer, use.wish, group.space);
    }
    moved_on_ = options_.prefetch;
    end_group(id);
}

void SpillEngine::turn_down(std::uint32_t id) {
    withdraw(id);
    end_group(id);
    let_go_ = true;
}

// It holds nothing more and waits nowhere.
void SpillEngine::withdraw(std::uint32_t id) {
    AccessGroup& group = groups_[id];
    if (group.parked)
        return;
    const std::size_t space = group.space;
    std::vector<BufferRef> others;
    for (std::uint32_t i = 0; i < group.uses.size(); ++i) {
        AccessGroup::Use& use = group.uses[i];
        const std::uint32_t buffer = to_integer(use.wish.buffer.id);
        if (!std::exchange(use.granted, false)) {
            if (find(use.wish.buffer))
                take_out(buffer, {id, i});
        } else if (use.wish.mode != AccessMode::prefetch) {
            let_go(buffer, space, use.wish.mode);
            if (buffers_[buffer].copy_in(space)->hollow)
                drop_copy(buffer, space, Departure::evicted, RequestId::none);
        }
        others.push_back(use.wish.buffer);
    }
    changed_ = true;
    for (const BufferRef ref : others)
        if (find(ref))
            serve(to_integer(ref.id));
}

// A use that waits no more; what was on its way for it alone needn't come.
void SpillEngine::take_out(std::uint32_t id, WaitingUse waiting) {
    SpillBuffer& buffer = buffers_[id];
    const auto found =
        std::find_if(buffer.waiting.begin(), buffer.waiting.end(), [&](const WaitingUse& other) {
            return other.group == waiting.group && other.use == waiting.use;
        });
    if (found == buffer.waiting.end())
        return;
    buffer.waiting.erase(found);
    --waiting_accesses_;
    const std::size_t space = groups_[waiting.group].space;
    const bool wanted =
        std::any_of(buffer.waiting.begin(), buffer.waiting.end(),
                    [&](const WaitingUse& other) { return groups_[other.group].space == space; });
    if (!buffer.move || buffer.move->kind != MoveKind::fetch || buffer.move->target != space)
        return;
    // A place that is made for a writer is of no use to anybody else.
    if (buffer.move->writing || (!wanted && buffer.move->stage == MoveStage::lining))
        (void)cancel_move(id);
}

void SpillEngine::fail_group(std::uint32_t id, StoreError error) {
    refuse(groups_[id].request, std::move(error));
    withdraw(id);
    end_group(id);
}

void SpillEngine::fail_first(std::uint32_t id, StoreError error) {
    fail_group(buffers_[id].waiting.front().group, std::move(error));
}

// A patient group lets go of what it has, for others, and comes again when they have.
void SpillEngine::no_room_for_first(std::uint32_t id, StoreError error) {
    const std::uint32_t waiting = buffers_[id].waiting.front().group;
    AccessGroup& group = groups_[waiting];
    if (!group.spec.patient || closing_)
        return fail_group(waiting, std::move(error));
    withdraw(waiting);
    group.parked = true;
    look_outside();
    parked_.push_back(waiting);
    if (trying_ == waiting)
        trying_ = kNoGroup;  // it found no room with all other parked ones out of its way
    else
        let_go_ = true;
}

// Creations that found no room try again.
void SpillEngine::line_up_parked() {
    for (SpillSpace& space : spaces_) {
        space.line.insert(space.line.begin(), space.parked.begin(), space.parked.end());
        space.parked.clear();
    }
}

// Whether all of its buffers would have room if everything left that nobody holds or has reserved.
// Else a try would move others for nothing.
bool SpillEngine::might_fit(const AccessGroup& group) const {
    const SpillSpace& space = spaces_[group.space];
    const Bytes capacity = machine_.spaces[group.space].capacity;
    Bytes taken = space.held + space.memory->counters().reserved;
    for (const AccessGroup::Use& use : group.uses) {
        const SpillBuffer* buffer = find(use.wish.buffer);
        const BufferCopy* copy = buffer ? buffer->copy_in(group.space) : nullptr;
        const bool counted = copy && (copy->users != 0 || copy->charge.origin != ReservationId{});
        taken += buffer && !counted ? buffer->size : 0;
    }
    return taken <= capacity;
}

// Groups that found no room try again, one after another: together they might take each other's.
void SpillEngine::enter_parked() {
    while (tries_left_ > 0 && trying_ == kNoGroup && !parked_.empty() && !closing_) {
        --tries_left_;
        const std::uint32_t next = parked_.front();
        parked_.erase(parked_.begin());
        if (!might_fit(groups_[next])) {
            parked_.push_back(next);
            continue;
        }
        trying_ = next;
        groups_[trying_].parked = false;
        enter(trying_);
    }
}

}  // namespace tidemark
