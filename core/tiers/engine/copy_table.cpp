// Where a buffer's bytes are, what evicting it is worth, and what policies know about it.
#include "core/tiers/engine/copy_table.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"

namespace tidemark {
namespace {

constexpr std::uint64_t kRecent = 2;  // uses

}  // namespace

CopyTable::CopyTable(SpillState& state, LeavingLedger& leaving, Holds& holds)
    : state_(state), leaving_(leaving), holds_(holds) {
    const VictimSpec& victims = state.options.victims;
    const auto ns_per_byte = [](double rate) { return rate > 0 ? 1 / rate : 0; };
    for (std::size_t i = 0; i < state.spaces.size(); ++i) {
        SpillSpace& space = state.spaces[i];
        residents_.emplace_back(*this, i);
        if (space.slower.empty())
            continue;
        const VictimContext context{.residents = &residents_.back(),
                                    .capacity = state.machine.spaces[i].capacity,
                                    .out_ns_per_byte = ns_per_byte(space.out_rate),
                                    .in_ns_per_byte = ns_per_byte(space.in_rate)};
        space.policy = victims.policy->make(context, victims.options);
        if (space.small > 0)
            space.small_policy = victims.policy->make(context, victims.options);
    }
}

std::uint32_t CopyTable::add_buffer(const BufferSpec& spec) {
    if (free_ids_.empty()) {
        free_ids_.push_back(static_cast<std::uint32_t>(state_.buffers.size()));
        state_.buffers.emplace_back();
    }
    const std::uint32_t id = free_ids_.back();
    free_ids_.pop_back();
    SpillBuffer& buffer = state_.buffers[id];
    SpillBuffer made;
    made.generation = buffer.generation + 1;
    made.copies.swap(buffer.copies);  // empty, with the memory that they had
    made.uses.swap(buffer.uses);
    made.waiting.swap(buffer.waiting);
    buffer = std::move(made);
    buffer.state = BufferState::resident;
    buffer.may_spill = spec.may_spill;
    buffer.blank = spec.blank;
    buffer.hint = spec.hint;
    buffer.size = spec.size;
    buffer.home = buffer.own_space = state_.position(spec.space);
    buffer.reservation = spec.reservation;
    buffer.gate = spec.gate;
    buffer.range = spec.range;
    ++living_;
    state_.spaces[buffer.home].live += spec.size;
    if (state_.options.forecast)
        state_.options.forecast->allocated(BufferId{id}, spec.size, spec.tag);
    return id;
}

void CopyTable::end_buffer(std::uint32_t id) {
    SpillBuffer& buffer = state_.buffers[id];
    TM_CHECK(!buffer.move && buffer.waiting.empty() && holds_.try_shut(id));
    while (!buffer.copies.empty())
        drop(id, buffer.copies.back().space, EvictionReason::freed);
    for (std::size_t i = 0; i < state_.spaces.size(); ++i)
        if ((buffer.evicted_from & space_bit(i)) != 0)
            for (VictimPolicy* const policy :
                 {state_.spaces[i].policy.get(), state_.spaces[i].small_policy.get()})
                if (policy)
                    policy->forget(BufferId{id});
    buffer.uses.clear();
    buffer.gate.reset();
    buffer.range.reset();
    --living_;
    free_ids_.push_back(id);
    state_.agenda.post(Happening::changed);
}

void CopyTable::end_life(std::uint32_t id) {
    const SpillBuffer& buffer = state_.buffers[id];
    if (state_.options.forecast)
        state_.options.forecast->freed(BufferId{id});
    state_.spaces[buffer.home].live -= buffer.size;
}

void CopyTable::add(std::uint32_t id, BufferCopy copy) {
    TM_CHECK(!state_.buffers[id].copy_in(copy.space));
    std::vector<BufferCopy>& copies = state_.buffers[id].copies;
    const auto behind = std::find_if(copies.begin(), copies.end(), [&](const BufferCopy& other) {
        return other.space > copy.space;
    });
    copies.insert(behind, std::move(copy));
    classify(id);
    state_.agenda.post(Happening::changed);
}

void CopyTable::drop(std::uint32_t id, std::size_t space, EvictionReason why,
                     const OnBehalf& whom) {
    SpillBuffer& buffer = state_.buffers[id];
    BufferCopy* copy = buffer.copy_in(space);
    TM_CHECK(copy && copy->users == 0);
    TM_CHECK(!buffer.gate || space != buffer.own_space || !buffer.gate->state().open);
    if (!copy->resident()) {
        state_.spaces[space].spares.erase({copy->stamp, id});
    } else if (state_.spaces[space].policy) {
        resign(id, *copy, why);
        if (why == EvictionReason::evicted)
            buffer.evicted_from |= space_bit(space);
    }
    if (buffer.ahead && state_.machine.spaces[space].id.tier == Tier::gpu) {
        state_.spaces[space].counters.wasted += buffer.size;
        buffer.ahead = false;
    }
    DeferredFree deferred;
    deferred.space = space;
    deferred.credit = credit(*copy, whom.reservation);
    deferred.claim = whom.request;
    deferred.buffer = BufferId{id};
    deferred.makes_room = whom.uncopied;
    deferred.charge = copy->charge;
    if (buffer.range && space == buffer.own_space)
        deferred.owner = state_.ref_of(id);
    const bool owned = copy->owned();
    if (owned)
        deferred.location = copy->location;
    for (const UsePoint& use : buffer.uses)
        if (use.space == state_.machine.spaces[space].id)
            deferred.after.push_back(use);
    std::erase_if(buffer.uses, [&](const UsePoint& use) {
        return use.space == state_.machine.spaces[space].id;
    });
    buffer.copies.erase(buffer.copies.begin() + (copy - buffer.copies.data()));
    if (!buffer.copies.empty())
        classify(id);
    if (owned)
        leaving_.add(std::move(deferred));
    state_.agenda.post(Happening::changed);
}

void CopyTable::drop_others(std::uint32_t id, std::size_t space) {
    SpillBuffer& buffer = state_.buffers[id];
    buffer.copy_in(space)->hollow = false;
    for (std::size_t i = buffer.copies.size(); i-- > 0;)
        if (buffer.copies[i].space != space)
            drop(id, buffer.copies[i].space, EvictionReason::evicted);
    if (std::exchange(buffer.blank, false))
        revise(id);
}

void CopyTable::introduce(std::uint32_t id, BufferCopy& copy) {
    SpillSpace& space = state_.spaces[copy.space];
    const Bytes size = state_.buffers[id].size;
    const bool small = space.small_policy && size < space.small && size <= space.small_left;
    copy.role = small ? CopyRole::small : CopyRole::resident;
    if (small)
        space.small_left -= size;
    if (space.policy)
        space.policy_of(copy)->insert(BufferId{id});
}

void CopyTable::resign(std::uint32_t id, BufferCopy& copy, EvictionReason why) {
    SpillSpace& space = state_.spaces[copy.space];
    space.policy_of(copy)->erase(BufferId{id}, why);
    if (copy.role == CopyRole::small)
        space.small_left += state_.buffers[id].size;
}

// Tells policies and spares the role of each copy: resident in the tier of the home, spare below.
void CopyTable::classify(std::uint32_t id) {
    SpillBuffer& buffer = state_.buffers[id];
    for (BufferCopy& copy : buffer.copies) {
        SpillSpace& space = state_.spaces[copy.space];
        const bool resident = state_.machine.spaces[copy.space].id.tier ==
                              state_.machine.spaces[buffer.copies.front().space].id.tier;
        const bool known = copy.role != CopyRole::unknown;
        if (known && copy.resident() == resident) {
            if (resident && space.policy)
                space.policy_of(copy)->revise(BufferId{id});
        } else if (resident) {
            if (known)
                space.spares.erase({copy.stamp, id});
            buffer.evicted_from &= ~space_bit(copy.space);
            introduce(id, copy);
        } else {
            if (known && space.policy) {
                resign(id, copy, EvictionReason::evicted);
                buffer.evicted_from |= space_bit(copy.space);
            }
            copy.role = CopyRole::spare;
            copy.stamp = ++stamps_;
            space.spares.insert({copy.stamp, id});
        }
    }
}

void CopyTable::revise(std::uint32_t id) {
    for (const BufferCopy& copy : state_.buffers[id].copies)
        if (copy.resident() && state_.spaces[copy.space].policy)
            state_.spaces[copy.space].policy_of(copy)->revise(BufferId{id});
}

void CopyTable::touch(std::uint32_t id, const BufferUse& use, std::size_t space) {
    SpillBuffer& buffer = state_.buffers[id];
    buffer.touched = ++state_.operations;
    buffer.ahead = false;
    if (buffer.home != space && state_.machine.spaces[space].id.tier == Tier::gpu) {
        state_.spaces[buffer.home].live -= buffer.size;
        buffer.home = space;
        buffer.reservation = {};
        state_.spaces[space].live += buffer.size;
    }
    if (buffer.next_use <= state_.operations)
        buffer.next_use = kUnknownUse;
    if (state_.options.forecast && use.mode != AccessMode::pin)
        state_.options.forecast->used({BufferId{id}, use.mode != AccessMode::overwrite,
                                       use.mode != AccessMode::read, use.tag});
    BufferCopy* copy = buffer.copy_in(space);
    if (copy->resident()) {
        if (state_.spaces[space].policy)
            state_.spaces[space].policy_of(*copy)->touch(BufferId{id});
        return;
    }
    state_.spaces[space].spares.erase({copy->stamp, id});
    copy->stamp = ++stamps_;
    state_.spaces[space].spares.insert({copy->stamp, id});
}

Bytes CopyTable::credit(const BufferCopy& copy, ReservationId beneficiary) const {
    const bool own = beneficiary != ReservationId{} && copy.charge.origin == beneficiary;
    return own ? copy.charge.size : releasable(copy.charge);
}

bool CopyTable::may_leave(std::size_t space, std::uint32_t id, const VictimChoice& choice) const {
    const SpillBuffer& buffer = state_.buffers[id];
    if (buffer.state != BufferState::resident || buffer.set_aside != SetAside::no ||
        !buffer.may_spill || buffer.hold.written() || !buffer.waiting.empty())
        return false;
    const BufferCopy* copy = buffer.copy_in(space);
    if (!copy || copy->users != 0 || buffer.pinned_in(space) ||
        credit(*copy, choice.beneficiary) == 0 ||
        (buffer.copies.size() == 1 && !buffer.blank && state_.spaces[space].slower.empty()))
        return false;
    if (choice.any)
        return true;
    // A guess may be wrong: a buffer that was used a moment ago is likely to be used again,
    // whatever the guess.
    const bool recent = state_.options.forecast && state_.options.guesses &&
                        state_.operations - buffer.touched < kRecent;
    return !buffer.ahead && !recent;
}

BufferFacts CopyTable::facts(std::size_t space, std::uint32_t id) const {
    const SpillBuffer& buffer = state_.buffers[id];
    const BufferCopy* copy = buffer.copy_in(space);
    TM_CHECK(copy);
    BufferFacts facts{.size = buffer.size,
                      .now = state_.operations,
                      .next_use = buffer.next_use,
                      .hint = buffer.hint,
                      .dirty = !buffer.blank && buffer.copies.size() == 1,
                      .empty = buffer.blank};
    if (const Forecast* forecast = state_.options.forecast.get()) {
        facts.now = forecast->now();
        facts.next_use = forecast->next_use(BufferId{id});
        facts.end = forecast->end_of(BufferId{id});
    }
    return facts;
}

std::optional<std::uint32_t> CopyTable::victim(std::size_t space, ReservationId beneficiary) {
    for (const auto& [stamp, id] : state_.spaces[space].spares) {
        const SpillBuffer& buffer = state_.buffers[id];
        const BufferCopy* copy = buffer.copy_in(space);
        if (copy->users == 0 && !buffer.move && !buffer.hold.written() &&
            buffer.set_aside != SetAside::passed && !buffer.pinned_in(space) &&
            credit(*copy, beneficiary) > 0)
            return id;
    }
    return choose(state_.spaces[space].policy.get(), space, {beneficiary, false});
}

std::optional<std::uint32_t> CopyTable::any_victim(std::size_t index, ReservationId beneficiary) {
    const SpillSpace& space = state_.spaces[index];
    std::optional<std::uint32_t> found = victim(index, beneficiary);
    if (!found)
        found = choose(space.small_policy.get(), index, {beneficiary, false});
    if (!found)
        found = choose(space.policy.get(), index, {beneficiary, true});
    return found ? found : choose(space.small_policy.get(), index, {beneficiary, true});
}

std::vector<VictimCandidate> CopyTable::candidates(std::size_t space, Bytes size) {
    std::vector<VictimCandidate> found;
    std::vector<SetAside> before;
    for (Bytes freed = 0; freed < size; freed += found.back().freed) {
        const std::optional<std::uint32_t> victim = any_victim(space);
        if (!victim)
            break;
        SpillBuffer& buffer = state_.buffers[*victim];
        found.push_back({state_.ref_of(*victim), buffer.size, credit(*buffer.copy_in(space))});
        before.push_back(std::exchange(buffer.set_aside, SetAside::passed));
    }
    for (std::size_t i = 0; i < found.size(); ++i)
        state_.buffers[to_integer(found[i].buffer.id)].set_aside = before[i];
    return found;
}

std::optional<std::uint32_t> CopyTable::choose(VictimPolicy* policy, std::size_t space,
                                               const VictimChoice& choice) {
    if (!policy)
        return std::nullopt;
    std::optional<BufferId> chosen = residents_[space].victim_of(*policy, choice);
    while (chosen && used_since(to_integer(*chosen), space))
        chosen = residents_[space].victim_of(*policy, choice);
    if (!chosen)
        return std::nullopt;
    const std::uint32_t id = to_integer(*chosen);
    TM_CHECK(state_.buffers[id].gate ||  // pinned since, perhaps
             may_leave(space, id, choice));
    return id;
}

// Whether it has been pinned since the policy last knew. The policy learns of pins only here: pins
// take no lock and so report to nobody.
bool CopyTable::used_since(std::uint32_t id, std::size_t space) {
    SpillBuffer& buffer = state_.buffers[id];
    if (!buffer.gate || space != buffer.own_space)
        return false;
    const Gate::State state = buffer.gate->state();
    if (state.uses == buffer.seen_uses)
        return false;
    buffer.seen_uses = state.uses;
    touch(id, {state_.ref_of(id), state.writers ? AccessMode::share : AccessMode::read, 0}, space);
    return true;
}

std::vector<SpaceId> CopyTable::where(BufferRef ref) const {
    std::vector<SpaceId> spaces;
    if (const SpillBuffer* buffer = state_.find(ref))
        for (const BufferCopy& copy : buffer->copies)
            if (!copy.hollow)
                spaces.push_back(state_.machine.spaces[copy.space].id);
    return spaces;
}

bool CopyTable::moving(BufferRef ref) const {
    const SpillBuffer* buffer = state_.find(ref);
    return buffer && buffer->move;
}

Bytes CopyTable::reclaimable(BufferRef ref, SpaceId space) const {
    const SpillBuffer* buffer = state_.find(ref);
    const BufferCopy* copy = buffer ? buffer->copy_in(state_.position(space)) : nullptr;
    return copy ? credit(*copy) : 0;
}

BlockLocation CopyTable::location(BufferRef ref, SpaceId space) const {
    const SpillBuffer* buffer = state_.find(ref);
    const BufferCopy* copy = buffer ? buffer->copy_in(state_.position(space)) : nullptr;
    TM_CHECK(copy);
    return copy->location;
}

bool CopyTable::set_hint(BufferRef ref, std::int32_t hint) {
    SpillBuffer* buffer = state_.find(ref);
    if (!buffer)
        return false;
    buffer->hint = hint;
    revise(to_integer(ref.id));
    return true;
}

bool CopyTable::set_next_use(BufferRef ref, std::uint64_t accesses) {
    SpillBuffer* buffer = state_.find(ref);
    if (!buffer)
        return false;
    if (accesses == 0)
        buffer->next_use = kUnknownUse;
    else if (accesses >= kUnknownUse - state_.operations)
        buffer->next_use = kNeverUsed;
    else
        buffer->next_use = state_.operations + accesses;
    revise(to_integer(ref.id));
    return true;
}

}  // namespace tidemark
