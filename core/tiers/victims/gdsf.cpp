// gdsf: each buffer has a worth, its number of uses times the cost per byte of bringing it back
// (and of copying it out if it is dirty); the buffer with the least worth leaves.
//
// Model: Cherkasova 1998, greedy dual size frequency. Worth = age + uses * cost / size. The age of
// the space is the worth of the last buffer that left, and is added when a buffer is used, so old
// uses lose weight. The cost of a copy is `overhead` plus size over bandwidth, in units of the
// overhead-free cost of a byte both ways: large buffers come off a little cheaper. Ties: by last
// use, then by id.
#include <algorithm>
#include <array>

#include "core/tiers/victims/indexed_heap.h"

namespace tidemark::victims {
namespace {

class Gdsf final : public VictimPolicy {
  public:
    Gdsf(const VictimContext& context, double overhead_ns)
        : residents_(*context.residents),
          in_(context.in_ns_per_byte),
          out_(context.out_ns_per_byte) {
        if (in_ <= 0 || out_ <= 0)
            in_ = out_ = 1;
        overhead_ = overhead_ns / (in_ + out_);
        const double both = in_ + out_;
        in_ /= both;
        out_ /= both;
    }

    void insert(BufferId id) override {
        if (to_integer(id) >= known_.size()) [[unlikely]]
            known_.resize(to_integer(id) + 1);
        known_[to_integer(id)] = {.age = age_, .touched = ++touches_, .uses = 1};
        put(id);
    }

    void touch(BufferId id) override {
        Known& mine = known_[to_integer(id)];
        mine.age = age_;
        mine.touched = ++touches_;
        ++mine.uses;
        put(id);
    }

    void erase(BufferId id, EvictionReason why) override {
        if (why == EvictionReason::evicted)
            age_ = std::max(age_, order_.key(id).worth);
        order_.erase(id);
    }

    void revise(BufferId id) override { put(id); }

    std::optional<BufferId> victim() override {
        return order_.first_where([this](BufferId id) { return residents_.may_leave(id); });
    }

  private:
    struct Known {
        double age = 0;  // the space's at the last use
        std::uint64_t touched = 0;
        std::uint64_t uses = 0;
    };

    struct Key {
        double worth = 0;
        std::uint64_t touched = 0;

        bool operator<(const Key& other) const {
            return worth != other.worth ? worth < other.worth : touched < other.touched;
        }
    };

    void put(BufferId id) {
        const BufferFacts facts = residents_.facts(id);
        const Known& mine = known_[to_integer(id)];
        const double rate = facts.empty ? 0 : (facts.dirty ? in_ + out_ : in_);
        const double per_byte =
            rate + overhead_ / static_cast<double>(std::max<Bytes>(facts.size, 1));
        order_.put(id, {mine.age + static_cast<double>(mine.uses) * per_byte, mine.touched});
    }

    const Residents& residents_;
    double in_;
    double out_;
    double overhead_ = 0;       // in bytes' worth
    std::vector<Known> known_;  // by id
    IndexedHeap<Key> order_;
    double age_ = 0;
    std::uint64_t touches_ = 0;
};

constexpr std::array<OptionInfo, 1> kGdsfOptions{{
    {.name = "overhead",
     .type = OptionType::real,
     .unit = "ns",
     .default_value = "10000",
     .minimum = "0",
     .maximum = "1e9",
     .summary =
         "cost of a copy in addition to its bytes; the higher, the longer small buffers stay"},
}};

}  // namespace

VictimPolicyInfo gdsf() {
    return {
        .name = "gdsf",
        .summary =
            "evicts what has the least uses times cost over size, with old uses losing weight",
        .source = "Cherkasova 1998",
        .options = kGdsfOptions,
        .foresight = Foresight::none,
        .make = [](const VictimContext& context,
                   const Options& options) -> std::unique_ptr<VictimPolicy> {
            return std::make_unique<Gdsf>(context, options.real("overhead"));
        },
    };
}

}  // namespace tidemark::victims
