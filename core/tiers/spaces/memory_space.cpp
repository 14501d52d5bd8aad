// A lock around the ledger. Anything that may run code of others (policies, the destructor of a
// policy) happens before the lock is taken or after it is released.
#include "core/tiers/spaces/memory_space.h"

#include <utility>

#include <fmt/format.h>

#include "core/base/check.h"
#include "core/base/text.h"

namespace tidemark {

MemorySpace::MemorySpace(const SpaceSpec& spec)
    : spec_(spec),
      thresholds_(spec.thresholds()),
      ledger_(spec.capacity, thresholds_.limit),
      oom_policy_(rethrow_oom()) {
    TM_CHECK(is_power_of_two(spec.granularity));
}

MemorySpace::~MemorySpace() {
    TM_CHECK(ledger_.reservations() == 0);
}

template <class Step>
auto MemorySpace::locked(Step step) const {
    const std::lock_guard lock(mutex_);
    return step(ledger_);
}

Bytes MemorySpace::rounded(Bytes size) const {
    return size < kLargestRequest ? align_up(size, spec_.granularity) : size;
}

std::optional<MemoryReservation> MemorySpace::try_reserve(Bytes size, OwnerId owner) {
    const Bytes bytes = rounded(size);
    const auto id = locked([&](Ledger& ledger) { return ledger.try_reserve(bytes, owner); });
    return id ? std::optional(MemoryReservation(*this, *id)) : std::nullopt;
}

MemoryReservation MemorySpace::reserve_up_to(Bytes size, OwnerId owner) {
    const Bytes bytes = rounded(size);
    const auto id = locked([&](Ledger& ledger) {
        const Bytes most = ledger.account().reservable() & ~(spec_.granularity - 1);
        return ledger.try_reserve(bytes < most ? bytes : most, owner);
    });
    TM_CHECK(id.has_value());
    return {*this, *id};
}

bool MemorySpace::grow(ReservationId id, Bytes size) {
    const Bytes bytes = rounded(size);
    return bytes < kLargestRequest &&
           locked([&](Ledger& ledger) { return ledger.grow(id, bytes); });
}

Bytes MemorySpace::shrink(ReservationId id) {
    return locked([&](Ledger& ledger) { return ledger.shrink(id); });
}

std::optional<MemoryReservation> MemorySpace::split(ReservationId id, Bytes size, OwnerId owner) {
    const Bytes bytes = rounded(size);
    const auto part = locked([&](Ledger& ledger) { return ledger.split(id, bytes, owner); });
    return part ? std::optional(MemoryReservation(*this, *part)) : std::nullopt;
}

// The policy that these return is destroyed here, without the lock.
void MemorySpace::merge(ReservationId into, ReservationId from) {
    locked([&](Ledger& ledger) { return ledger.merge(into, from); });
}

void MemorySpace::release(ReservationId id) {
    locked([&](Ledger& ledger) { return ledger.release(id); });
}

void MemorySpace::set_owner(ReservationId id, OwnerId owner) {
    const std::lock_guard lock(mutex_);
    ledger_.set_owner(id, owner);
}

void MemorySpace::set_policy(ReservationId id, OverReservation policy) {
    locked([&](Ledger& ledger) { return ledger.set_policy(id, std::move(policy)); });
}

void MemorySpace::reset_peak(ReservationId id) {
    const std::lock_guard lock(mutex_);
    ledger_.reset_peak(id);
}

// An existing reservation; for existing charges, also the one that it was merged into.
std::optional<ReservationFacts> MemorySpace::payer_of(const ChargeSource& source) {
    return source.must_live() ? ledger_.find(source.origin) : ledger_.payer(source.origin);
}

// The plan's steps in their order; a refusal reports the smallest amount that would have helped.
MemorySpace::Ledger::Taken MemorySpace::carry_out(const OverReservationPlan& plan, Bytes size,
                                                  ReservationId origin) {
    Ledger::Taken taken;
    const auto attempt = [&](Bytes growth) {
        const Ledger::Taken now = ledger_.take(size, origin, growth, plan.allow_excess);
        if (now.granted || taken.missing == 0 || (now.missing != 0 && now.missing < taken.missing))
            taken = now;
        return now.granted;
    };
    for (const Bytes growth : {plan.growth, plan.second_growth})
        if (growth != 0 && growth < kLargestRequest && attempt(rounded(growth)))
            return taken;
    if (plan.allow_excess)
        attempt(0);
    return taken;
}

// A plan is valid only for the moment for which it was made. If the reservation has changed since,
// another thread has made progress, and the policy is asked again.
tl::expected<void, ChargeRefusal> MemorySpace::take(Bytes size, const ChargeSource& source) {
    using Cause = ChargeRefusal::Cause;
    const auto answer = [&](Ledger::Taken taken, Cause cause) -> tl::expected<void, ChargeRefusal> {
        if (!taken.granted)
            return tl::make_unexpected(ChargeRefusal{cause, size, taken.missing});
        if (source.fresh)
            ledger_.open_charge(source.origin);
        return {};
    };
    if (size >= kLargestRequest)
        return answer({}, Cause::too_large);
    for (;;) {
        OverReservation policy;
        OverReservationFacts facts;
        {
            const std::lock_guard lock(mutex_);
            const std::optional<ReservationFacts> payer = payer_of(source);
            if (!payer && source.must_live())
                return answer({}, Cause::no_reservation);
            if (payer && size > payer->unused()) {
                policy = ledger_.policy_of(payer->id);
                if (policy == nullptr)
                    policy = over_reservation_;
            }
            if (policy == nullptr)
                return answer(ledger_.take(size, source.origin, 0, true), Cause::full);
            facts = {.requested = size,
                     .reserved = payer->size,
                     .used = payer->used,
                     .reservable = ledger_.account().reservable(),
                     .available = ledger_.account().available(),
                     .owner = payer->owner};
        }
        const OverReservationPlan plan = policy->plan(facts);
        const std::lock_guard lock(mutex_);
        const std::optional<ReservationFacts> payer = payer_of(source);
        if (payer && payer->size == facts.reserved && payer->used == facts.used)
            return answer(carry_out(plan, size, source.origin),
                          plan.allow_excess ? Cause::full : Cause::over_reservation);
    }
}

tl::expected<Charge, ChargeRefusal> MemorySpace::charge(Bytes size, ReservationId reservation) {
    Charge charge{.space = this, .size = rounded(size), .origin = reservation};
    TM_TRY(take(charge.size, {.origin = reservation}));
    return charge;
}

tl::expected<void, ChargeRefusal> MemorySpace::recharge(Charge& charge, Bytes size) {
    TM_CHECK(charge.space == this);
    const Bytes bytes = rounded(size);
    if (bytes > charge.size)
        TM_TRY(take(bytes - charge.size, {.origin = charge.origin, .fresh = false}));
    else
        locked([&](Ledger& ledger) {
            ledger.give_back(charge.size - bytes, charge.origin);
            return 0;
        });
    charge.size = bytes;
    return {};
}

void MemorySpace::uncharge(Charge& charge) {
    if (!charge)
        return;
    TM_CHECK(charge.space == this);
    const Charge ended = std::exchange(charge, {});
    locked([&](Ledger& ledger) {
        ledger.close_charge(ended.size, ended.origin);
        return 0;
    });
}

SpaceCounters MemorySpace::counters() const {
    return locked([](const Ledger& ledger) {
        const SpaceAccount& account = ledger.account();
        return SpaceCounters{.allocated = account.allocated(),
                             .reserved = ledger.reserved(),
                             .unused_reserved = account.reserved_unused(),
                             .used = account.used(),
                             .peak_used = account.peak_used(),
                             .reservations = ledger.reservations(),
                             .charges = ledger.charges()};
    });
}

Bytes MemorySpace::used() const {
    return locked([](const Ledger& ledger) { return ledger.account().used(); });
}

SpacePressure MemorySpace::pressure(const Thresholds& thresholds) const {
    return {used(), thresholds.spill_start, thresholds.spill_stop};
}

Bytes MemorySpace::available() const {
    return locked([](const Ledger& ledger) { return ledger.account().available(); });
}

Bytes MemorySpace::available_to(ReservationId reservation) const {
    return locked([&](const Ledger& ledger) {
        const auto facts = ledger.find(reservation);
        return ledger.account().available() + (facts ? facts->unused() : 0);
    });
}

Bytes MemorySpace::reservable() const {
    return locked([](const Ledger& ledger) { return ledger.account().reservable(); });
}

void MemorySpace::reset_peak() {
    const std::lock_guard lock(mutex_);
    ledger_.reset_peak();
}

std::optional<ReservationFacts> MemorySpace::find(ReservationId reservation) const {
    return locked([&](const Ledger& ledger) { return ledger.find(reservation); });
}

std::vector<ReservationFacts> MemorySpace::reservations() const {
    return locked([](const Ledger& ledger) { return ledger.all(); });
}

// The former policy is destroyed by its last user, without the lock.
void MemorySpace::set_over_reservation(OverReservation policy) {
    const std::lock_guard lock(mutex_);
    over_reservation_.swap(policy);
}

void MemorySpace::set_oom_policy(OomHandling policy) {
    if (policy == nullptr)
        policy = rethrow_oom();
    const std::lock_guard lock(mutex_);
    oom_policy_.swap(policy);
}

OomHandling MemorySpace::oom_policy() const {
    const std::lock_guard lock(mutex_);
    return oom_policy_;
}

std::string MemorySpace::text() const {
    const SpaceCounters now = counters();
    return fmt::format("{}: {} of {} used (limit {}): {} allocated, {} unused in {} reservation{}",
                       to_text(spec_.id), format_bytes(now.used), format_bytes(spec_.capacity),
                       format_bytes(thresholds_.limit), format_bytes(now.allocated),
                       format_bytes(now.unused_reserved), now.reservations,
                       now.reservations == 1 ? "" : "s");
}

}  // namespace tidemark
