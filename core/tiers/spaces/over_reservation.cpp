// The three built-in policies.
#include "core/tiers/spaces/over_reservation.h"

#include <algorithm>

#include "core/base/check.h"

namespace tidemark {
namespace {

class Ignore final : public OverReservationPolicy {
  public:
    OverReservationPlan plan(const OverReservationFacts& /*facts*/) const override {
        return {.growth = 0, .second_growth = 0, .allow_excess = true};
    }
};

class Fail final : public OverReservationPolicy {
  public:
    OverReservationPlan plan(const OverReservationFacts& /*facts*/) const override { return {}; }
};

class Increase final : public OverReservationPolicy {
  public:
    Increase(double padding, bool allow_excess) : padding_(padding), allow_excess_(allow_excess) {
        TM_CHECK(padding >= 1);
    }

    OverReservationPlan plan(const OverReservationFacts& facts) const override {
        const Bytes missing = facts.missing();
        const double padded = static_cast<double>(missing) * padding_;
        const bool sensible = padded < static_cast<double>(kLargestRequest);
        return {.growth = sensible ? std::max(missing, static_cast<Bytes>(padded)) : missing,
                .second_growth = missing,
                .allow_excess = allow_excess_};
    }

  private:
    double padding_;
    bool allow_excess_;
};

}  // namespace

OverReservation ignore_over_reservation() {
    static const OverReservation policy = std::make_shared<Ignore>();
    return policy;
}

OverReservation fail_over_reservation() {
    static const OverReservation policy = std::make_shared<Fail>();
    return policy;
}

OverReservation increase_reservation(double padding, bool allow_excess) {
    return std::make_shared<Increase>(padding, allow_excess);
}

}  // namespace tidemark
