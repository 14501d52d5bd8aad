// ReservationLedger: the reservations of one space and what is charged to each of them, on top of
// the space's account. The arithmetic that reservation.h promises, and nothing else.
//
// A reservation is a node of a table; vacated nodes are reused, and a generation distinguishes
// their owners. After a merge the merged node stays as long as charges point to it: it passes them
// on to the reservation that it was merged into. Walking shortens chains of such nodes (as in
// union-find), so following them is O(1) amortized.
//
// Plain numbers without a lock: MemorySpace puts one around it. Nothing here rounds sizes or calls
// policies. Every operation checks before it changes anything, and is O(1) unless stated otherwise.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/tiers/spaces/reservation.h"
#include "core/tiers/spaces/space_account.h"

namespace tidemark {

class ReservationLedger {
  public:
    ReservationLedger(Bytes capacity, Bytes limit) : account_(capacity, limit) {}

    const SpaceAccount& account() const { return account_; }

    // The total size of existing reservations, and their number.
    Bytes reserved() const { return reserved_; }

    std::uint64_t reservations() const { return reservations_; }

    // Charges that were made and have not ended.
    std::uint64_t charges() const { return charges_; }

    void reset_peak() { account_.reset_peak(); }

    // A reservation of `size` bytes; nothing beyond the limit.
    std::optional<ReservationId> try_reserve(Bytes size, OwnerId owner);

    // Ends an existing one, and returns its policy. What is allocated stays charged.
    OverReservation release(ReservationId id);

    // Figures of an existing one; nothing if it is gone. Merged ones are gone.
    std::optional<ReservationFacts> find(ReservationId id) const;

    // Every existing one, in the order of the table. O(table).
    std::vector<ReservationFacts> all() const;

    // The functions down to `policy_of` require existing reservations (TM_CHECK).

    // False: beyond the limit.
    bool grow(ReservationId id, Bytes size);

    // Returns unused bytes; returns how many there were.
    Bytes shrink(ReservationId id);

    // A reservation of `size` bytes taken from the unused ones of `id`; nothing if there are fewer.
    std::optional<ReservationId> split(ReservationId id, Bytes size, OwnerId owner);

    // `from`, which must differ from `into`, becomes part of it; returns its policy.
    OverReservation merge(ReservationId into, ReservationId from);

    void set_owner(ReservationId id, OwnerId owner) { living(id).owner = owner; }

    void reset_peak(ReservationId id) { living(id).peak = living(id).live; }

    // Sets the policy, and returns the former one.
    OverReservation set_policy(ReservationId id, OverReservation policy);

    OverReservation policy_of(ReservationId id) const;

    // The existing reservation that charges of `origin` return to now: itself, or the one that it
    // was merged into; nothing if that is the space.
    std::optional<ReservationFacts> payer(ReservationId origin);

    // The result of `take`: bytes allocated; or what must be freed in the space first; or that the
    // reservation doesn't have them, whatever is freed.
    struct Taken {
        bool granted = false;
        Bytes missing = 0;
    };

    // Allocates `size` bytes for a charge of `origin`, whose payer first grows by `growth`; beyond
    // it only with `allow_excess`. If the payer is the space, these two don't matter. All or
    // nothing.
    Taken take(Bytes size, ReservationId origin, Bytes growth, bool allow_excess);

    // What was taken for `origin`, which exists or is none, becomes a charge.
    void open_charge(ReservationId origin);

    // Frees `size` bytes of a charge of `origin`.
    void give_back(Bytes size, ReservationId origin);

    // Frees everything that a charge of `origin` has left, and ends it.
    void close_charge(Bytes size, ReservationId origin);

  private:
    enum class State : std::uint8_t {
        vacant,
        living,
        merged,  // gone, but charges point here: they belong to `next`
    };

    struct Node {
        Bytes size = 0;
        Bytes live = 0;             // existing: by its charges, including those of merged ones
        Bytes peak = 0;             // of `live`
        std::uint64_t charges = 0;  // that point here, or to a node that is part of this one
        OwnerId owner = OwnerId::nobody;
        OverReservation policy;
        ReservationId next;  // vacant: the next vacant node; merged: the reservation it is part of
        std::uint32_t generation = 0;
        State state = State::vacant;

        Bytes unused() const { return live < size ? size - live : 0; }
    };

    // How many more bytes the space would need for `size` bytes: 0 if it has them.
    Bytes lacking(Bytes size) const {
        return size > account_.available() ? size - account_.available() : 0;
    }

    Node* node_of(ReservationId id);
    Node& living(ReservationId id);
    const Node& living(ReservationId id) const;
    Node* follow(Node& origin);
    Node* paying_node(ReservationId origin);
    Taken take_from_space(Bytes size);
    Taken take_from(Node& node, Bytes size, Bytes growth, bool allow_excess);
    ReservationId occupy(Bytes size, OwnerId owner);
    OverReservation vacate(std::uint32_t index);
    ReservationFacts facts_of(const Node& node) const;

    SpaceAccount account_;
    std::vector<Node> nodes_;
    std::uint32_t vacant_ = ReservationId::kNone;  // the first of them
    Bytes reserved_ = 0;
    std::uint64_t reservations_ = 0;
    std::uint64_t charges_ = 0;
};

}  // namespace tidemark
