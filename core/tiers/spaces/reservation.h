// MemoryReservation: bytes of a space that are reserved for one owner. And Charge: an allocation's
// record of who pays for it.
//
//     std::optional<MemoryReservation> task = space.try_reserve(2_GiB);
//     auto charge = task->charge(512_MiB);  // out of the reserved bytes: `used` stays
//     space.uncharge(*charge);              // from any thread, also after the reservation's end
//
// A reservation of size S whose live allocations take L bytes accounts for max(S, L) bytes of its
// space: allocating within it never changes the space's `used`; anything beyond is excess, charged
// to the space. No single one of the L bytes is "the excess": whichever allocation is freed, the
// excess is returned to the space first, and only then does the reservation have room again. So the
// counters depend only on S and L, never on the order of events, and sums return to zero.
//
// A charge knows its origin, the reservation that it was made through. It is returned exactly, from
// any thread and stream (specs A4, defect 3), also after the reservation's end and when another
// reservation has replaced it in the tables since (its generation differs).
//
// Thread-safety: many threads may use one handle at once, for everything except moving from it,
// moving to it, release and destruction. Those need exclusive access to the handle, but not to the
// reservation: other threads may allocate through its ReservationId, and free what came out of it,
// at that time.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include <tl/expected.hpp>

#include "core/base/result.h"
#include "core/base/units.h"
#include "core/tiers/spaces/over_reservation.h"

namespace tidemark {

class MemorySpace;

// Names a reservation within its space; a plain value that stays harmless when the reservation is
// gone: functions that get it then report so.
struct ReservationId {
    static constexpr std::uint32_t kNone = ~std::uint32_t{0};

    std::uint32_t node = kNone;
    std::uint32_t generation = 0;

    friend bool operator==(const ReservationId&, const ReservationId&) = default;
};

// Bytes of a space that an allocation holds. Made by MemorySpace::charge and returned once, with
// MemorySpace::uncharge; a plain value, to be stored with the allocation. The default one is empty.
struct Charge {
    MemorySpace* space = nullptr;
    Bytes size = 0;             // in the granularity of the space
    ReservationId origin = {};  // none: charged to the space

    explicit operator bool() const { return space != nullptr; }
};

// Why bytes weren't charged: ordinary and small, like an allocator's OutOfMemory.
struct ChargeRefusal {
    enum class Cause : std::uint8_t {
        full,              // beyond the space's capacity
        over_reservation,  // beyond the reservation, and its policy refuses
        no_reservation,    // the reservation is gone
        too_large,         // no space is that large (kLargestRequest)
    };
    Cause cause = Cause::full;
    Bytes requested = 0;
    Bytes missing = 0;  // the least that must be freed in the space for it; 0: freeing won't help
};

// "the space is full", ...
std::string_view to_text(ChargeRefusal::Cause cause);

// The state of a reservation at one moment.
struct ReservationFacts {
    ReservationId id = {};
    OwnerId owner = OwnerId::nobody;
    Bytes size = 0;
    Bytes used = 0;  // by live allocations, including excess
    Bytes peak = 0;  // of `used`

    Bytes unused() const { return used < size ? size - used : 0; }

    Bytes excess() const { return used > size ? used - size : 0; }
};

// The owner's handle: move-only, released by its destruction. Unused bytes are then returned to the
// space immediately; allocated bytes stay charged to the space until they are freed.
class MemoryReservation {
  public:
    MemoryReservation() = default;  // of nothing

    MemoryReservation(MemoryReservation&& other) noexcept
        : space_(std::exchange(other.space_, nullptr)), id_(other.id_) {}

    MemoryReservation& operator=(MemoryReservation&& other) noexcept;

    ~MemoryReservation() { release(); }

    // Whether it has a reservation. The functions below need one, except release.
    explicit operator bool() const { return space_ != nullptr; }

    MemorySpace& space() const { return *space_; }

    ReservationId id() const { return id_; }

    // Figures of one moment. O(1), under the space's lock, here and below.
    ReservationFacts facts() const;

    Bytes size() const { return facts().size; }

    Bytes used() const { return facts().used; }

    Bytes unused() const { return facts().unused(); }

    // Reserves this many more bytes, in the space's granularity, all or nothing. Excess already
    // counts as reserved: growing over it costs the space nothing. False: beyond the limit.
    bool grow_by(Bytes size);

    // Returns unused bytes to the space; returns how many there were.
    Bytes shrink_to_fit();

    // Restarts the peak of `used` at what is used now.
    void reset_peak();

    // A second reservation made of `size` unused bytes of this one, with the same policies.
    // Allocations stay with this one. Nothing if fewer are unused.
    std::optional<MemoryReservation> split(Bytes size, OwnerId owner);

    // Merges another one of the same space into this one: its size, and its live allocations, whose
    // bytes will return to this one. `other` is empty then. Errors (bad_option): of another space,
    // or itself; both stay unchanged.
    Result<void> merge(MemoryReservation&& other);

    // The owner, for reports. Move the handle to pass it to another thread.
    void set_owner(OwnerId owner);

    // What happens when it is too small; null: the current default of its space.
    void set_over_reservation(OverReservation policy);

    // As MemorySpace::charge(size, id()).
    tl::expected<Charge, ChargeRefusal> charge(Bytes size);

    // Ends it; an empty handle stays empty.
    void release();

  private:
    friend class MemorySpace;

    MemoryReservation(MemorySpace& space, ReservationId id) : space_(&space), id_(id) {}

    MemorySpace* space_ = nullptr;
    ReservationId id_;
};

}  // namespace tidemark
