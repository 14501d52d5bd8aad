// learned: as belady, on the next uses that a forecast learned from what the program did before.
//
// Whether the forecast is still right is its own business: once it is not, next uses are unknown,
// and buffers leave by how long they are idle (next_use_policy.h). So with no forecast at all this
// is lru, weighed by cost.
#include "core/tiers/victims/next_use_policy.h"

namespace tidemark::victims {
namespace {

class Learned final : public NextUsePolicy {
  public:
    using NextUsePolicy::NextUsePolicy;
};

}  // namespace

VictimPolicyInfo learned() {
    return {
        .name = "learned",
        .summary = "as belady, on next uses learned from what the program did before",
        .source = "Belady 1966",
        .options = {},
        .foresight = Foresight::learned,
        .make = [](const VictimContext& context, const Options&) -> std::unique_ptr<VictimPolicy> {
            return std::make_unique<Learned>(context, NextUseWeights::of_links(context));
        },
    };
}

}  // namespace tidemark::victims
