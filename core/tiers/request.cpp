// Candidates of the strategies, and the attempts that requests are made of.
#include "core/tiers/request.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "core/base/text.h"

namespace tidemark {
namespace {

void append_tier(std::vector<SpaceId>& ids, const MachineSpec& machine, Tier tier) {
    for (const SpaceSpec& space : machine.spaces)
        if (space.id.tier == tier)
            ids.push_back(space.id);
}

// The last `count` ids, by how fast they are reached from `source`; those without a link behind.
void nearest_first(std::vector<SpaceId>& ids, std::size_t count, const MachineSpec& machine,
                   SpaceId source) {
    const auto speed = [&](SpaceId target) {
        const LinkSpec* link = machine.link(source, target);
        return link == nullptr ? 0.0 : link->bytes_per_second;
    };
    std::stable_sort(ids.end() - static_cast<std::ptrdiff_t>(count), ids.end(),
                     [&](SpaceId a, SpaceId b) { return speed(a) > speed(b); });
}

bool has_space(const RequestStrategy& strategy) {
    using Kind = RequestStrategy::Kind;
    return strategy.kind == Kind::specific || strategy.kind == Kind::preferred ||
           strategy.kind == Kind::downgrade || strategy.kind == Kind::upgrade;
}

// Tiers that it may name: any, or those below or above the one that it comes from.
Result<void> check_direction(const RequestStrategy& strategy) {
    using Kind = RequestStrategy::Kind;
    for (const Tier tier : strategy.tiers) {
        const bool wrong = (strategy.kind == Kind::downgrade && tier <= strategy.space.tier) ||
                           (strategy.kind == Kind::upgrade && tier >= strategy.space.tier);
        if (wrong)
            return fail(ErrorCode::bad_option,
                        fmt::format("{} is not {} {}", to_text(tier),
                                    strategy.kind == Kind::upgrade ? "above" : "below",
                                    to_text(strategy.space)));
    }
    return {};
}

std::string names_of(const std::vector<std::size_t>& positions, const SpaceSet& spaces) {
    std::string names;
    for (const std::size_t at : positions)
        names += (names.empty() ? "" : ", ") + to_text(spaces.at(at).id());
    return names;
}

// A request with its candidates found: what is asked of the queue, and of the spaces.
struct Plan {
    std::vector<std::size_t> positions;  // best first
    SpaceMask mask = 0;
};

Result<Plan> plan(const SpaceSet& spaces, const RequestStrategy& strategy) {
    TM_ASSIGN(const std::vector<SpaceId> ids, candidates(strategy, spaces.machine()));
    Plan plan;
    for (const SpaceId id : ids) {
        plan.positions.push_back(*spaces.position(id));
        plan.mask |= space_bit(plan.positions.back());
    }
    return plan;
}

// Takes from the first open candidate that has room for all of it.
SpaceMask take_all(const SpaceSet& spaces, const Plan& plan, const MemoryRequest& request,
                   SpaceMask open, MemoryReservation& reservation) {
    for (const std::size_t at : plan.positions) {
        if ((open & space_bit(at)) == 0)
            continue;
        if (auto taken = spaces.at(at).try_reserve(request.size, request.owner)) {
            reservation = std::move(*taken);
            return space_bit(at);
        }
    }
    return 0;
}

// Takes what is left of the open candidate that has the most.
SpaceMask take_rest(const SpaceSet& spaces, const Plan& plan, const MemoryRequest& request,
                    SpaceMask open, MemoryReservation& reservation) {
    std::size_t best = spaces.size();
    Bytes most = 0;
    for (const std::size_t at : plan.positions) {
        const Bytes room = spaces.at(at).reservable();
        if ((open & space_bit(at)) == 0 || room <= most)
            continue;
        best = at;
        most = room;
    }
    if (best == spaces.size())
        return 0;
    reservation = spaces.at(best).reserve_up_to(request.size, request.owner);
    return space_bit(best);
}

}  // namespace

RequestStrategy specific(SpaceId space) {
    return {RequestStrategy::Kind::specific, space, {}};
}

RequestStrategy any_in(Tier tier) {
    return {RequestStrategy::Kind::any, {}, {tier}};
}

RequestStrategy prefer(SpaceId space) {
    return {RequestStrategy::Kind::preferred, space, {space.tier}};
}

RequestStrategy in_order(std::vector<Tier> tiers) {
    return {RequestStrategy::Kind::tiers, {}, std::move(tiers)};
}

RequestStrategy downgrade(SpaceId space) {
    std::vector<Tier> tiers;
    for (int tier = static_cast<int>(space.tier) + 1; tier < kTierCount; ++tier)
        tiers.push_back(static_cast<Tier>(tier));
    return downgrade(space, std::move(tiers));
}

RequestStrategy downgrade(SpaceId space, std::vector<Tier> tiers) {
    return {RequestStrategy::Kind::downgrade, space, std::move(tiers)};
}

RequestStrategy upgrade(SpaceId space, Tier tier) {
    return {RequestStrategy::Kind::upgrade, space, {tier}};
}

Result<std::vector<SpaceId>> candidates(const RequestStrategy& strategy,
                                        const MachineSpec& machine) {
    using Kind = RequestStrategy::Kind;
    if (has_space(strategy) && machine.space(strategy.space) == nullptr)
        return fail(ErrorCode::not_found,
                    fmt::format("the machine has no space {}", to_text(strategy.space)));
    TM_TRY(check_direction(strategy));
    std::vector<SpaceId> ids;
    if (strategy.kind == Kind::specific || strategy.kind == Kind::preferred)
        ids.push_back(strategy.space);
    for (const Tier tier : strategy.tiers) {
        const std::size_t before = ids.size();
        append_tier(ids, machine, tier);
        if (strategy.kind == Kind::downgrade || strategy.kind == Kind::upgrade)
            nearest_first(ids, ids.size() - before, machine, strategy.space);
    }
    std::vector<SpaceId> once;
    for (const SpaceId id : ids)
        if (std::find(once.begin(), once.end(), id) == once.end())
            once.push_back(id);
    if (once.empty())
        return fail(ErrorCode::not_found, "no space of the machine would do");
    return once;
}

Result<MemoryReservation> try_request(SpaceSet& spaces, const MemoryRequest& request) {
    TM_ASSIGN(const Plan found, plan(spaces, request.strategy));
    MemoryReservation reservation;
    spaces.queue().try_now({.spaces = found.mask}, [&](SpaceMask open) {
        return take_all(spaces, found, request, open, reservation);
    });
    return reservation;
}

Result<MemoryReservation> request_up_to(SpaceSet& spaces, const MemoryRequest& request) {
    TM_ASSIGN(const Plan found, plan(spaces, request.strategy));
    MemoryReservation reservation;
    spaces.queue().try_now({.spaces = found.mask}, [&](SpaceMask open) {
        const SpaceMask taken = take_all(spaces, found, request, open, reservation);
        return taken != 0 ? taken : take_rest(spaces, found, request, open, reservation);
    });
    if (!reservation)
        reservation = spaces.at(found.positions.front()).reserve_up_to(0, request.owner);
    return reservation;
}

Result<RequestOutcome> request(SpaceSet& spaces, const MemoryRequest& request,
                               const WaitTerms& terms) {
    TM_ASSIGN(Plan found, plan(spaces, request.strategy));
    Plan able;
    for (const std::size_t at : found.positions) {
        const MemorySpace& space = spaces.at(at);
        if (space.rounded(request.size) > space.thresholds().limit)
            continue;
        able.positions.push_back(at);
        able.mask |= space_bit(at);
    }
    if (able.positions.empty())
        return fail(ErrorCode::bad_option,
                    fmt::format("{} is more than can ever be reserved in {}",
                                format_bytes(request.size), names_of(found.positions, spaces)));
    MemoryReservation reservation;
    WaitResult result = spaces.queue().wait(
        {.spaces = able.mask,
         .priority = terms.priority,
         .timeout = terms.timeout,
         .cancel = terms.cancel,
         .owner = request.owner,
         .label = terms.label,
         .size = request.size},
        [&](SpaceMask open) { return take_all(spaces, able, request, open, reservation); });
    // From here on the set may be gone: its destructor has only waited for the queue's part.
    return RequestOutcome{result.end, std::move(reservation), std::move(result.report)};
}

}  // namespace tidemark
