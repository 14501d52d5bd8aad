// The replay of a program over tiers: streams as actors on the virtual clock.
//
// Each stream keeps the recorded gaps between its own steps; the one whose next step comes first
// takes it. A step that must wait, for room, for content, for a reservation, pushes its stream and
// whatever waits for that. Decisions are made in that order, by the memory's policies.
#pragma once

#include "replay/tiers/tier_below.h"
#include "replay/tiers/tier_run.h"

namespace tidemark {

// Fills `run` but for what describes its inputs. `run.scenario` says how; with `look_ahead`, what
// the stand's forecast expects is brought in before its use. Deterministic but for `elapsed`.
void replay_tiers(const TierProgram& program, const TierStand& stand, bool look_ahead, TierRun& run,
                  const TierProgress& progress);

}  // namespace tidemark
