// OverReservationPolicy: what happens when an allocation would take more than its reservation has.
// cuCascade's three (specs A1.4): `ignore`, `fail`, `increase`; a program may add its own.
//
// A policy answers with a plan based on the facts, and the space carries the plan out in one step:
// growth and allocation together, so that nothing is charged twice and nobody comes in between. If
// the facts have changed meanwhile the policy is asked again. It is called without any lock held,
// from the thread that allocates, and several threads may call it at once.
#pragma once

#include <cstdint>
#include <memory>

#include "core/base/result.h"
#include "core/base/units.h"
#include "core/tiers/machine/owner.h"

namespace tidemark {

// The state of a reservation that is too small, and of its space, at one moment. Everything in
// bytes of the space's granularity.
struct OverReservationFacts {
    Bytes requested = 0;   // by the allocation
    Bytes reserved = 0;    // the reservation's size
    Bytes used = 0;        // by live allocations of the reservation; beyond `reserved` is excess
    Bytes reservable = 0;  // what the space would reserve now
    Bytes available = 0;   // what the space would allocate without a reservation now
    OwnerId owner = OwnerId::nobody;

    // How much the reservation lacks for it.
    Bytes missing() const { return used + requested - reserved; }

    friend bool operator==(const OverReservationFacts&, const OverReservationFacts&) = default;
};

// What to do: grow by `growth`; if the space refuses that, by `second_growth`; with 0 it does not
// grow. If it still doesn't fit, it is charged to the space like a plain allocation if
// `allow_excess`; otherwise the allocation fails and the reservation stays unchanged.
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

    // Thread-safe; must depend only on `facts`.
    virtual OverReservationPlan plan(const OverReservationFacts& facts) const = 0;
};

// Policies are shared by spaces and reservations; null means "the default of the space".
using OverReservation = std::shared_ptr<const OverReservationPolicy>;

constexpr double kDefaultPadding = 1.25;

// The excess is charged to the space: the default of a space.
OverReservation ignore_over_reservation();

// The allocation fails.
OverReservation fail_over_reservation();

// Grows by what is missing times `padding` (at least 1; truncated to bytes), or by exactly what is
// missing. If the space has neither, the allocation fails, or is charged to the space with
// `allow_excess`.
OverReservation increase_reservation(double padding = kDefaultPadding, bool allow_excess = false);

}  // namespace tidemark
