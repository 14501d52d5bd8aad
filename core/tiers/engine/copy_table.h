// CopyTable: the buffers and their valid copies, what each copy is charged with, and which of them
// may leave a space.
//
// A buffer has at least one *valid copy*, and at most one in each space: all hold the same bytes.
// The one in the fastest tier (of equals the first in order of spaces) is its home, the
// authoritative one. Copies in the home's tier are *resident*: the space's policy knows them. A
// copy below is a *spare*: it is kept because leaving the upper tier costs nothing then, and is the
// first to go when its own space needs room. A *blank* buffer, which nobody has written to, has no
// bytes to lose and may be nowhere.
//
// Invariant: every owned copy has a charge, which is counted in its space's `charged`. A copy that
// was given up stops being a copy at that moment, and its location and charge belong to the
// LeavingLedger. A copy is either known to its space's policy or among its spares.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "core/tiers/engine/holds.h"
#include "core/tiers/engine/leaving_ledger.h"
#include "core/tiers/engine/spill_state.h"

namespace tidemark {

// Which victims are acceptable.
struct VictimChoice {
    ReservationId beneficiary = {};  // for whose needs they leave; none: for any need
    bool any = false;                // also those that should stay as long as others can leave
};

// A buffer that would leave, and the bytes that would become free.
struct VictimCandidate {
    BufferRef buffer;
    Bytes size = 0;
    Bytes freed = 0;
};

class CopyTable {
  public:
    // Gives their policies to the spaces that something can leave.
    CopyTable(SpillState& state, LeavingLedger& leaving, Holds& holds);

    // A buffer that is nowhere yet.
    std::uint32_t add_buffer(const BufferSpec& spec);

    // The program has ended it, though something of it may be in flight. When that has ended, the
    // buffer is gone and its id is reused.
    void end_life(std::uint32_t id);
    void end_buffer(std::uint32_t id);

    std::size_t buffers() const { return living_; }

    void add(std::uint32_t id, BufferCopy copy);

    // The copy is given up: its location is the ledger's. Nobody has access to it.
    void drop(std::uint32_t id, std::size_t space, EvictionReason why, const OnBehalf& whom = {});

    // A writer has come to the copy in `space`: from now on it is the only one.
    void drop_others(std::uint32_t id, std::size_t space);

    // The program uses the buffer there. The policies' time advances.
    void touch(std::uint32_t id, const BufferUse& use, std::size_t space);

    // Facts of the buffer have changed.
    void revise(std::uint32_t id);
    bool set_hint(BufferRef buffer, std::int32_t hint);
    bool set_next_use(BufferRef buffer, std::uint64_t accesses);

    // How much of its charge is freed if it leaves for the needs of `beneficiary`: bytes of an
    // existing reservation count only for that reservation.
    Bytes credit(const BufferCopy& copy, ReservationId beneficiary = {}) const;

    bool may_leave(std::size_t space, std::uint32_t id, const VictimChoice& choice = {}) const;
    BufferFacts facts(std::size_t space, std::uint32_t id) const;

    // The next to leave: a spare, or the policy's victim.
    std::optional<std::uint32_t> victim(std::size_t space, ReservationId beneficiary = {});

    // Also one that should stay as long as others can leave: a small one; then one that was fetched
    // ahead, or used a moment ago.
    std::optional<std::uint32_t> any_victim(std::size_t space, ReservationId beneficiary = {});

    // The buffers that would leave for `size` bytes, in order: spares, then what the policy names,
    // which may advance its state. Nothing leaves. O(policy) for each.
    std::vector<VictimCandidate> candidates(std::size_t space, Bytes size);

    // Where the buffer is: its valid copies, home first. Empty: gone, or not created yet.
    std::vector<SpaceId> where(BufferRef buffer) const;

    // Whether a move of it has yet to end.
    bool moving(BufferRef buffer) const;

    // How many bytes of a buffer's copy in `space` would really become free there. 0: none or no
    // copy.
    Bytes reclaimable(BufferRef buffer, SpaceId space) const;

    // Where a granted access is.
    BlockLocation location(BufferRef buffer, SpaceId space) const;

  private:
    // The table, as the policy of one space sees it.
    class SpaceResidents final : public Residents {
      public:
        SpaceResidents(const CopyTable& table, std::size_t space) : table_(table), space_(space) {}

        bool may_leave(BufferId id) const override {
            return table_.may_leave(space_, to_integer(id), choice_);
        }

        BufferFacts facts(BufferId id) const override {
            return table_.facts(space_, to_integer(id));
        }

        // The victim that the policy names for the choice.
        std::optional<BufferId> victim_of(VictimPolicy& policy, const VictimChoice& choice) {
            choice_ = choice;
            const std::optional<BufferId> victim = policy.victim();
            choice_ = {};
            return victim;
        }

      private:
        const CopyTable& table_;
        std::size_t space_;
        VictimChoice choice_;
    };

    std::optional<std::uint32_t> choose(VictimPolicy* policy, std::size_t space,
                                        const VictimChoice& choice);
    // Adds it to, or removes it from, the policy that serves it.
    void introduce(std::uint32_t id, BufferCopy& copy);
    void resign(std::uint32_t id, BufferCopy& copy, EvictionReason why);
    void classify(std::uint32_t id);
    bool used_since(std::uint32_t id, std::size_t space);

    SpillState& state_;
    LeavingLedger& leaving_;
    Holds& holds_;
    std::deque<SpaceResidents> residents_;  // by space; policies point to them
    std::vector<std::uint32_t> free_ids_;
    std::size_t living_ = 0;
    std::uint64_t stamps_ = 0;
};

}  // namespace tidemark
