// Victims, and what becomes of them.
#include "core/tiers/engine/room_maker.h"

#include <algorithm>
#include <utility>

#include "core/base/text.h"

namespace tidemark {

// Has the buffer leave `space`: dropped if its bytes are elsewhere or don't matter, else copied
// first.
void RoomMaker::leave(std::uint32_t id, std::size_t space, RequestId claim,
                      std::optional<Tier> tier) {
    SpillBuffer& buffer = state_.buffers[id];
    if (space == buffer.own_space && !copies_.try_shut(id))
        return;  // somebody has pinned it meanwhile: it may not leave any more
    const BufferCopy* copy = buffer.copy_in(space);
    const bool resident = copy->resident;
    SpillSpace& here = state_.spaces[space];
    here.counters.evictions += resident ? 1 : 0;
    if (resident && state_.options.forecast && !buffer.blank) {
        here.ahead.evicted.push_back(id);
        here.ahead.earliest_evicted =
            std::min(here.ahead.earliest_evicted, state_.options.forecast->next_use(BufferId{id}));
    }
    if (buffer.copies.size() > 1 || buffer.blank) {
        here.counters.dropped_clean += buffer.size;
        copies_.drop(id, space, EvictionReason::evicted, claim, resident);
        state_.report(id, space, BufferEvent::Kind::left);
        return;
    }
    BufferMove move;
    move.kind = MoveKind::spill;
    move.source = space;
    move.others = here.slower;
    if (tier)
        std::ranges::stable_partition(move.others, [&](std::size_t slower) {
            return state_.machine.spaces[slower].id.tier == *tier;
        });
    move.target = move.others.front();
    move.others.erase(move.others.begin());
    move.evict = true;
    move.claim = claim;
    move.beneficiary = copies_.beneficiary();
    moves_.begin(id, std::move(move));
    state_.report(id, space, BufferEvent::Kind::leaving);
}

// Nothing could leave: from here on nobody pins anything there without the engine, and it is told
// of the last pin's end.
void RoomMaker::seal_gates(std::size_t space) {
    for (std::uint32_t id = 0; id < state_.buffers.size(); ++id)
        if (state_.buffers[id].gate && state_.buffers[id].own_space == space)
            copies_.seal(id);
}

void RoomMaker::claim_victims(std::size_t space, Bytes need) {
    while (state_.spaces[space].unclaimed < need) {
        const std::optional<std::uint32_t> victim = copies_.any_victim(space);
        if (!victim)
            return;
        leave(*victim, space, RequestId::none);
    }
}

bool RoomMaker::make_room(std::size_t space, Bytes need, ReservationId beneficiary) {
    copies_.set_beneficiary(beneficiary);
    claim_victims(space, need);
    if (state_.spaces[space].unclaimed == 0) {
        // What was pinned a moment ago may be free now, and nobody would say so.
        seal_gates(space);
        claim_victims(space, need);
    }
    copies_.set_beneficiary({});
    return state_.spaces[space].unclaimed > 0;
}

Bytes RoomMaker::spare(std::size_t index) const {
    const SpillSpace& space = state_.spaces[index];
    const Bytes available = space.memory->available() + space.leaving;
    return available - std::min(available, space.lined);
}

RequestId RoomMaker::free_bytes(SpaceId id, Bytes size) {
    const RequestId request = state_.next_request();
    const std::size_t space = state_.position(id);
    FreeRequest entry;
    entry.request = request;
    entry.space = space;
    entry.report.space = id;
    entry.report.requested = size;
    if (state_.closing || space == kNoSpace) {
        entry.report.end = state_.closing ? FreeEnd::shut_down : FreeEnd::nothing_left;
        answer(entry, space == kNoSpace ? std::optional(Error{ErrorCode::unsupported,
                                                              "no such space", to_text(id), ""})
                                        : std::nullopt);
        return request;
    }
    state_.unbar();
    leaving_.requests().push_back(std::move(entry));
    state_.changed = true;
    return request;
}

RequestId RoomMaker::defer(SpaceId id, std::optional<std::uint32_t> buffer) {
    FreeRequest entry;
    entry.request = state_.next_request();
    entry.space = state_.position(id);
    entry.any = false;
    entry.report.space = id;
    if (!buffer) {
        entry.report.end = state_.closing ? FreeEnd::shut_down : FreeEnd::nothing_left;
        answer(entry);
        return entry.request;
    }
    entry.report.requested = copies_.credit(*state_.buffers[*buffer].copy_in(entry.space));
    const RequestId request = entry.request;
    const std::size_t space = entry.space;
    leaving_.requests().push_back(std::move(entry));
    leave(*buffer, space, request);
    state_.changed = true;
    return request;
}

void RoomMaker::serve_frees(std::size_t space) {
    std::vector<FreeRequest>& requests = leaving_.requests();
    for (std::size_t i = 0; i < requests.size();) {
        if (requests[i].space == space && serve_free(requests[i]))
            requests.erase(requests.begin() + static_cast<std::ptrdiff_t>(i));
        else
            ++i;
    }
}

void RoomMaker::refuse_frees() {
    for (FreeRequest& request : leaving_.requests()) {
        request.report.end = FreeEnd::shut_down;
        answer(request);
    }
    leaving_.requests().clear();
}

bool RoomMaker::withdraw_free(RequestId request) {
    FreeRequest* found = leaving_.find(request);
    if (!found)
        return false;
    found->report.end = FreeEnd::withdrawn;
    answer(*found);
    std::vector<FreeRequest>& requests = leaving_.requests();
    requests.erase(requests.begin() + (found - requests.data()));
    return true;
}

void RoomMaker::answer(FreeRequest& request, std::optional<Error> refusal) {
    state_.work.answers.push_back({.request = request.request,
                                   .refusal = std::move(refusal),
                                   .freed = std::move(request.report)});
}

// Whether it has been answered.
bool RoomMaker::serve_free(FreeRequest& request) {
    FreeReport& report = request.report;
    if (request.any && report.freed + request.leaving < report.requested)
        claim_unclaimed(request, report.requested - report.freed - request.leaving);
    while (request.any && report.freed + request.leaving < report.requested) {
        const std::optional<std::uint32_t> victim = copies_.any_victim(request.space);
        if (!victim)
            break;
        leave(*victim, request.space, request.request);
    }
    if (report.freed < report.requested && request.leaving > 0)
        return false;
    report.end = report.freed >= report.requested ? FreeEnd::enough : FreeEnd::nothing_left;
    if (request.any && report.end == FreeEnd::nothing_left)
        explain(report, request.space);
    answer(request);
    state_.changed = true;
    return true;
}

// What is leaving for nobody in particular leaves for this request.
void RoomMaker::claim_unclaimed(FreeRequest& request, Bytes need) {
    Bytes claimed = 0;
    const auto claim = [&](RequestId& claimed_by, Bytes credit) {
        if (claimed >= need || claimed_by != RequestId::none)
            return;
        leaving_.claim(request, claimed_by, credit);
        claimed += credit;
    };
    for (DeferredFree& deferred : leaving_.deferred())
        if (deferred.living && deferred.space == request.space)
            claim(deferred.claim, deferred.credit);
    for (const std::uint32_t id : moves_.moving()) {
        BufferMove& move = *state_.buffers[id].move;
        if (move.source == request.space && move.evict && !move.cancelled)
            claim(move.claim, move.credit);
    }
}

// Why more of `space` could not be freed: what stayed, by reason.
void RoomMaker::explain(FreeReport& report, std::size_t space) const {
    for (const SpillBuffer& buffer : state_.buffers) {
        const BufferCopy* copy = buffer.living ? buffer.copy_in(space) : nullptr;
        if (!copy || !copy->owned)
            continue;
        const Bytes size = copy->charge.size;
        if (copy->users != 0 || buffer.pinned_in(space) || buffer.move || !buffer.waiting.empty())
            report.in_use += size;
        else if (!buffer.may_spill)
            report.kept += size;
        else if (copies_.credit(*copy) == 0)
            report.reserved += size;
        else
            report.no_room += size;
    }
}

std::string RoomMaker::holders(std::size_t space) const {
    std::string text = holders_in(space);
    for (const std::size_t slower : state_.spaces[space].slower)
        text += "; " + holders_in(slower);
    return text;
}

std::string RoomMaker::holders_in(std::size_t space) const {
    const SpaceCounters now = state_.spaces[space].memory->counters();
    FreeReport report;
    explain(report, space);
    std::uint64_t accesses = 0;
    for (const SpillBuffer& buffer : state_.buffers) {
        const BufferCopy* copy = buffer.living ? buffer.copy_in(space) : nullptr;
        accesses += copy ? copy->users : 0;
        accesses += copy && copy->users == 0 && buffer.pinned_in(space) ? 1U : 0U;
    }
    std::string text = to_text(state_.machine.spaces[space].id) + ": " + format_bytes(now.used) +
                       " of " + format_bytes(state_.machine.spaces[space].capacity) + " used";
    const std::pair<Bytes, std::string> parts[] = {
        {report.in_use,
         "by buffers with " + format_counted(accesses, "open access", "open accesses")},
        {report.kept, "by buffers that stay"},
        {now.reserved, "in " + format_counted(now.reservations, "reservation")},
        {report.no_room, "by buffers that cannot leave"}};
    for (const auto& [bytes, by] : parts)
        if (bytes != 0)
            text += ", " + format_bytes(bytes) + " " + by;
    return text;
}

void RoomMaker::spill_in_background(std::size_t index) {
    SpillSpace& space = state_.spaces[index];
    const Thresholds& thresholds = space.memory->thresholds();
    const Bytes used = space.memory->used();
    if (!space.spilling && used > thresholds.spill_start) {
        space.spilling = true;
        state_.unbar();
    }
    if (!space.spilling)
        return;
    if (used <= thresholds.spill_stop) {
        space.spilling = false;
        return;
    }
    while (used > thresholds.spill_stop + space.leaving &&
           space.leaving < state_.options.background_in_flight) {
        const std::optional<std::uint32_t> victim = copies_.victim(index);
        if (!victim)
            return;
        leave(*victim, index, RequestId::none);
    }
}

std::string FreeReport::text() const {
    std::string text =
        to_text(space) + ": freed " + format_bytes(freed) + " of " + format_bytes(requested);
    const std::pair<Bytes, const char*> reasons[] = {{in_use, "in use"},
                                                     {kept, "not to be spilled"},
                                                     {reserved, "of living reservations"},
                                                     {no_room, "without room below"}};
    const char* separator = ": ";
    for (const auto& [bytes, reason] : reasons) {
        if (bytes == 0)
            continue;
        text += separator + format_bytes(bytes) + " " + reason;
        separator = ", ";
    }
    if (failed_copies != 0)
        text += separator + format_count(failed_copies) + " copies failed";
    return text;
}

}  // namespace tidemark
