// Credits of what is leaving, by claim.
#include "core/tiers/engine/leaving_ledger.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"

namespace tidemark {

void LeavingLedger::add(DeferredFree deferred) {
    if (unused_.empty()) {
        unused_.push_back(deferred_.size());
        deferred_.emplace_back();
    }
    deferred.id = unused_.back();
    unused_.pop_back();
    deferred.living = true;
    deferred.waiting = !deferred.after.empty();
    if (SpillBuffer* owner = state_.find(deferred.owner); owner && deferred.location)
        ++owner->range_taken;
    note_leaving(deferred.space, deferred.claim, deferred.credit);
    if (deferred.waiting)
        waiting_.push_back(deferred.id);
    else
        emit(deferred);
    deferred_[deferred.id] = std::move(deferred);
}

void LeavingLedger::emit(const DeferredFree& deferred) {
    state_.work.leaving.push_back(
        {deferred.id, deferred.location, deferred.charge, deferred.buffer, deferred.makes_room});
}

void LeavingLedger::passed(std::uint64_t id) {
    deferred_[id].waiting = false;
    std::erase(waiting_, id);
    emit(deferred_[id]);
}

std::optional<std::size_t> LeavingLedger::left(std::uint64_t id, Bytes freed) {
    DeferredFree& deferred = deferred_[id];
    TM_CHECK(deferred.living && !deferred.waiting);
    note_staying(deferred.space, deferred.claim, deferred.credit);
    state_.spaces[deferred.space].charged -= deferred.charge.size;
    if (FreeRequest* request = find(deferred.claim))
        request->report.freed += freed;
    if (SpillBuffer* owner = state_.find(deferred.owner); owner && deferred.location)
        --owner->range_taken;
    // Nobody else could wait for what left for a request; now it is free for all.
    if (deferred.claim != RequestId::none)
        state_.agenda.post(Happening::released);
    deferred.living = false;
    unused_.push_back(id);
    if (state_.spaces[deferred.space].ahead.short_of_room)
        state_.agenda.post(Happening::freed_ahead);
    state_.agenda.post(Happening::changed);
    return deferred.location ? std::optional(deferred.space) : std::nullopt;
}

FreeRequest* LeavingLedger::find(RequestId id) {
    const auto found = std::find_if(requests_.begin(), requests_.end(), [&](const auto& request) {
        return request.request == id && id != RequestId::none;
    });
    return found == requests_.end() ? nullptr : &*found;
}

// The sum that a credit of this claim counts in.
Bytes* LeavingLedger::claimed(std::size_t space, RequestId claim) {
    if (claim == RequestId::none)
        return &state_.spaces[space].unclaimed;
    FreeRequest* request = find(claim);
    return request ? &request->leaving : nullptr;
}

void LeavingLedger::note_leaving(std::size_t space, RequestId claim, Bytes credit) {
    state_.spaces[space].leaving += credit;
    if (Bytes* sum = claimed(space, claim))
        *sum += credit;
}

void LeavingLedger::note_staying(std::size_t space, RequestId claim, Bytes credit) {
    state_.spaces[space].leaving -= credit;
    if (Bytes* sum = claimed(space, claim))
        *sum -= credit;
}

void LeavingLedger::claim(FreeRequest& request, RequestId& claimed_by, Bytes credit) {
    note_staying(request.space, claimed_by, credit);
    claimed_by = request.request;
    note_leaving(request.space, claimed_by, credit);
}

std::vector<WaitingFree> LeavingLedger::waiting() const {
    std::vector<WaitingFree> waiting;
    for (const std::uint64_t id : waiting_)
        waiting.push_back({id, deferred_[id].after});
    return waiting;
}

}  // namespace tidemark
