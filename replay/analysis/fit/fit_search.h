// FitSearch: all the replays of one row of `fit`: unlimited, under the memory in
// question, and the two bisections.
#pragma once

#include <functional>

#include "replay/analysis/fit/fit.h"

namespace tidemark {

class FitSearch {
  public:
    // `policy` on `trace`, costs from `profile`. All must outlive the search. `replayed` is called
    // after each replay.
    FitSearch(const Trace& trace, const FitQuestion& question, const CostProfile& profile,
              std::function<void()> replayed);

    // Everything except the positions in the program at which runs end. O(replays * events).
    // Errors: those of run_trial. If the recorded run itself ran out of memory, its settings don't
    // survive with less.
    Result<FitRow> run(const PolicySpec& policy);

  private:
    // What a size must be enough for.
    enum class Goal : std::uint8_t { granted_all, no_worse };

    struct Sizes {
        Bytes memory = 0;
        Bytes limit = 0;
    };

    // One replay; memory 0 = unlimited. Up to the first failed request that misses the goal, or
    // without one to the end.
    Result<TrialResult> replay(Bytes memory, Bytes limit, std::optional<Goal> goal);
    static bool meets(const TrialResult& result, Goal goal);
    Result<void> answer(FitRow& row);
    Bytes least_of(const FitRow& row, Goal goal) const;
    bool recorded_died() const;
    Result<Sizes> find_smallest(FitRow& row, Goal goal);
    Result<Bytes> find_smallest_memory(FitRow& row, Goal goal);
    Result<Bytes> find_smallest_limit(const FitRow& row, Goal goal, Bytes memory);

    // A span of sizes that are searched.
    struct Bounds {
        Bytes least = 0;     // nothing below survives
        Bytes most = 0;      // survives, as far as is known
        bool known = false;  // a replay has shown that `most` survives
    };

    // The smallest multiple of kFitResolution for which `survives`; 0 if none.
    static Result<Bytes> smallest(Bounds bounds,
                                  const std::function<Result<bool>(Bytes size)>& survives);

    const Trace& trace_;
    const FitQuestion& question_;
    const CostProfile& profile_;
    std::function<void()> replayed_;
    PolicySpec policy_;
    Bytes overhead_;         // as the device counts it
    Bytes died_within_ = 0;  // what the recorded run had, and ran out of; 0 = unknown, or another's
    std::uint64_t replays_ = 0;
};

}  // namespace tidemark
