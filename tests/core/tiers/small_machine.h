// Small machines for tests of spaces and requests.
#pragma once

#include "core/tiers/engine/fair_order.h"
#include "core/tiers/machine/machine.h"

namespace tidemark {

// The first spaces of a machine, as masks.
constexpr SpaceMask kSpaceA = space_bit(0);
constexpr SpaceMask kSpaceB = space_bit(1);

inline SpaceSpec small_space(SpaceId id, Bytes capacity, double limit = 1) {
    SpaceSpec spec;
    spec.id = id;
    spec.capacity = capacity;
    spec.reservation_limit = limit;
    if (id.tier == Tier::disk)
        spec.directories = {"unused"};
    return spec;
}

inline LinkSpec small_link(SpaceId source, SpaceId target, double bytes_per_second) {
    return {source, target, bytes_per_second, 0, 0, {}};
}

}  // namespace tidemark
