// A replay over tiers on a real GPU: GPU memory, pinned host memory and files are real, kernels
// last as long as recorded, and the same engine decides as on a simulated machine.
#pragma once

#include "core/base/result.h"
#include "core/device/device.h"
#include "replay/tiers/tier_run.h"

namespace tidemark {

// Runs `program` on CUDA device `ordinal`, whose memory counts as the scenario says; spaces of
// `machine` below it are those used, disks if they name directories. Host memory is pinned before
// the program begins, as much as the run is `predicted` to need, and then as it is needed. Takes as
// long as the program took, plus a few seconds to pin memory. One GPU. Errors: those of run_tiers;
// unsupported: no CUDA, or a program of several GPUs; no_space: the GPU or the host has too little
// memory; driver: something failed on the way; io: a directory.
Result<TierRun> run_tiers_on_gpu(const TierProgram& program, const MachineSpec& machine,
                                 const TierScenario& scenario, const TierRun& predicted,
                                 int ordinal, const TierListeners& listeners = {});

// The same on any device, without kernels: for tests on the simulator.
Result<TierRun> run_tiers_on_device(const TierProgram& program, const MachineSpec& machine,
                                    const TierScenario& scenario, const TierRun& predicted,
                                    Device& device, const TierListeners& listeners = {});

}  // namespace tidemark
