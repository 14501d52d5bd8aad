// OverReservationPolicy: what happens when an allocation would take more than its reservation has.
// cuCascade's three (specs A1.4): `ignore`, `fail`, `increase`; a program may bring its own.
//
// A policy answers with a plan from the facts, and the space carries the plan out at one moment:
// growth and allocation together, so that nothing is charged twice and nobody comes in between. If
// the facts have changed meanwhile the policy is asked again. It is called without any lock held,
// from the thread that allocates, and may be called by several at once.
#pragma once

#include <cstdint>
#include <memory>

#include "core/base/result.h"
#include "core/base/units.h"
#include "core/tiers/machine/owner.h"

namespace tidemark {

// One moment of a reservation that is too small, and of its space. All in bytes of the space's
// granularity.
struct OverReservationFacts {
    Bytes requested = 0;   // by the allocation
    Bytes reserved = 0;    // the reservation's size
    Bytes used = 0;        // by living allocations of the reservation; beyond `reserved` is excess
    Bytes reservable = 0;  // what the space would reserve now
    Bytes available = 0;   // what the space would allocate without a reservation now
    OwnerId owner = OwnerId::nobody;

    // By how much the reservation is too small for it.
    Bytes missing() const { return used + requested - reserved; }

    friend bool operator==(const OverReservationFacts&, const OverReservationFacts&) = default;
};

// What to do: grow by `growth`; if the space refuses that, by `second_growth`; 0 is no growth. What
// then still doesn't fit is charged to the space like a plain allocation if `allow_excess`, else
// the allocation is refused and the reservation stays as it was.
struct OverReservationPlan {
    Bytes growth = 0;
    Bytes second_growth = 0;
    bool allow_excess = false;
};

class OverReservationPolicy {
  public:
    OverReservationPolicy() = default;
    OverReservationPolicy(const OverReservationPolicy&) = delete;
    OverReservationPolicy& operator=(const OverReservationPolicy&) = delete;
    virtual ~OverReservationPolicy() = default;

    // Thread-safe; must depend on `facts` alone.
    virtual OverReservationPlan plan(const OverReservationFacts& facts) const = 0;
};

// Policies are shared by spaces and reservations; null stands for "the default of the space".
using OverReservation = std::shared_ptr<const OverReservationPolicy>;

constexpr double kDefaultPadding = 1.25;

// The excess is charged to the space: the default of a space.
OverReservation ignore_over_reservation();

// Refused.
OverReservation fail_over_reservation();

// Grows by what is missing times `padding` (at least 1; truncated to bytes), or by exactly what is
// missing; refused if the space has neither, or charged to the space with `allow_excess`.
OverReservation increase_reservation(double padding = kDefaultPadding, bool allow_excess = false);

}  // namespace tidemark
