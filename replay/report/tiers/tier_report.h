// Reports on replays over tiers: what one cost and why, comparisons of victim policies, and their
// catalogue. Text for people and JSON for programs; pure, like text.h and json.h.
#pragma once

#include <span>
#include <string>

#include "core/tiers/victims/victim_policy.h"
#include "replay/analysis/tiers/compare_tiers.h"
#include "replay/report/forms/model.h"
#include "replay/report/forms/table.h"
#include "replay/tiers/tier_run.h"
#include "traces/model/trace.h"

namespace tidemark {

// `replay` over tiers: time, stalls by cause, bytes by link, memory, reservations, and what the
// figures are based on. `name` is what the user called the trace.
std::string tier_run_text(const std::string& name, const TierRun& run, const TierProgram& program,
                          const TraceInfo& info);
std::string tier_run_json(const TierRun& run, const TierProgram& program,
                          const Provenance& provenance, const TierRun* predicted = nullptr);

// The prediction for a run on a device, and how far it was off.
std::string tier_prediction_text(const TierRun& run, const TierRun& predicted);

// `compare` over tiers: a table for each trace, one over several, and verdicts.
std::string tier_comparison_text(const TierComparison& comparison, Emphasis emphasis);
std::string tier_comparison_json(const TierComparison& comparison, const Provenance& provenance);

// `victims`: all of them, a line each; or one with its options.
std::string victims_text(std::span<const VictimPolicyInfo> policies);
std::string victim_text(const VictimPolicyInfo& policy);
std::string victims_json(std::span<const VictimPolicyInfo> policies, const Provenance& provenance);

// Names as on the command line.
std::string_view to_text(Prefetch prefetch);
std::string_view to_text(ReservationMode mode);
std::string_view to_text(OverReservationMode policy);

}  // namespace tidemark
