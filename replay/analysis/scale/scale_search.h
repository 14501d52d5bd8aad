// ScaleSearch: one setting's answers about a program that grows, by replays.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "backends/sim/costs.h"
#include "core/allocator/spec.h"
#include "core/base/result.h"
#include "replay/analysis/scale/growth_plan.h"
#include "replay/analysis/scale/scale_model.h"
#include "replay/scenario/trial.h"
#include "traces/model/trace.h"

namespace tidemark {

// A peak of reserved memory. What fits no law grows like most of a step. The range covers the case
// that it did not grow or grew twice as fast; how far the step that was held back is from its
// prediction; free pieces that other workspaces would leave differently; and, with several streams,
// when the device is done in other runs (spread.h).
struct ScaledPeak {
    Bytes likely = 0, least = 0, most = 0;
};

// Of a step that was held back.
struct HeldBackPeak {
    Bytes predicted = 0;  // from the other steps
    Bytes recorded = 0;   // as it was; 0: none is held back
};

// The largest growth along an axis that a card holds: certainly, and possibly. 0: none.
struct LargestGrowth {
    double surely = 0, perhaps = 0;
};

enum class Axis : std::uint8_t { batch, length };

class ScaleSearch {
  public:
    // What is given must outlive this. `stop` is asked before each replay, `replayed` called after.
    ScaleSearch(const Trace& trace, const ScaleModel& model, const PolicySpec& policy,
                const CostProfile& profile, std::function<bool()> stop,
                std::function<void()> replayed);

    // As recorded, replayed the same way. Errors, here and below: those of run_trial; cancelled.
    Result<Bytes> before();

    Result<HeldBackPeak> hold_back();

    // After hold_back(). Errors: those of plan_growth too.
    Result<ScaledPeak> peak_of(const GrowthQuestion& question);

    // On a card of `memory`, of which `overhead` is not the allocator's: by bisection, in about 40
    // replays or twice as many. Everything not along the axis is as in `question`.
    Result<LargestGrowth> largest(const GrowthQuestion& question, Axis axis, Bytes memory,
                                  Bytes overhead);

  private:
    struct Card {
        Bytes memory = 0, overhead = 0;
    };

    TrialSetup setup() const;
    // Of several streams: from where to where other runs go.
    Result<void> widen_by_runs(const Trace& trace, ScaledPeak& found);
    Result<TrialResult> replay(const Trace& trace, const Card& card);
    Result<Bytes> peak(const Trace& trace);
    GrownTrace grown(GrowthPlan plan) const;
    bool has_unknown() const;
    double error_at(const ScaleFactors& growth) const;
    Result<bool> survives(const GrowthQuestion& question, Card card, bool surely);
    Result<double> largest(GrowthQuestion question, double ScaleFactors::*axis, const Card& card,
                           bool surely);

    const Trace& trace_;
    const ScaleModel& model_;
    const PolicySpec& policy_;
    const CostProfile& profile_;
    std::function<bool()> stop_;
    std::function<void()> replayed_;
    double error_ = 1;  // of the step that was held back: as recorded, to what was predicted
};

}  // namespace tidemark
