// The bandwidth and latency of a link, from the times of copies over it, as a profile holds them.
#pragma once

#include "backends/sim/costs.h"
#include "core/base/result.h"
#include "core/tiers/machine/machine_builder.h"

namespace tidemark {

// The bandwidth between the two largest sizes, where nothing but bytes differs, and the latency
// that the smallest size took beyond its bytes. Errors (bad_input): fewer than two sizes, or the
// largest does not take longer. O(1).
Result<FoundLink> link_of(const CostCurve& copies);

}  // namespace tidemark
