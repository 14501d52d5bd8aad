// pool_plans: what will be requested of pools, read from the trace before it is replayed. For
// policies that place by plan: in a program a dry run finds the plan, in a replay the trace itself
// has it.
#pragma once

#include <map>
#include <span>
#include <utility>
#include <vector>

#include "core/allocator/allocator.h"
#include "core/base/result.h"
#include "replay/engine/engine.h"
#include "traces/model/trace.h"

namespace tidemark {

// The requests for each private pool of each device (its index in the trace), in order; or all of
// them, as the default pool's; or none, and the trace is not read. Positions count the requests and
// ends of the pool. An allocation escapes if it is live after the last request of its pool, except
// if it ends inside the pool's scope. It also escapes if other streams use it too, since a plan
// does not know when those are done. One pass: O(events).
using PoolPlans = std::map<std::pair<std::uint16_t, PoolId>, std::vector<PlannedAllocation>>;

Result<PoolPlans> pool_plans(const Trace& trace, PlanScope scope);

// Reads the plans, if a policy uses them, and passes them to the allocators of `contexts`, as the
// replay engine assigns devices to them. Errors: those of reading the trace.
Result<void> plan_pools(const Trace& trace, PlanScope scope,
                        std::span<const DeviceContext> contexts);

}  // namespace tidemark
