// Requests for memory of a machine: which spaces would do, in which order, and whether to wait.
//
// A strategy gives the candidates. A request takes the first that has room; one that waits is tried
// on all of them whenever anything is freed anywhere (cuCascade's defects 9 to 11: there it blocks
// on the first, or for ever). Nobody ever gets less than he asked for unless he asked for "up to".
// What can never be is an error at once: a space that the machine has not, no candidate at all, a
// size that is beyond the limit of every candidate.
//
// Thread-safety: everything may be called from any thread, with no lock held that the queue or a
// space takes (wait_queue.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/tiers/machine.h"
#include "core/tiers/memory_space.h"
#include "core/tiers/space_set.h"
#include "core/tiers/wait_queue.h"

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

struct MemoryRequest {
    RequestStrategy strategy;
    Bytes size = 0;
    OwnerId owner = OwnerId::nobody;
};

// How long to wait, and before whom. See WaitRequest.
struct WaitTerms {
    std::optional<std::chrono::nanoseconds> timeout = {};  // nothing: for ever
    std::int32_t priority = 0;
    std::stop_token cancel = {};
    std::string_view label = {};  // in a deadlock's report
};

struct RequestOutcome {
    WaitEnd end = WaitEnd::granted;
    MemoryReservation reservation;  // of nothing unless granted
    std::string report = {};        // of a deadlock
};

// Without waiting: the reservation, or one of nothing if no candidate has room, or if those who
// wait may not be passed, or after SpaceSet::shut_down(). Errors: those of candidates().
Result<MemoryReservation> try_request(SpaceSet& spaces, const MemoryRequest& request);

// Without waiting, as much as there is: all of it from the first candidate that has room for that,
// else what is left of the one that has the most, possibly 0 bytes. The caller looks at the size.
// Passes over those who wait, but leaves them what they may not be denied. Errors: those of
// candidates().
Result<MemoryReservation> request_up_to(SpaceSet& spaces, const MemoryRequest& request);

// Waits. Errors: those of candidates(), and (bad_option) a size that no candidate could ever give.
Result<RequestOutcome> request(SpaceSet& spaces, const MemoryRequest& request,
                               const WaitTerms& terms = {});

}  // namespace tidemark
