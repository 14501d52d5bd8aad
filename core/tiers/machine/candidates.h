// Candidates: which spaces of a machine would do for a reservation or a buffer, best first. What
// ReservationSpec::spaces and BufferSpec::otherwise take: there the first that has room serves, and
// one that waits is tried on all of them whenever anything is freed anywhere (cuCascade's defects 9
// to 11: there it blocks on the first, or for ever). What can never be is an error at once.
//
// Plain values and functions; thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/result.h"
#include "core/tiers/machine/machine.h"

namespace tidemark {

// Which spaces would do. A plain value, made by the functions below.
struct RequestStrategy {
    enum class Kind : std::uint8_t { specific, any, preferred, tiers, downgrade, upgrade };
    Kind kind = Kind::specific;
    SpaceId space = {};            // specific; preferred; where a downgrade or upgrade comes from
    std::vector<Tier> tiers = {};  // any, preferred: one; tiers, downgrade, upgrade: in this order
};

// That space alone.
RequestStrategy specific(SpaceId space);

// The spaces of a tier, by index.
RequestStrategy any_in(Tier tier);

// `space` first, then the others of its tier by index.
RequestStrategy prefer(SpaceId space);

// All of the first tier, then all of the next, ...
RequestStrategy in_order(std::vector<Tier> tiers);

// Where what is in `space` could go down to: the spaces of the next lower tier, then of the one
// below; within a tier those with a link from `space` first, fastest first, then the others by
// index. The second form names the tiers, each below that of `space`.
RequestStrategy downgrade(SpaceId space);
RequestStrategy downgrade(SpaceId space, std::vector<Tier> tiers);

// And up to: those of `tier`, which is above that of `space`, in the same manner.
RequestStrategy upgrade(SpaceId space, Tier tier);

// The candidates on `machine`, best first, each once. Errors (not_found): the machine has no such
// space, or no candidate; (bad_option): tiers that are the wrong way, or none. O(spaces * links).
Result<std::vector<SpaceId>> candidates(const RequestStrategy& strategy,
                                        const MachineSpec& machine);

}  // namespace tidemark
