// largest: the largest buffer leaves first; among equals, the one that was used longest ago.
//
// The fewest evictions, each with the most bytes, whenever they are needed next.
#include "core/tiers/victims/indexed_heap.h"

namespace tidemark::victims {
namespace {

class Largest final : public VictimPolicy {
  public:
    explicit Largest(const VictimContext& context) : residents_(*context.residents) {}

    void insert(BufferId id) override { touch(id); }

    void touch(BufferId id) override { order_.put(id, {residents_.facts(id).size, ++touches_}); }

    void erase(BufferId id, EvictionReason /*why*/) override { order_.erase(id); }

    std::optional<BufferId> victim() override {
        return order_.first_where([this](BufferId id) { return residents_.may_leave(id); });
    }

  private:
    struct Key {
        Bytes size = 0;
        std::uint64_t touched = 0;

        bool operator<(const Key& other) const {
            return size != other.size ? size > other.size : touched < other.touched;
        }
    };

    const Residents& residents_;
    IndexedHeap<Key> order_;
    std::uint64_t touches_ = 0;
};

}  // namespace

VictimPolicyInfo largest() {
    return {
        .name = "largest",
        .summary = "evicts the largest buffer",
        .source = "size only",
        .options = {},
        .foresight = Foresight::none,
        .make = [](const VictimContext& context, const Options&) -> std::unique_ptr<VictimPolicy> {
            return std::make_unique<Largest>(context);
        },
    };
}

}  // namespace tidemark::victims
