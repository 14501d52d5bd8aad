// belady: the buffer that is used farthest in the future leaves, with sizes and costs weighed.
// Replays know the future, programs do not: a reference for the others, but not the optimum
// (replay/analysis has the bound).
//
// Model: Belady 1966, the optimum for pages of one size and one cost. `weigh=cost` (default) looks
// for the longest time of free memory per unit of copying, see next_use_policy.h: with clean copies
// and known ends that is far better than the original, `weigh=distance`, which writes out what is
// about to be freed.
#include <array>
#include <limits>

#include "core/tiers/victims/next_use_policy.h"

namespace tidemark::victims {
namespace {

class Belady final : public NextUsePolicy {
  public:
    using NextUsePolicy::NextUsePolicy;
};

NextUseWeights by_distance() {
    NextUseWeights weights;
    weights.dirty = 1;
    weights.dead_idle = std::numeric_limits<double>::infinity();
    weights.ends = false;
    return weights;
}

constexpr std::array<std::string_view, 2> kWeighs{"cost", "distance"};

constexpr std::array<OptionInfo, 1> kBeladyOptions{{
    {.name = "weigh",
     .type = OptionType::choice,
     .default_value = "cost",
     .choices = kWeighs,
     .summary = "what to weigh: the time until the next use per unit of cost, or only that time",
     .source = "distance: the paper"},
}};

}  // namespace

VictimPolicyInfo belady() {
    return {
        .name = "belady",
        .summary = "evicts what is used farthest in the future, relative to the cost of moving it",
        .source = "Belady 1966",
        .options = kBeladyOptions,
        .foresight = Foresight::oracle,
        .make = [](const VictimContext& context,
                   const Options& options) -> std::unique_ptr<VictimPolicy> {
            return std::make_unique<Belady>(context, options.choice("weigh") == "cost"
                                                         ? NextUseWeights::of_links(context)
                                                         : by_distance());
        },
    };
}

}  // namespace tidemark::victims
