// s3fifo: three queues. Newcomers wait in a small one, those that are used again there move to the
// main one, and a ghost queue remembers those that left the small one: if they come back, they go
// to main.
//
// Model: Yang et al., FIFO queues are all you need for cache eviction (SOSP 2023), with sizes in
// bytes: the small queue's share is of the capacity, the ghosts' of their sizes. Uses are counted
// up to 3, without the one for which a buffer comes in; the main queue gives one more round for
// each. A buffer needs two to move to main, as in the paper. Buffers that may not leave are
// skipped, and if a queue has no other candidate, the other queue provides one.
#include <array>

#include "core/tiers/victims/id_list.h"

namespace tidemark::victims {
namespace {

class S3Fifo final : public VictimPolicy {
  public:
    S3Fifo(const VictimContext& context, double small_share, double ghost_share,
           std::uint64_t promote)
        : residents_(*context.residents),
          small_target_(share(context.capacity, small_share)),
          ghost_limit_(share(context.capacity, ghost_share)),
          promote_(static_cast<std::uint8_t>(promote)) {}

    void insert(BufferId id) override {
        if (to_integer(id) >= known_.size()) [[unlikely]]
            known_.resize(to_integer(id) + 1);
        Known& mine = known_[to_integer(id)];
        mine.size = residents_.facts(id).size;
        mine.uses = 0;
        mine.fresh = true;
        if (ghosts_.contains(id)) {
            forget(id);
            main_.push_back(id);
        } else {
            small_.push_back(id);
            small_bytes_ += mine.size;
        }
    }

    void touch(BufferId id) override {
        Known& mine = known_[to_integer(id)];
        if (!mine.fresh && mine.uses < kMostUses)
            ++mine.uses;
        mine.fresh = false;
    }

    void erase(BufferId id, EvictionReason why) override {
        small_turn_.reset();
        if (!small_.contains(id)) {
            main_.erase(id);
            return;
        }
        leave_small(id);
        if (why == EvictionReason::evicted)
            remember(id);
    }

    void forget(BufferId id) override {
        if (!ghosts_.contains(id))
            return;
        ghosts_.erase(id);
        ghost_bytes_ -= known_[to_integer(id)].size;
    }

    std::optional<BufferId> victim() override {
        if (!small_turn_)
            small_turn_ = small_bytes_ > small_target_ || main_.empty();
        auto found = *small_turn_ ? small_victim() : main_victim();
        if (found)
            return found;
        small_turn_ = !*small_turn_;
        found = *small_turn_ ? small_victim() : main_victim();
        if (!found)
            small_turn_.reset();
        return found;
    }

  private:
    static constexpr std::uint8_t kMostUses = 3;

    struct Known {
        Bytes size = 0;
        std::uint8_t uses = 0;
        bool fresh = true;  // not used since it came in
    };

    static Bytes share(Bytes capacity, double part) {
        return static_cast<Bytes>(static_cast<double>(capacity) * part);
    }

    void leave_small(BufferId id) {
        small_.erase(id);
        small_bytes_ -= known_[to_integer(id)].size;
    }

    void remember(BufferId id) {
        ghosts_.push_back(id);
        ghost_bytes_ += known_[to_integer(id)].size;
        while (ghost_bytes_ > ghost_limit_)
            forget(ghosts_.front());
    }

    // The oldest newcomer that was not used again; those that were used move to main.
    std::optional<BufferId> small_victim() {
        BufferId id = small_.front();
        while (id != IdList::kEnd) {
            const BufferId next = small_.after(id);
            if (residents_.may_leave(id)) {
                if (known_[to_integer(id)].uses < promote_)
                    return id;
                leave_small(id);
                known_[to_integer(id)].uses = 0;
                main_.push_back(id);
            }
            id = next;
        }
        return std::nullopt;
    }

    std::optional<BufferId> main_victim() {
        return second_chance(main_, residents_, [this](BufferId id) {
            std::uint8_t& uses = known_[to_integer(id)].uses;
            return uses > 0 && uses-- > 0;
        });
    }

    const Residents& residents_;
    Bytes small_target_;
    Bytes ghost_limit_;
    std::uint8_t promote_;
    std::vector<Known> known_;  // by id
    IdList small_;
    IdList main_;
    IdList ghosts_;
    Bytes small_bytes_ = 0;
    Bytes ghost_bytes_ = 0;
    // Which queue is next, until a buffer leaves: looking for a victim moves newcomers to main,
    // which alone must not change it.
    std::optional<bool> small_turn_;
};

constexpr std::array<OptionInfo, 3> kS3fifoOptions{{
    {.name = "small",
     .type = OptionType::real,
     .default_value = "0.1",
     .minimum = "0",
     .maximum = "1",
     .summary = "share of the capacity that newcomers may keep",
     .source = "the paper"},
    {.name = "ghost",
     .type = OptionType::real,
     .default_value = "0.9",
     .minimum = "0",
     .maximum = "100",
     .summary = "bytes of remembered buffers, as a share of the capacity",
     .source = "the paper"},
    {.name = "promote",
     .type = OptionType::count,
     .default_value = "2",
     .minimum = "1",
     .maximum = "3",
     .summary = "uses in the small queue that bring a buffer into the main one",
     .source = "the paper"},
}};

}  // namespace

VictimPolicyInfo s3fifo() {
    return {
        .name = "s3fifo",
        .summary = "newcomers wait in a small queue until they are used again",
        .source = "Yang et al., S3-FIFO, SOSP 2023",
        .options = kS3fifoOptions,
        .foresight = Foresight::none,
        .make = [](const VictimContext& context,
                   const Options& options) -> std::unique_ptr<VictimPolicy> {
            return std::make_unique<S3Fifo>(context, options.real("small"), options.real("ghost"),
                                            options.count("promote"));
        },
    };
}

}  // namespace tidemark::victims
