// learned: the same as belady, with next uses that a forecast learned from the program's past.
//
// The forecast itself decides whether it is still right. Once it is not, next uses are unknown, and
// buffers leave by how long they have been idle (next_use_policy.h). So without any forecast this
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
        .summary = "the same as belady, with next uses learned from what the program did before",
        .source = "Belady 1966",
        .options = {},
        .foresight = Foresight::learned,
        .make = [](const VictimContext& context, const Options&) -> std::unique_ptr<VictimPolicy> {
            return std::make_unique<Learned>(context, NextUseWeights::of_links(context));
        },
    };
}

}  // namespace tidemark::victims
