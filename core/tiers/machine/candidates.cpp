// The spaces of a strategy, in their order.
#include "core/tiers/machine/candidates.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

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

}  // namespace tidemark
