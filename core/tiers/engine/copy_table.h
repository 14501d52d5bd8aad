// CopyTable: the buffers and their valid copies, what each copy is charged with, who has access to
// it, and which of them may leave a space.
//
// A buffer has one *valid copy* at least, and at most one in each space: all hold the same bytes.
// The one in the fastest tier (of equals the first in order of spaces) is its home, the
// authoritative one. Copies in the home's tier are *resident*: the space's policy knows them. One
// below is a *spare*: kept because leaving the upper tier is free then, and the first to go when
// its own space needs room. A *hollow* copy was made for a writer who has not come yet: the others
// hold the bytes. A *blank* buffer, which nobody has written to, has no bytes to lose and may be
// nowhere.
//
// Invariant: every copy that is owned has a charge, which is counted in its space's `charged`; a
// copy that was given up is none from that moment on, and its location and charge are the
// LeavingLedger's. A copy is either known to its space's policy or among its spares.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "core/tiers/engine/leaving_ledger.h"
#include "core/tiers/engine/spill_state.h"

namespace tidemark {

class CopyTable {
  public:
    // Gives the spaces that something can leave their policies.
    CopyTable(SpillState& state, LeavingLedger& leaving);

    // A buffer that is nowhere yet.
    std::uint32_t add_buffer(const BufferSpec& spec);

    // The program is done with it, though a copy may have yet to end; then it is gone. A gone
    // buffer's id is used again.
    void end_life(std::uint32_t id);
    void end_buffer(std::uint32_t id);

    std::size_t buffers() const { return living_; }

    void add(std::uint32_t id, BufferCopy copy);

    // Nobody has access to it. `makes_room`: it leaves for that.
    void drop(std::uint32_t id, std::size_t space, EvictionReason why, RequestId claim,
              bool makes_room = false);

    // A writer has come to the copy in `space`: it is the only one from now on.
    void drop_others(std::uint32_t id, std::size_t space);

    // Access to a copy begins and ends; `let_go` also ends the buffer's hold.
    void hold(BufferCopy& copy);
    void let_go(std::uint32_t id, std::size_t space, AccessMode mode);

    // Gates (gate.h). `seal`: pins that there are become an access, which ends with the last one
    // (unsealed); without pins it is shut. `try_shut`: false if it is pinned. `admit`: an access
    // that was granted (`share`, or `pin` if not `write`) becomes a pin.
    void seal(std::uint32_t id);
    bool try_shut(std::uint32_t id);
    void unsealed(std::uint32_t id, bool writers);
    void admit(std::uint32_t id, bool write);

    // Notes of its gate become points.
    void settle_notes(std::uint32_t id, bool wrote);
    void settle_note(std::uint32_t id, StreamId stream);

    // Notes work that the program has queued on it.
    void note_use(SpillBuffer& buffer, UsePoint point);

    // The program uses the buffer there. The policies' time goes on.
    void touch(std::uint32_t id, const BufferUse& use, std::size_t space);

    // Facts of the buffer have changed.
    void revise(std::uint32_t id);
    bool set_hint(BufferRef buffer, std::int32_t hint);
    bool set_next_use(BufferRef buffer, std::uint64_t operation);

    // What its charge would give back for the request that room is being made for. `beneficiary` is
    // that request's reservation, if it has one.
    Bytes credit(const BufferCopy& copy) const;

    void set_beneficiary(ReservationId reservation) { beneficiary_ = reservation; }

    ReservationId beneficiary() const { return beneficiary_; }

    bool may_leave(std::size_t space, std::uint32_t id) const;
    BufferFacts facts(std::size_t space, std::uint32_t id) const;

    // The next to leave: a spare, or the policy's victim.
    std::optional<std::uint32_t> victim(std::size_t space);

    // Also one that should stay as long as others can leave: a small one; then one that was fetched
    // ahead, or used a moment ago.
    std::optional<std::uint32_t> any_victim(std::size_t space);

    bool used_elsewhere(const SpillBuffer& buffer, std::size_t space) const;

    // Where the buffer is: its valid copies, home first. Empty: gone, or not there yet.
    std::vector<SpaceId> where(BufferRef buffer) const;

    // Bytes of a buffer's copy in `space` that would really come free there. 0: none or no copy.
    Bytes reclaimable(BufferRef buffer, SpaceId space) const;

    // Where a granted access is, and what its stream has to wait for first.
    BlockLocation location(BufferRef buffer, SpaceId space) const;
    std::vector<UsePoint> points_before(BufferRef buffer, const AccessSpec& spec) const;

  private:
    // The table, as the policy of one space sees it.
    class SpaceResidents final : public Residents {
      public:
        SpaceResidents(const CopyTable& table, std::size_t space) : table_(table), space_(space) {}

        bool may_leave(BufferId id) const override {
            return table_.may_leave(space_, to_integer(id));
        }

        BufferFacts facts(BufferId id) const override {
            return table_.facts(space_, to_integer(id));
        }

      private:
        const CopyTable& table_;
        std::size_t space_;
    };

    std::optional<std::uint32_t> choose(VictimPolicy* policy, std::size_t space, bool lenient);
    // To the policy that serves it from here on; and from that one.
    void introduce(std::uint32_t id, BufferCopy& copy);
    void resign(std::uint32_t id, BufferCopy& copy, EvictionReason why);
    void classify(std::uint32_t id);
    bool used_since(std::uint32_t id, std::size_t space);
    void take_over(std::uint32_t id, bool writers);
    static void note_shared_use(SpillBuffer& buffer, UsePoint point);

    SpillState& state_;
    LeavingLedger& leaving_;
    std::deque<SpaceResidents> residents_;  // by space; policies point to them
    std::vector<std::uint32_t> free_ids_;
    std::size_t living_ = 0;
    std::uint64_t stamps_ = 0;
    ReservationId beneficiary_;
    bool lenient_ = false;  // all that can leave may
};

}  // namespace tidemark
