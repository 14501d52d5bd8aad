// ReservedAllocator: an Allocator over another one whose grants are charged to a space: to one
// reservation, or to whatever is bound to the stream of the request (or to the calling thread). So
// a reservation can be used wherever an allocator is expected.
//
// A grant costs its size in the inner allocator (Allocation::size). It is charged before the inner
// allocator is called, so memory is never taken without being accounted for, and the inner
// allocator frees memory before its charge ends. Each allocation knows its charge: the stream on
// which it is freed, and what is bound there by then, do not affect who is credited. A request that
// the inner allocator refuses leaves no charge; only a reservation that its policy has grown for it
// keeps that size.
//
// Refusals by the space are OutOfMemory with the cause limit (or too_large). The OOM policy sees
// every refusal, including the inner allocator's, and may request another attempt from the
// beginning. It is called from within `allocate`, so any lock that a shell around this allocator
// holds is held: with spill_and_retry the spiller must be able to free without that shell.
//
// Thread-safety: none, as for all allocators; any number of them may share the space and its
// reservations. If the inner allocator is shared too, `usage` shows its state as of the last call
// here.
#pragma once

#include "core/allocator/forwarding_allocator.h"
#include "core/tiers/spaces/memory_space.h"
#include "core/tiers/spaces/oom_policy.h"
#include "core/tiers/spaces/reservation_bindings.h"

namespace tidemark {

class ReservedAllocator final : public ForwardingAllocator {
  public:
    // Charges `reservation`, which still belongs to its owner. When it is gone, requests fail, and
    // what was granted is freed as usual. `oom` null: the default of the space. `inner` and the
    // space must outlive it, here and below.
    ReservedAllocator(Allocator& inner, const MemoryReservation& reservation,
                      OomHandling oom = nullptr);

    // Charges what is bound; where nothing is bound, the space pays.
    ReservedAllocator(Allocator& inner, ReservationBindings& bindings, OomHandling oom = nullptr);

    // Ends the charges of what is still live: nobody could free it any longer.
    ~ReservedAllocator() override;

    tl::expected<Allocation, OutOfMemory> allocate(const Request& request) override;
    void deallocate(const Allocation& allocation, StreamId stream) override;
    void record_use(const Allocation& allocation, StreamId stream) override;

    // The inner allocator's, but not more than could be charged.
    Bytes largest_free() const override;

    // Errors: the inner allocator's; bad_input if it is more than can be charged: then what was
    // charged and restored is freed again.
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
