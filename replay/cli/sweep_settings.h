// What a sweep tries on every trace: allocator policies on cards, or victim policies over the tiers
// of machines.
#pragma once

#include <vector>

#include "replay/analysis/sweep/sweep.h"
#include "replay/analysis/tiers/sweep_tiers.h"
#include "replay/cli/command.h"
#include "replay/report/sweep/sweep_spec.h"

namespace tidemark {

// Whether the spec names machines with tiers, sizes of their GPUs or victim policies.
bool is_over_tiers(const SweepSpec& spec);

// Policies first, then the machines of each. Errors (bad_option): a wrong value; nothing to try.
Result<std::vector<SweepSetting>> policy_settings(Front& front, const SweepSpec& spec);

// Machines first, then the sizes of each, then the victim policies. Without sizes the machines'
// own; without policies lru. Errors: also those of open_machine; a policy, size or card of replays
// without tiers is given too.
Result<std::vector<TierSetting>> tier_settings(Front& front, const SweepSpec& spec);

}  // namespace tidemark
