// ReservedAllocator: an Allocator over another one whose grants are charged to a space: to one
// reservation, or to whatever is bound to the stream of the request (or to the calling thread). So
// a reservation serves wherever an allocator is taken.
//
// What a grant costs is what the inner allocator's grant is worth (Allocation::size). It is charged
// before the inner allocator is asked, so that memory is never taken that isn't accounted for, and
// freed memory is given back by the inner allocator before its charge ends. Each allocation knows
// its charge: on which stream it is freed, and what is bound there by then, makes no difference to
// whom it is credited. A request that the inner allocator refuses leaves no
// charge; only a reservation that its policy has let grow for it keeps that size.
//
// Refusals by the space are OutOfMemory with the cause limit (or too_large). Every refusal, the
// inner allocator's too, is put before the OOM policy, which may ask for another attempt from the
// beginning; it is called from within `allocate`, so that whatever lock a shell around this
// allocator holds is held: with spill_and_retry the spiller must be able to free without that
// shell.
//
// Thread-safety: none, as for all allocators; the space and its reservations are shared by any
// number of them. If the inner allocator is shared too, `usage` shows it as of the last call here.
#pragma once

#include "core/allocator/forwarding_allocator.h"
#include "core/tiers/spaces/memory_space.h"
#include "core/tiers/spaces/oom_policy.h"
#include "core/tiers/spaces/reservation_bindings.h"

namespace tidemark {

class ReservedAllocator final : public ForwardingAllocator {
  public:
    // Charges `reservation`, which stays its owner's; when that is gone, requests are refused, and
    // what was granted is freed as ever. `oom` null: the default of the space. `inner` and the
    // space outlive it, here and below.
    ReservedAllocator(Allocator& inner, const MemoryReservation& reservation,
                      OomHandling oom = nullptr);

    // Charges what is bound; what nothing is bound for is the space's.
    ReservedAllocator(Allocator& inner, ReservationBindings& bindings, OomHandling oom = nullptr);

    // Ends the charges of what still lives: nobody could free it any more.
    ~ReservedAllocator() override;

    tl::expected<Allocation, OutOfMemory> allocate(const Request& request) override;
    void deallocate(const Allocation& allocation, StreamId stream) override;
    void record_use(const Allocation& allocation, StreamId stream) override;

    // The inner allocator's, but not more than could be charged.
    Bytes largest_free() const override;

    // Errors: the inner allocator's; bad_input if it is more than can be charged: what was charged
    // and restored is let go again then.
    Result<std::vector<Allocation>> restore(std::span<const SeedSegment> segments) override;

  private:
    struct Entry {
        Allocation inner;
        Charge charge;
    };

    struct Refusal {
        OutOfMemory reason = {};
        Bytes missing = 0;  // what must be freed for the request, as far as that is known
        bool by_space = true;
    };

    static Refusal refused_by_space(const ChargeRefusal& refusal);
    tl::expected<Charge, ChargeRefusal> charge(Bytes size, StreamId stream);
    tl::expected<Allocation, Refusal> attempt(const Request& request);
    Allocation enter(const Allocation& granted, const Charge& charge);

    MemorySpace& space_;
    ReservationBindings* bindings_ = nullptr;  // null: always `reservation_`
    ReservationId reservation_;
    OomHandling oom_;
    NodeTable<Entry> entries_;
};

}  // namespace tidemark
