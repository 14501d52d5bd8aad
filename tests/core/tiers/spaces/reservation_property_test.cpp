// The counter invariant under whatever sequence of operations, against a model that adds everything
// up from scratch; and under threads, where it must hold at every moment and end at zero.
#include <algorithm>
#include <optional>
#include <vector>

#include <catch2/catch.hpp>

#include "core/base/random.h"
#include "core/tiers/spaces/memory_space.h"
#include "tests/support/property.h"

namespace tidemark {
namespace {

constexpr Bytes kCapacity = 1000;
constexpr Bytes kLimit = 800;
constexpr Bytes kGranularity = 4;

SpaceSpec small_space() {
    return {.capacity = kCapacity, .granularity = kGranularity, .reservation_limit = 0.8};
}

enum class Over : std::uint8_t { ignore, fail, increase, increase_or_excess };

OverReservation policy(Over over) {
    switch (over) {
        case Over::ignore:
            return ignore_over_reservation();
        case Over::fail:
            return fail_over_reservation();
        case Over::increase:
            return increase_reservation(1.5);
        case Over::increase_or_excess:
            return increase_reservation(1.5, true);
    }
    return nullptr;
}

// What the space should be: a list of reservations and a list of charges that point at them.
class Model {
  public:
    struct Reservation {
        Bytes size = 0;
        Over over = Over::ignore;
        bool alive = true;
    };

    struct Charge {
        Bytes size = 0;
        std::size_t payer = kSpace;
        bool alive = true;
    };

    static constexpr std::size_t kSpace = ~std::size_t{0};

    static Bytes rounded(Bytes size) {
        return (size + kGranularity - 1) / kGranularity * kGranularity;
    }

    Bytes live(std::size_t reservation) const {
        Bytes sum = 0;
        for (const Charge& charge : charges)
            if (charge.alive && charge.payer == reservation)
                sum += charge.size;
        return sum;
    }

    SpaceCounters counters() const {
        SpaceCounters sum;
        for (std::size_t i = 0; i < reservations.size(); ++i)
            if (reservations[i].alive) {
                ++sum.reservations;
                sum.reserved += reservations[i].size;
                sum.unused_reserved += std::max(reservations[i].size, live(i)) - live(i);
            }
        for (const Charge& charge : charges)
            if (charge.alive) {
                ++sum.charges;
                sum.allocated += charge.size;
            }
        sum.used = sum.allocated + sum.unused_reserved;
        return sum;
    }

    // Whether `size` bytes more for `payer` are granted; grows it as its policy says.
    bool take(Bytes size, std::size_t payer) {
        if (payer == kSpace)
            return counters().used + size <= kCapacity;
        Reservation& reservation = reservations[payer];
        const Bytes needed = live(payer) + size;
        if (needed <= reservation.size || size == 0)
            return true;
        const Bytes missing = needed - reservation.size;
        const bool excess =
            reservation.over == Over::ignore || reservation.over == Over::increase_or_excess;
        if (reservation.over == Over::increase || reservation.over == Over::increase_or_excess)
            for (const Bytes growth : {rounded(missing * 3 / 2), missing})
                if (fits(payer, reservation.size + growth, needed)) {
                    reservation.size += growth;
                    return true;
                }
        return excess && fits(payer, reservation.size, needed);
    }

    // Whether the space has room for `payer` with that size and that use: growth within the limit,
    // everything within the capacity.
    bool fits(std::size_t payer, Bytes size, Bytes used) const {
        const Bytes others = counters().used - std::max(reservations[payer].size, live(payer));
        const Bytes now = others + std::max(reservations[payer].size, live(payer));
        const Bytes grown = others + std::max(size, live(payer));
        return (grown == now || grown <= kLimit) && others + std::max(size, used) <= kCapacity;
    }

    std::vector<Reservation> reservations;
    std::vector<Charge> charges;
};

struct PairStep {
    std::uint8_t what = 0;
    std::uint16_t who = 0;
    std::uint16_t other = 0;
    std::uint16_t size = 0;
};

// The space and its model side by side. Every function does one step in both and says whether they
// agree on its outcome.
class Pair {
  public:
    bool step(const PairStep& step) {
        const Bytes size = step.size % 400;
        const std::optional<std::size_t> who = pick(handles_, step.who);
        const std::optional<std::size_t> other = pick(handles_, step.other);
        const std::optional<std::size_t> charge = pick(charges_, step.who);
        switch (step.what % 14) {
            case 0:
                return reserve(size, static_cast<Over>(step.other % 4));
            case 1:
                return reserve_up_to(size);
            case 2:
                return take(size, Model::kSpace);
            case 3:
            case 4:
                return !who || take(size, *who);
            case 5:
            case 6:
            case 7:
                return !charge || give(*charge);
            case 8:
                return !charge || resize(*charge, size);
            case 9:
                return !who || grow(*who, size);
            case 10:
                return !who || shrink(*who);
            case 11:
                return !who || split(*who, size);
            case 12:
                return !who || !other || merge(*who, *other);
            default:
                return !who || release(*who);
        }
    }

    bool agree() const {
        SpaceCounters expected = model_.counters();
        SpaceCounters found = space_.counters();
        expected.peak_used = found.peak_used;
        bool same = found == expected && found.used <= kCapacity && found.peak_used >= found.used;
        for (std::size_t i = 0; i < handles_.size(); ++i)
            if (handles_[i])
                same = same && handles_[i].size() == model_.reservations[i].size &&
                       handles_[i].used() == model_.live(i);
        return same;
    }

    // Everything back, charges and reservations in an order that `seed` chooses.
    bool clear(std::uint64_t seed) {
        Random random(seed);
        bool same = true;
        while (pick(charges_, 0) || pick(handles_, 0)) {
            const auto number = static_cast<std::uint16_t>(random.below(1000));
            const auto charge = pick(charges_, number);
            const auto handle = pick(handles_, number);
            same =
                same &&
                (charge && (!handle || random.below(2) == 0) ? give(*charge) : release(*handle)) &&
                agree();
        }
        const SpaceCounters counters = space_.counters();
        return same && counters == SpaceCounters{.peak_used = counters.peak_used};
    }

  private:
    // The living one that `number` stands for.
    template <class Living>
    static std::optional<std::size_t> pick(const std::vector<Living>& all, std::uint16_t number) {
        std::vector<std::size_t> living;
        for (std::size_t i = 0; i < all.size(); ++i)
            if (all[i])
                living.push_back(i);
        if (living.empty())
            return std::nullopt;
        return living[number % living.size()];
    }

    bool add(MemoryReservation handle, Bytes size, Over over) {
        handle.set_over_reservation(policy(over));
        handles_.push_back(std::move(handle));
        model_.reservations.push_back({.size = size, .over = over});
        return true;
    }

    bool reserve(Bytes size, Over over) {
        const bool granted = size == 0 || model_.counters().used + Model::rounded(size) <= kLimit;
        auto handle = space_.try_reserve(size);
        if (handle.has_value() != granted)
            return false;
        return !granted || add(std::move(*handle), Model::rounded(size), over);
    }

    bool reserve_up_to(Bytes size) {
        const Bytes used = model_.counters().used;
        const Bytes room = used < kLimit ? kLimit - used : 0;
        return add(space_.reserve_up_to(size), std::min(Model::rounded(size), room), Over::ignore);
    }

    bool take(Bytes size, std::size_t payer) {
        const auto charge = payer == Model::kSpace ? space_.charge(size)
                                                   : space_.charge(size, handles_[payer].id());
        if (charge.has_value() != model_.take(Model::rounded(size), payer))
            return false;
        if (charge) {
            charges_.push_back(*charge);
            model_.charges.push_back({.size = Model::rounded(size), .payer = payer});
        }
        return true;
    }

    bool give(std::size_t charge) {
        space_.uncharge(charges_[charge]);
        model_.charges[charge].alive = false;
        return true;
    }

    bool resize(std::size_t index, Bytes size) {
        Model::Charge& charge = model_.charges[index];
        const Bytes next = Model::rounded(size);
        const bool granted = next <= charge.size || model_.take(next - charge.size, charge.payer);
        if (space_.recharge(charges_[index], size).has_value() != granted)
            return false;
        if (granted)
            charge.size = next;
        return charges_[index].size == charge.size;
    }

    bool grow(std::size_t who, Bytes size) {
        const Bytes next = model_.reservations[who].size + Model::rounded(size);
        const bool granted = model_.fits(who, next, 0);
        if (granted)
            model_.reservations[who].size = next;
        return handles_[who].grow_by(size) == granted;
    }

    bool shrink(std::size_t who) {
        Bytes& size = model_.reservations[who].size;
        const Bytes before = size;
        size = std::min(size, model_.live(who));
        return handles_[who].shrink_to_fit() == before - size;
    }

    bool split(std::size_t who, Bytes size) {
        const Bytes part = Model::rounded(size);
        const bool granted = part == 0 || model_.live(who) + part <= model_.reservations[who].size;
        auto handle = handles_[who].split(size, OwnerId::nobody);
        if (handle.has_value() != granted)
            return false;
        if (!granted)
            return true;
        model_.reservations[who].size -= part;
        return add(std::move(*handle), part, model_.reservations[who].over);
    }

    bool merge(std::size_t into, std::size_t from) {
        const bool merged = handles_[into].merge(std::move(handles_[from])).has_value();
        if (merged != (into != from))
            return false;
        if (!merged)
            return true;
        model_.reservations[into].size += model_.reservations[from].size;
        model_.reservations[from].alive = false;
        for (Model::Charge& charge : model_.charges)
            if (charge.payer == from)
                charge.payer = into;
        return true;
    }

    bool release(std::size_t who) {
        handles_[who].release();
        model_.reservations[who].alive = false;
        for (Model::Charge& charge : model_.charges)
            if (charge.payer == who)
                charge.payer = Model::kSpace;
        return true;
    }

    MemorySpace space_{small_space()};
    Model model_;
    std::vector<MemoryReservation> handles_;  // as model_.reservations
    std::vector<Charge> charges_;             // as model_.charges
};

// The number of the first step at which they differ; the number of steps if they never do.
std::size_t first_difference(const std::vector<PairStep>& steps) {
    Pair pair;
    for (std::size_t i = 0; i < steps.size(); ++i)
        if (!pair.step(steps[i]) || !pair.agree())
            return i;
    return pair.clear(steps.size()) ? steps.size() : 0;
}

PairStep step_of(Random& random) {
    const std::uint64_t bits = random.next();
    return {.what = static_cast<std::uint8_t>(bits),
            .who = static_cast<std::uint16_t>(bits >> 8U),
            .other = static_cast<std::uint16_t>(bits >> 24U),
            .size = static_cast<std::uint16_t>(bits >> 40U)};
}

TEST_CASE("a space is what its reservations and charges add up to, after every step",
          "[tiers][reservation][property]") {
    const support::Effort effort = support::effort(400);
    CHECK(support::counterexample(effort, [](const std::vector<std::uint64_t>& seeds) {
              std::vector<PairStep> steps;
              for (const std::uint64_t seed : seeds) {
                  Random random(seed);
                  steps.push_back(step_of(random));
              }
              RC_ASSERT(first_difference(steps) == steps.size());
          }).empty());
}

TEST_CASE("long histories of reservations add up", "[tiers][reservation][property]") {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        Random random(seed);
        std::vector<PairStep> steps(300);
        std::generate(steps.begin(), steps.end(), [&] { return step_of(random); });
        INFO("seed " << seed);
        CHECK(first_difference(steps) == steps.size());
    }
}

TEST_CASE("very many histories add up", "[tiers][reservation][property][.long]") {
    for (std::uint64_t seed = 1000; seed < 6000; ++seed) {
        Random random(seed);
        std::vector<PairStep> steps(200);
        std::generate(steps.begin(), steps.end(), [&] { return step_of(random); });
        INFO("seed " << seed);
        REQUIRE(first_difference(steps) == steps.size());
    }
}

}  // namespace
}  // namespace tidemark
