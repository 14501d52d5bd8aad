// The handle: every query and change goes to its space.
#include "core/tiers/spaces/reservation.h"

#include "core/base/check.h"
#include "core/tiers/spaces/memory_space.h"

namespace tidemark {

std::string_view to_text(ChargeRefusal::Cause cause) {
    switch (cause) {
        case ChargeRefusal::Cause::full:
            return "the space is full";
        case ChargeRefusal::Cause::over_reservation:
            return "beyond the reservation";
        case ChargeRefusal::Cause::no_reservation:
            return "the reservation is gone";
        case ChargeRefusal::Cause::too_large:
            return "no space is that large";
    }
    return "unknown";
}

MemoryReservation& MemoryReservation::operator=(MemoryReservation&& other) noexcept {
    if (this != &other) {
        release();
        space_ = std::exchange(other.space_, nullptr);
        id_ = other.id_;
    }
    return *this;
}

ReservationFacts MemoryReservation::facts() const {
    const std::optional<ReservationFacts> found = space_->find(id_);
    TM_CHECK(found.has_value());
    return *found;
}

bool MemoryReservation::grow_by(Bytes size) {
    return space_->grow(id_, size);
}

Bytes MemoryReservation::shrink_to_fit() {
    return space_->shrink(id_);
}

void MemoryReservation::reset_peak() {
    space_->reset_peak(id_);
}

std::optional<MemoryReservation> MemoryReservation::split(Bytes size, OwnerId owner) {
    return space_->split(id_, size, owner);
}

Result<void> MemoryReservation::merge(MemoryReservation&& other) {
    if (space_ != other.space_)
        return fail(ErrorCode::bad_option, "reservations of two spaces can't be merged",
                    to_text(space_->id()));
    if (id_ == other.id_)
        return fail(ErrorCode::bad_option, "a reservation can't be merged with itself",
                    to_text(space_->id()));
    other.space_ = nullptr;
    space_->merge(id_, other.id_);
    return {};
}

void MemoryReservation::set_owner(OwnerId owner) {
    space_->set_owner(id_, owner);
}

void MemoryReservation::set_over_reservation(OverReservation policy) {
    space_->set_policy(id_, std::move(policy));
}

tl::expected<Charge, ChargeRefusal> MemoryReservation::charge(Bytes size) {
    return space_->charge(size, id_);
}

void MemoryReservation::release() {
    if (space_ != nullptr)
        std::exchange(space_, nullptr)->release(id_);
}

}  // namespace tidemark
