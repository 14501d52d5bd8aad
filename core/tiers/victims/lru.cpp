// lru: the buffer that was used longest ago leaves first. The baseline that others must beat.
//
// Coming in counts as a use. Sizes and costs don't matter.
#include "core/tiers/victims/id_list.h"

namespace tidemark::victims {
namespace {

class Lru final : public VictimPolicy {
  public:
    explicit Lru(const VictimContext& context) : residents_(*context.residents) {}

    void insert(BufferId id) override { by_use_.push_back(id); }

    void touch(BufferId id) override { by_use_.move_to_back(id); }

    void erase(BufferId id, EvictionReason /*why*/) override { by_use_.erase(id); }

    std::optional<BufferId> victim() override {
        for (BufferId id = by_use_.front(); id != IdList::kEnd; id = by_use_.after(id)) {
            if (residents_.may_leave(id))
                return id;
        }
        return std::nullopt;
    }

  private:
    const Residents& residents_;
    IdList by_use_;  // longest ago first
};

}  // namespace

VictimPolicyInfo lru() {
    return {
        .name = "lru",
        .summary = "evicts what was used longest ago",
        .source = "least recently used",
        .options = {},
        .foresight = Foresight::none,
        .make = [](const VictimContext& context, const Options&) -> std::unique_ptr<VictimPolicy> {
            return std::make_unique<Lru>(context);
        },
    };
}

}  // namespace tidemark::victims
