// MemorySpace: one space of a machine in a real program: its counters behind a lock, and the table
// of its reservations. It counts bytes and owns none: whoever has the memory (ReservedAllocator,
// the host's blocks, the disk store) charges here what it hands out.
//
//     MemorySpace space({.id = {Tier::gpu, 0}, .capacity = 8_GiB});
//     tl::expected<Charge, ChargeRefusal> charge = space.charge(512_MiB);  // before allocating
//     space.uncharge(*charge);                                             // after freeing
//
// Promise: at any moment and under any interleaving
//
//     used = allocated + unused reserved bytes <= capacity,
//     allocated = the sum of living charges,
//     unused = the sum over reservations of max(0, size - used by it),
//
// and everything is 0 again when the last reservation and the last charge are gone. Nothing here
// waits: a refusal is an answer. Waiting is the spill engine's (spill_engine.h).
//
// Sizes are rounded up to the space's granularity here and nowhere else; a size may be 0.
//
// Thread-safety: every function may be called from any thread but the destructor. One lock, held
// for some tens of instructions; no heap but for the growth of the table. Policies
// are called without it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/tiers/machine/machine.h"
#include "core/tiers/spaces/oom_policy.h"
#include "core/tiers/spaces/reservation.h"
#include "core/tiers/spaces/reservation_ledger.h"

namespace tidemark {

// Figures of one moment.
struct SpaceCounters {
    Bytes allocated = 0;        // by living charges
    Bytes reserved = 0;         // the sizes of living reservations
    Bytes unused_reserved = 0;  // of these, not allocated
    Bytes used = 0;             // allocated + unused_reserved
    Bytes peak_used = 0;
    std::uint64_t reservations = 0;  // living
    std::uint64_t charges = 0;       // living

    friend bool operator==(const SpaceCounters&, const SpaceCounters&) = default;
};

// How full a space is, for whoever spills: the engine in the background, or a program by itself.
struct SpacePressure {
    Bytes used = 0;
    Bytes spill_start = 0;
    Bytes spill_stop = 0;

    // Spilling is to begin.
    bool starts() const { return used > spill_start; }

    // What has to leave before it may stop.
    Bytes excess() const { return used - std::min(used, spill_stop); }
};

class MemorySpace {
  public:
    // `spec` is a valid one (MachineSpec::validate).
    explicit MemorySpace(const SpaceSpec& spec);
    MemorySpace(const MemorySpace&) = delete;
    MemorySpace& operator=(const MemorySpace&) = delete;

    // Every reservation must have been released before.
    ~MemorySpace();

    // What never changes. O(1), without the lock.
    SpaceId id() const { return spec_.id; }

    const SpaceSpec& spec() const { return spec_; }

    const Thresholds& thresholds() const { return thresholds_; }

    // `size` in the granularity of the space; sizes of kLargestRequest and more stay as they are.
    Bytes rounded(Bytes size) const;

    // Sets `size` bytes aside, all or nothing: as long as used + size <= limit; 0 bytes always.
    // O(1).
    std::optional<MemoryReservation> try_reserve(Bytes size, OwnerId owner = OwnerId::nobody);

    // Sets aside as much of `size` as there is, possibly 0 bytes. O(1).
    MemoryReservation reserve_up_to(Bytes size, OwnerId owner = OwnerId::nobody);

    // Charges an allocation of `size` bytes to the space: as long as used + size <= capacity. O(1).
    // Or to a reservation of this space; what is beyond that is up to its over-reservation policy,
    // whose cost comes on top.
    tl::expected<Charge, ChargeRefusal> charge(Bytes size, ReservationId reservation = {});

    // Makes a charge of this space larger or smaller, by the same rules as charging and giving
    // back. A refusal leaves it as it was. The bytes of a charge whose reservation is gone are the
    // space's. O(1).
    tl::expected<void, ChargeRefusal> recharge(Charge& charge, Bytes size);

    // Gives back what `charge` holds, wherever it came from, and makes it nothing. A charge of
    // nothing is given back without effect. O(1) amortized (merged reservations are followed).
    void uncharge(Charge& charge);

    // Figures. O(1), under the lock.
    SpaceCounters counters() const;

    Bytes used() const;

    // How far it is above thresholds.
    SpacePressure pressure(const Thresholds& thresholds) const;

    // What could be allocated without a reservation.
    Bytes available() const;

    // And with that reservation: its unused bytes too. One that is gone has none.
    Bytes available_to(ReservationId reservation) const;

    // What could be reserved.
    Bytes reservable() const;

    // The peak begins anew at what is used now.
    void reset_peak();

    // A living reservation, or nothing. O(1).
    std::optional<ReservationFacts> find(ReservationId reservation) const;

    // Every living reservation, in the order of the table: who holds what. O(reservations), copied
    // under the lock.
    std::vector<ReservationFacts> reservations() const;

    // Defaults for reservations that have no policy of their own, and for what is charged to the
    // space; null: ignore, rethrow.
    void set_over_reservation(OverReservation policy);
    void set_oom_policy(OomHandling policy);
    OomHandling oom_policy() const;

    // "gpu:0: 1.50 GiB of 2.00 GiB used (limit 1.80 GiB): 1.00 GiB allocated, 512 MiB unused in
    // 2 reservations".
    std::string text() const;

  private:
    friend class MemoryReservation;

    using Ledger = ReservationLedger;

    // What MemoryReservation does with a living reservation.
    bool grow(ReservationId id, Bytes size);
    Bytes shrink(ReservationId id);
    std::optional<MemoryReservation> split(ReservationId id, Bytes size, OwnerId owner);
    void merge(ReservationId into, ReservationId from);
    void release(ReservationId id);
    void set_owner(ReservationId id, OwnerId owner);
    void set_policy(ReservationId id, OverReservation policy);
    void reset_peak(ReservationId id);

    // Where bytes come from. A new charge of a reservation needs it alive; more of an old one is
    // paid by whoever pays for that now.
    struct ChargeSource {
        ReservationId origin = {};  // none: the space
        bool fresh = true;

        bool must_live() const { return fresh && origin.node != ReservationId::kNone; }
    };

    tl::expected<void, ChargeRefusal> take(Bytes size, const ChargeSource& source);

    // Under the lock.
    Ledger::Taken carry_out(const OverReservationPlan& plan, Bytes size, ReservationId origin);
    std::optional<ReservationFacts> payer_of(const ChargeSource& source);

    // Runs `step` on the ledger under the lock.
    template <class Step>
    auto locked(Step step) const;

    SpaceSpec spec_;
    Thresholds thresholds_;
    mutable std::mutex mutex_;  // guards what follows
    mutable Ledger ledger_;
    OverReservation over_reservation_;  // null: ignore
    OomHandling oom_policy_;
};

}  // namespace tidemark
