// sieve: a queue, and a hand that goes through it from the oldest to the newest, again and again,
// looking for a buffer that was not used since it last passed. Others stay in place.
//
// Model: Zhang et al., SIEVE (NSDI 2024). Unlike clock, the hand meets newcomers last: a buffer
// that is used just once leaves before one that has proved itself. The use for which a buffer comes
// in doesn't count, as in the paper. Buffers that may not leave are skipped and keep their marks.
#include "core/tiers/victims/id_list.h"

namespace tidemark::victims {
namespace {

class Sieve final : public VictimPolicy {
  public:
    explicit Sieve(const VictimContext& context) : residents_(*context.residents) {}

    void insert(BufferId id) override {
        if (to_integer(id) >= uses_.size()) [[unlikely]]
            uses_.resize(to_integer(id) + 1);
        uses_[to_integer(id)] = Uses::none;
        queue_.push_back(id);
    }

    void touch(BufferId id) override {
        Uses& uses = uses_[to_integer(id)];
        uses = uses == Uses::none ? Uses::one : Uses::marked;
    }

    void erase(BufferId id, EvictionReason /*why*/) override {
        if (id == hand_)
            hand_ = queue_.after(id);
        queue_.erase(id);
    }

    // At most two rounds: the first one removes the marks.
    std::optional<BufferId> victim() override {
        BufferId id = hand_;
        for (std::size_t passed = 0; passed <= 2 * queue_.size(); ++passed) {
            if (id == IdList::kEnd)
                id = queue_.front();
            if (id == IdList::kEnd)
                break;
            if (residents_.may_leave(id)) {
                Uses& uses = uses_[to_integer(id)];
                if (uses != Uses::marked) {
                    hand_ = id;
                    return id;
                }
                uses = Uses::one;
            }
            id = queue_.after(id);
        }
        return std::nullopt;
    }

  private:
    enum class Uses : std::uint8_t { none, one, marked };

    const Residents& residents_;
    IdList queue_;                  // oldest first
    BufferId hand_ = IdList::kEnd;  // the next to look at; kEnd: the oldest
    std::vector<Uses> uses_;        // by id, since it came in
};

}  // namespace

VictimPolicyInfo sieve() {
    return {
        .name = "sieve",
        .summary = "evicts what was not used since a hand last passed, newcomers first",
        .source = "Zhang et al., SIEVE, NSDI 2024",
        .options = {},
        .foresight = Foresight::none,
        .make = [](const VictimContext& context, const Options&) -> std::unique_ptr<VictimPolicy> {
            return std::make_unique<Sieve>(context);
        },
    };
}

}  // namespace tidemark::victims
