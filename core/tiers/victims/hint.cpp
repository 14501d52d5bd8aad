// hint: the buffer that the program least wants to keep leaves first (BufferFacts::hint, 0 by
// default); among equals, the one that was used longest ago.
#include "core/tiers/victims/indexed_heap.h"

namespace tidemark::victims {
namespace {

class Hint final : public VictimPolicy {
  public:
    explicit Hint(const VictimContext& context) : residents_(*context.residents) {}

    void insert(BufferId id) override { touch(id); }

    void touch(BufferId id) override { order_.put(id, {residents_.facts(id).hint, ++touches_}); }

    void erase(BufferId id, EvictionReason /*why*/) override { order_.erase(id); }

    // A hint is not a use: the buffer keeps its age.
    void revise(BufferId id) override {
        order_.put(id, {residents_.facts(id).hint, order_.key(id).touched});
    }

    std::optional<BufferId> victim() override {
        return order_.first_where([this](BufferId id) { return residents_.may_leave(id); });
    }

  private:
    struct Key {
        std::int32_t hint = 0;
        std::uint64_t touched = 0;

        bool operator<(const Key& other) const {
            return hint != other.hint ? hint < other.hint : touched < other.touched;
        }
    };

    const Residents& residents_;
    IndexedHeap<Key> order_;
    std::uint64_t touches_ = 0;
};

}  // namespace

VictimPolicyInfo hint() {
    return {
        .name = "hint",
        .summary = "evicts what the program wants to keep least, then what was used longest ago",
        .source = "the program's hints",
        .options = {},
        .foresight = Foresight::none,
        .make = [](const VictimContext& context, const Options&) -> std::unique_ptr<VictimPolicy> {
            return std::make_unique<Hint>(context);
        },
    };
}

}  // namespace tidemark::victims
