// ReservationLedger: the reservations of one space and what is charged to each of them, on top of
// the space's account. The arithmetic that reservation.h promises, and nothing else.
//
// A reservation is a node of a table; vacated nodes are used again, and a generation tells who had
// them. After a merge the node of the one that was taken in stays for as long as charges point to
// it: it passes them on to the one that took it in. Chains of such nodes are shortened when they
// are walked (as in union-find), so that following them is O(1) amortized.
//
// Plain numbers without a lock: MemorySpace puts one around it. Nothing here rounds sizes or asks
// policies. Every operation checks before it changes, and is O(1) unless it says otherwise.
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

    // The sum of the sizes of living reservations, and how many there are.
    Bytes reserved() const { return reserved_; }

    std::uint64_t reservations() const { return reservations_; }

    // Charges that were made and not ended.
    std::uint64_t charges() const { return charges_; }

    void reset_peak() { account_.reset_peak(); }

    // A reservation of `size` bytes; nothing beyond the limit.
    std::optional<ReservationId> try_reserve(Bytes size, OwnerId owner);

    // Ends a living one, and hands out its policy. What is allocated stays charged.
    OverReservation release(ReservationId id);

    // Figures of a living one; nothing if it is gone. Merged ones are gone.
    std::optional<ReservationFacts> find(ReservationId id) const;

    // Every living one, in the order of the table. O(table).
    std::vector<ReservationFacts> all() const;

    // The functions down to `policy_of` want living reservations (TM_CHECK).

    // False: beyond the limit.
    bool grow(ReservationId id, Bytes size);

    // Gives back what is unused, and says how much that was.
    Bytes shrink(ReservationId id);

    // A reservation of `size` bytes out of the unused ones of `id`; nothing if there are fewer.
    std::optional<ReservationId> split(ReservationId id, Bytes size, OwnerId owner);

    // `from`, another one than `into`, becomes part of it; hands out its policy.
    OverReservation merge(ReservationId into, ReservationId from);

    void set_owner(ReservationId id, OwnerId owner) { living(id).owner = owner; }

    void reset_peak(ReservationId id) { living(id).peak = living(id).live; }

    // Sets the policy, and hands out the former one.
    OverReservation set_policy(ReservationId id, OverReservation policy);

    OverReservation policy_of(ReservationId id) const;

    // The living reservation that charges of `origin` come back to now: itself, or the one that it
    // was merged into; nothing if that is the space.
    std::optional<ReservationFacts> payer(ReservationId origin);

    // What `take` came to: bytes allocated, or what must be freed in the space before they are, or
    // that the reservation doesn't have them, whatever is freed.
    struct Taken {
        bool granted = false;
        Bytes missing = 0;
    };

    // Allocates `size` bytes for a charge of `origin`, whose payer grows by `growth` first; beyond
    // it only with `allow_excess`. If the payer is the space, these two don't matter. All or
    // nothing.
    Taken take(Bytes size, ReservationId origin, Bytes growth, bool allow_excess);

    // What was taken for `origin`, which lives or is none, is a charge from now on.
    void open_charge(ReservationId origin);

    // Frees `size` bytes of a charge of `origin`.
    void give_back(Bytes size, ReservationId origin);

    // Frees all that a charge of `origin` has left, and ends it.
    void close_charge(Bytes size, ReservationId origin);

  private:
    enum class State : std::uint8_t {
        vacant,
        living,
        merged,  // gone, but charges point here: they are those of `next`
    };

    struct Node {
        Bytes size = 0;
        Bytes live = 0;             // living: by its charges, those of merged ones included
        Bytes peak = 0;             // of `live`
        std::uint64_t charges = 0;  // that point here, or to a node that is part of this one
        OwnerId owner = OwnerId::nobody;
        OverReservation policy;
        ReservationId next;  // vacant: the next vacant node; merged: the reservation it is part of
        std::uint32_t generation = 0;
        State state = State::vacant;

        Bytes unused() const { return live < size ? size - live : 0; }
    };

    // How many bytes more the space would need for `size` bytes: 0 if it has them.
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
