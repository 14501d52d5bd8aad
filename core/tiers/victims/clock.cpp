// clock: buffers in a circle, a hand that goes around, and a mark on each buffer that was used
// since the hand last passed. A marked buffer loses its mark and stays; an unmarked one leaves.
//
// Model: Corbato 1968; approximates lru for the cost of a mark. The hand is at the front of a list,
// and what it passes goes to the back. Buffers come in at the back, unmarked: their first use marks
// them. The hand passes buffers that may not leave, which keep their marks.
#include "core/tiers/victims/id_list.h"

namespace tidemark::victims {
namespace {

class Clock final : public VictimPolicy {
  public:
    explicit Clock(const VictimContext& context) : residents_(*context.residents) {}

    void insert(BufferId id) override {
        if (to_integer(id) >= marked_.size()) [[unlikely]]
            marked_.resize(to_integer(id) + 1);
        marked_[to_integer(id)] = false;
        circle_.push_back(id);
    }

    void touch(BufferId id) override { marked_[to_integer(id)] = true; }

    void erase(BufferId id, EvictionReason /*why*/) override { circle_.erase(id); }

    // At most two rounds: the first one removes the marks.
    std::optional<BufferId> victim() override {
        for (std::size_t passed = 0; passed < 2 * circle_.size(); ++passed) {
            const BufferId id = circle_.front();
            if (residents_.may_leave(id)) {
                if (!marked_[to_integer(id)])
                    return id;
                marked_[to_integer(id)] = false;
            }
            circle_.move_to_back(id);
        }
        return std::nullopt;
    }

  private:
    const Residents& residents_;
    IdList circle_;
    std::vector<bool> marked_;  // by id
};

}  // namespace

VictimPolicyInfo clock() {
    return {
        .name = "clock",
        .summary = "evicts what was not used since the hand of a clock last passed it",
        .source = "Corbato 1968",
        .options = {},
        .foresight = Foresight::none,
        .make = [](const VictimContext& context, const Options&) -> std::unique_ptr<VictimPolicy> {
            return std::make_unique<Clock>(context);
        },
    };
}

}  // namespace tidemark::victims
