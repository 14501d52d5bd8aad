// SweepRun: what `tidemark sweep` does, trace by trace: reads the units that are in the folder,
// computes those that are its own and are not, and keeps each as soon as it is there.
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "replay/analysis/sweep/sweep.h"
#include "replay/cli/trace_input.h"
#include "replay/cli/unit_folder.h"
#include "replay/report/sweep/sweep_report.h"

namespace tidemark {

struct SweepPlan {
    std::vector<std::string> paths = {};  // of traces
    std::vector<SweepSetting> settings = {};
    std::vector<TierSetting> tiers = {};  // in place of these: a sweep over tiers
    double scale = 1;                     // over tiers
    bool halving = false;                 // without shards
    Shard shard = {};
    unsigned threads = 0;  // 0 = one for each core

    std::size_t count() const { return tiers.empty() ? settings.size() : tiers.size(); }
};

class SweepRun {
  public:
    // All must outlive it.
    SweepRun(Context& context, TraceInput& input, const UnitFolder& folder, const SweepPlan& plan);

    // Once. If it is interrupted, it returns what is finished. Errors: those of opening and
    // replaying traces, and of the folder.
    Result<SweepReport> run();

  private:
    Result<void> sweep_trace(std::size_t index, std::span<const std::size_t> settings);

    Result<std::string> name_of(std::size_t setting, const Trace& trace) const;

    // The unit's name, into `unit`; whether there is something to compute.
    Result<bool> find_or_want(SweptUnit& unit, const Trace& trace);

    // Computes `units` and keeps each; how many.
    Result<std::size_t> compute(const Trace& trace, const std::string& path,
                                std::span<SweptUnit> units);

    std::vector<UnitFigures> figures() const;

    // Once more is done.
    void advance();

    Context& context_;
    TraceInput& input_;
    const UnitFolder& folder_;
    const SweepPlan& plan_;
    std::vector<std::string> names_;
    UnitRange mine_;
    Progress progress_;
    SweepReport report_;
    std::set<std::string> seen_;  // names of units
    std::size_t expected_ = 0;    // units, for progress
    std::size_t done_ = 0;
};

}  // namespace tidemark
