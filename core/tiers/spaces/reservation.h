// MemoryReservation: bytes of a space that are set aside for one owner. And Charge: what an
// allocation remembers of who pays for it.
//
//     std::optional<MemoryReservation> task = space.try_reserve(2_GiB);
//     auto charge = task->charge(512_MiB);  // out of what is set aside: `used` stays
//     space.uncharge(*charge);              // from any thread, also after the reservation's end
//
// A reservation of size S whose living allocations take L bytes accounts for max(S, L) bytes of its
// space: allocating within it never moves the space's `used`; what goes beyond is excess, charged
// to the space. Of L bytes no single one is "the excess": whichever allocation is freed, the excess
// is given back to the space first, and only then the reservation has room again. So the counters
// depend on S and L alone, never on the order of events, and sums return to zero.
//
// A charge knows its origin, the reservation that it was made through: it is given back exactly
// from any thread and stream (specs A4, defect 3), also after the reservation's end and when
// another one has taken its place in the tables since (its generation differs).
//
// Thread-safety: one handle may be used by many threads at once, for everything but moving from it,
// moving to it, release and destruction; those need the handle alone, but not the reservation:
// other threads may allocate through its ReservationId, and free what came out of it, at that time.
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
// gone: whatever is asked of it then is answered so.
struct ReservationId {
    static constexpr std::uint32_t kNone = ~std::uint32_t{0};

    std::uint32_t node = kNone;
    std::uint32_t generation = 0;

    friend bool operator==(const ReservationId&, const ReservationId&) = default;
};

// Bytes of a space that an allocation holds. Made by MemorySpace::charge and given back once, with
// MemorySpace::uncharge; a plain value, to be kept beside the allocation. The default one is
// nothing.
struct Charge {
    MemorySpace* space = nullptr;
    Bytes size = 0;             // in the granularity of the space
    ReservationId origin = {};  // none: charged to the space

    explicit operator bool() const { return space != nullptr; }
};

// Why bytes weren't charged: ordinary and small, as an allocator's OutOfMemory.
struct ChargeRefusal {
    enum class Cause : std::uint8_t {
        full,              // beyond the space's capacity
        over_reservation,  // beyond the reservation, and its policy says no
        no_reservation,    // the reservation is gone
        too_large,         // no space is that large (kLargestRequest)
    };
    Cause cause = Cause::full;
    Bytes requested = 0;
    Bytes missing = 0;  // what must be freed in the space for it at least; 0: freeing won't help
};

// "the space is full", ...
std::string_view to_text(ChargeRefusal::Cause cause);

// One moment of a reservation.
struct ReservationFacts {
    ReservationId id = {};
    OwnerId owner = OwnerId::nobody;
    Bytes size = 0;
    Bytes used = 0;  // by living allocations, excess included
    Bytes peak = 0;  // of `used`

    Bytes unused() const { return used < size ? size - used : 0; }

    Bytes excess() const { return used > size ? used - size : 0; }
};

// The owner's handle: move-only, released by its destruction. Unused bytes go back to the space at
// once then; what is still allocated stays charged to the space, and goes back when it is freed.
class MemoryReservation {
  public:
    MemoryReservation() = default;  // of nothing

    MemoryReservation(MemoryReservation&& other) noexcept
        : space_(std::exchange(other.space_, nullptr)), id_(other.id_) {}

    MemoryReservation& operator=(MemoryReservation&& other) noexcept;

    ~MemoryReservation() { release(); }

    // Whether it is one. The functions below need that, but release.
    explicit operator bool() const { return space_ != nullptr; }

    MemorySpace& space() const { return *space_; }

    ReservationId id() const { return id_; }

    // Figures of one moment. O(1), under the space's lock, here and below.
    ReservationFacts facts() const;

    Bytes size() const { return facts().size; }

    Bytes used() const { return facts().used; }

    Bytes unused() const { return facts().unused(); }

    // Sets that many more bytes aside, in the space's granularity, all or nothing. What is excess
    // already counts as set aside: growing over it costs the space nothing. False: beyond the
    // limit.
    bool grow_by(Bytes size);

    // Gives what is unused back to the space, and says how much that was.
    Bytes shrink_to_fit();

    // The peak of `used` begins anew at what is used now.
    void reset_peak();

    // A second reservation made of `size` unused bytes of this one, with the same policies.
    // Allocations stay with this one. Nothing if fewer are unused.
    std::optional<MemoryReservation> split(Bytes size, OwnerId owner);

    // Takes in another one of the same space: its size, and its living allocations, whose bytes
    // will come back to this one. `other` is of nothing then. Errors (bad_option): of another
    // space, or itself; both stay as they were.
    Result<void> merge(MemoryReservation&& other);

    // Who has it now, for reports. Handing it over to another thread is a move.
    void set_owner(OwnerId owner);

    // What happens when it is too small; null: the default of its space, as that is at that moment.
    void set_over_reservation(OverReservation policy);

    // As MemorySpace::charge(size, id()).
    tl::expected<Charge, ChargeRefusal> charge(Bytes size);

    // Ends it; a handle of nothing stays one.
    void release();

  private:
    friend class MemorySpace;

    MemoryReservation(MemorySpace& space, ReservationId id) : space_(&space), id_(id) {}

    MemorySpace* space_ = nullptr;
    ReservationId id_;
};

}  // namespace tidemark
