// Sweeps over tiers: victim policies on machines, with sizes of GPU memory, a unit at a time as
// replay/analysis/sweep has them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "core/base/result.h"
#include "core/tiers/machine/machine.h"
#include "replay/analysis/sweep/sweep.h"
#include "replay/tiers/tier_run.h"

namespace tidemark {

struct TierSetting {
    std::shared_ptr<const MachineSpec> machine = {};
    std::uint64_t machine_hash = 0;
    std::string gpu_memory = {};  // as typed: "60%"; "": the machine's own
    TierScenario scenario = {};
};

// The name of the result of `setting` on a trace of that hash, at that scale: as unit_name().
std::string tier_unit_name(std::uint64_t trace_hash, const TierSetting& setting, double scale,
                           std::string_view version);

// As run_settings(); a machine that the program doesn't fit on is bad_option, and a result too.
Result<void> run_tier_settings(
    const TierProgram& program, std::span<const TierSetting> settings,
    const std::function<Result<void>(std::size_t setting, const Result<TierRun>& result)>& keep,
    const SweepOptions& options = {});

}  // namespace tidemark
