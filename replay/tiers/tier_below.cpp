// Where buffers lie below the GPUs, and how they get there and back.
#include "replay/tiers/tier_below.h"

#include <algorithm>

#include "core/base/check.h"

namespace tidemark {

struct TierBelow::Space final : public Residents {
    Space(const TierBelow& below_, const SpaceSpec& spec, std::size_t number_)
        : below(below_),
          id(spec.id),
          number(number_),
          account(spec.capacity, spec.capacity),
          room(spec.capacity),
          piece(spec.block) {}

    bool may_leave(BufferId /*id*/) const override { return true; }

    BufferFacts facts(BufferId buffer) const override {
        BufferFacts facts;
        facts.size = below.places_[to_integer(buffer)].size;
        facts.dirty = !below.places_[to_integer(buffer)].duplicate;
        const Forecast* const forecast = below.stand_.forecast;
        facts.now = forecast == nullptr ? 0 : forecast->now();
        if (forecast != nullptr) {
            facts.next_use = forecast->next_use(buffer);
            facts.end = forecast->end_of(buffer);
        }
        return facts;
    }

    const TierBelow& below;
    SpaceId id;
    std::size_t number;  // in TierRun::spaces
    SpaceAccount account;
    RoomTimes room;
    Bytes piece;
    std::unique_ptr<VictimPolicy> policy;
};

TierBelow::TierBelow(const TierStand& stand, std::uint32_t buffers)
    : stand_(stand), places_(buffers) {
    std::size_t gpus = 0;
    for (const SpaceSpec& spec : stand.machine.spaces) {
        if (spec.id.tier == Tier::gpu) {
            ++gpus;
            continue;
        }
        auto space = std::make_unique<Space>(*this, spec, gpus + spaces_.size());
        VictimContext context;
        context.residents = space.get();
        context.capacity = spec.capacity;
        // Disks are at the bottom: where nothing leaves, no order is kept.
        if (spec.id.tier == Tier::host)
            space->policy = stand.victims.policy->make(context, stand.victims.options);
        spaces_.push_back(std::move(space));
    }
    for (const SpaceSpec& spec : stand.machine.spaces)
        if (spec.id.tier == Tier::gpu)
            routes_.emplace_back(spec.id, routes_from(spec.id));
}

TierBelow::~TierBelow() = default;

// Direct links first, hosts before disks; then disks through a host.
std::vector<TierBelow::Route> TierBelow::routes_from(SpaceId gpu) const {
    std::vector<Route> routes;
    for (std::uint32_t space = 0; space < spaces_.size(); ++space)
        if (const auto link = stand_.links.find(gpu, spaces_[space]->id))
            routes.push_back({space, *link, std::nullopt});
    const std::size_t direct = routes.size();
    for (std::size_t i = 0; i < direct; ++i) {
        const SpaceId between = spaces_[routes[i].space]->id;
        for (std::uint32_t space = 0; between.tier == Tier::host && space < spaces_.size(); ++space)
            if (const auto link = stand_.links.find(between, spaces_[space]->id);
                link && spaces_[space]->id.tier == Tier::disk)
                routes.push_back({space, routes[i].first, link});
    }
    return routes;
}

LinkTransfer TierBelow::record(std::size_t link, const LinkTransfer& transfer, Bytes size,
                               BufferId id) {
    stand_.timeline.add(SpanKind::copy, link, transfer.begin, transfer.end, size, to_integer(id));
    return transfer;
}

std::optional<LinkTransfer> TierBelow::store(BufferId id, Bytes size, SpaceId gpu,
                                             Nanoseconds earliest) {
    TM_CHECK(!holds(id));
    const auto routes = std::find_if(routes_.begin(), routes_.end(),
                                     [gpu](const auto& entry) { return entry.first == gpu; });
    for (const Route& route : routes->second) {
        Space& space = *spaces_[route.space];
        if (!make_room(route.space, size, earliest))
            continue;
        const Nanoseconds begin = space.room.take(size, earliest).when;
        LinkTransfer moved =
            record(route.first, stand_.links.transfer(route.first, begin, size), size, id);
        if (route.second)
            moved.done =
                record(*route.second, stand_.links.follow(*route.second, moved, size, space.piece),
                       size, id)
                    .done;
        settle(route.space, id, size, moved.done);
        return moved;
    }
    return std::nullopt;
}

LinkTransfer TierBelow::load(BufferId id, SpaceId gpu, Nanoseconds earliest) {
    Place& place = places_[to_integer(id)];
    TM_CHECK(place.space != kNowhere);
    const Space& space = *spaces_[place.space];
    const Nanoseconds begin = std::max(earliest, place.complete);
    LinkTransfer moved;
    if (const auto direct = stand_.links.find(space.id, gpu)) {
        moved = record(*direct, stand_.links.transfer(*direct, begin, place.size), place.size, id);
    } else {
        for (const auto& between : spaces_) {
            const auto up = stand_.links.find(space.id, between->id);
            const auto in = stand_.links.find(between->id, gpu);
            if (!up || !in)
                continue;
            const LinkTransfer first =
                record(*up, stand_.links.transfer(*up, begin, place.size), place.size, id);
            moved = record(*in, stand_.links.follow(*in, first, place.size, between->piece),
                           place.size, id);
            break;
        }
    }
    place.idle = std::max(place.idle, moved.end);
    if (space.policy != nullptr)
        space.policy->touch(id);
    return moved;
}

bool TierBelow::place(BufferId id, Bytes size, Tier tier, Nanoseconds now) {
    for (std::uint32_t space = 0; space < spaces_.size(); ++space) {
        if (spaces_[space]->id.tier != tier || !make_room(space, size, now))
            continue;
        settle(space, id, size, spaces_[space]->room.take(size, now).when);
        return true;
    }
    return false;
}

void TierBelow::settle(std::uint32_t space, BufferId id, Bytes size, Nanoseconds complete) {
    const bool fits = spaces_[space]->account.try_allocate(size);
    TM_CHECK(fits);
    stand_.timeline.level(spaces_[space]->number, spaces_[space]->account);
    places_[to_integer(id)] = {size, complete, complete, space, false};
    if (spaces_[space]->policy != nullptr)
        spaces_[space]->policy->insert(id);
}

void TierBelow::leave(BufferId id, Nanoseconds when, Departure why) {
    Place& place = places_[to_integer(id)];
    Space& space = *spaces_[place.space];
    if (space.policy != nullptr)
        space.policy->erase(id, why);
    space.account.deallocate(place.size);
    stand_.timeline.level(space.number, space.account);
    space.room.give(place.size, std::max(when, place.idle));
    place = {};
}

void TierBelow::forget(BufferId id, Nanoseconds now) {
    if (!holds(id))
        return;
    leave(id, now, Departure::freed);
    if (stand_.executor != nullptr)
        stand_.executor->forget(id);
}

bool TierBelow::make_room(std::uint32_t space, Bytes size, Nanoseconds now) {
    Space& full = *spaces_[space];
    if (size > full.account.capacity())
        return false;
    while (full.account.available() < size) {
        const auto victim = full.policy == nullptr ? std::nullopt : full.policy->victim();
        if (!victim)
            return false;
        if (places_[to_integer(*victim)].duplicate)
            leave(*victim, now, Departure::evicted);
        else if (!move_down(space, *victim, now))
            return false;
    }
    return true;
}

// From a host to a disk.
bool TierBelow::move_down(std::uint32_t space, BufferId id, Nanoseconds now) {
    const Place place = places_[to_integer(id)];
    for (std::uint32_t lower = 0; lower < spaces_.size(); ++lower) {
        Space& disk = *spaces_[lower];
        const auto link = stand_.links.find(spaces_[space]->id, disk.id);
        if (disk.id.tier != Tier::disk || !link || disk.account.available() < place.size)
            continue;
        const Nanoseconds begin = disk.room.take(place.size, std::max(now, place.complete)).when;
        const LinkTransfer moved =
            record(*link, stand_.links.transfer(*link, begin, place.size), place.size, id);
        leave(id, moved.end, Departure::evicted);
        settle(lower, id, place.size, moved.done);
        return true;
    }
    return false;
}

void TierBelow::report(std::vector<TierSpacePeak>& peaks) const {
    for (const auto& space : spaces_)
        peaks.push_back({space->id, space->account.capacity(), space->account.peak_used()});
}

}  // namespace tidemark
