// The table, and charges that look their reservation up.
#include "core/tiers/spaces/reservation_bindings.h"

#include <atomic>
#include <utility>

#include "core/base/random.h"

namespace tidemark {

// The slot identifies the thread, not what it has: that is in the table of each space.
BindingKey this_thread_key() {
    static std::atomic<std::uint64_t> threads{0};
    thread_local const std::uint64_t number = threads.fetch_add(1, std::memory_order_relaxed);
    return {BindingKey::Kind::thread, number};
}

std::size_t ReservationBindings::Hash::operator()(const BindingKey& key) const {
    return Random(key.value * 4 + static_cast<std::uint64_t>(key.kind)).next();
}

tl::expected<void, RefusedBinding> ReservationBindings::bind(BindingKey key,
                                                             MemoryReservation reservation) {
    using Cause = RefusedBinding::Cause;
    if (!reservation || &reservation.space() != &space_)
        return tl::make_unexpected(RefusedBinding{Cause::other_space, std::move(reservation)});
    const std::lock_guard lock(mutex_);
    const bool bound = bound_.try_emplace(key, std::move(reservation)).second;
    if (!bound)  // `reservation` is unchanged then
        return tl::make_unexpected(RefusedBinding{Cause::taken, std::move(reservation)});
    return {};
}

std::optional<MemoryReservation> ReservationBindings::unbind(BindingKey key) {
    const std::lock_guard lock(mutex_);
    const auto found = bound_.find(key);
    if (found == bound_.end())
        return std::nullopt;
    MemoryReservation reservation = std::move(found->second);
    bound_.erase(found);
    return reservation;
}

std::optional<ReservationId> ReservationBindings::find(BindingKey key) const {
    const std::lock_guard lock(mutex_);
    const auto found = bound_.find(key);
    return found != bound_.end() ? std::optional(found->second.id()) : std::nullopt;
}

std::optional<ReservationId> ReservationBindings::find_for(StreamId stream) const {
    const std::lock_guard lock(mutex_);
    for (const BindingKey& key : {stream_key(stream), this_thread_key()})
        if (const auto found = bound_.find(key); found != bound_.end())
            return found->second.id();
    return std::nullopt;
}

std::size_t ReservationBindings::size() const {
    const std::lock_guard lock(mutex_);
    return bound_.size();
}

// The binding may be gone before the charge is made; then something else is bound, or nothing.
template <class Find>
static tl::expected<Charge, ChargeRefusal> charge_found(MemorySpace& space, Bytes size, Find find) {
    for (;;) {
        const std::optional<ReservationId> reservation = find();
        if (!reservation)
            return space.charge(size);
        auto charge = space.charge(size, *reservation);
        if (charge || charge.error().cause != ChargeRefusal::Cause::no_reservation)
            return charge;
    }
}

tl::expected<Charge, ChargeRefusal> ReservationBindings::charge(Bytes size, BindingKey key) {
    return charge_found(space_, size, [&] { return find(key); });
}

tl::expected<Charge, ChargeRefusal> ReservationBindings::charge_on(Bytes size, StreamId stream) {
    return charge_found(space_, size, [&] { return find_for(stream); });
}

tl::expected<ReservationScope, RefusedBinding> ReservationScope::open(
    ReservationBindings& bindings, BindingKey key, MemoryReservation reservation) {
    auto bound = bindings.bind(key, std::move(reservation));
    if (!bound)
        return tl::make_unexpected(std::move(bound).error());
    return ReservationScope(bindings, key);
}

MemoryReservation ReservationScope::end() {
    if (bindings_ == nullptr)
        return {};
    return std::exchange(bindings_, nullptr)->unbind(key_).value_or(MemoryReservation{});
}

}  // namespace tidemark
