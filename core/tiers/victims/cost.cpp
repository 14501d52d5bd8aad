// cost: evicts the buffer that saves the least copying per byte and time that it stays: the cost of
// moving it, by the links' bandwidth, over the time until its next use (next_use_policy.h).
//
// That time comes from the owner if it is known (BufferFacts::next_use). Otherwise it is guessed
// from past gaps and companions (past_uses.h), or is as long again as the buffer has been idle.
#include <array>

#include "core/tiers/victims/next_use_policy.h"
#include "core/tiers/victims/past_uses.h"

namespace tidemark::victims {
namespace {

class Cost final : public NextUsePolicy {
  public:
    Cost(const VictimContext& context, std::uint64_t companions)
        : NextUsePolicy(context, NextUseWeights::of_links(context)), past_(companions) {}

  private:
    std::uint64_t next_use(BufferId id, const BufferFacts& facts) const override {
        return facts.next_use != kUnknownUse ? facts.next_use : past_.expected(id, facts.now);
    }

    void used(BufferId id, std::uint64_t now) override { past_.note(id, now); }

    void ended(BufferId id) override { past_.end(id); }

    PastUses past_;
};

constexpr std::array<OptionInfo, 1> kCostOptions{{
    {.name = "companions",
     .type = OptionType::count,
     .unit = "operations",
     .default_value = "512",
     .minimum = "0",
     .maximum = "1000000000",
     .summary = "how long after a buffer its companions are used; 0 = look at each buffer alone"},
}};

}  // namespace

VictimPolicyInfo cost() {
    return {
        .name = "cost",
        .summary = "evicts what saves the least copying per byte and time",
        .source = "mean gaps, groups that return, idle times",
        .options = kCostOptions,
        .foresight = Foresight::none,
        .make = [](const VictimContext& context,
                   const Options& options) -> std::unique_ptr<VictimPolicy> {
            return std::make_unique<Cost>(context, options.count("companions"));
        },
    };
}

}  // namespace tidemark::victims
