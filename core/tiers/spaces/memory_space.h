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
//     allocated = the sum of existing charges,
//     unused = the sum over reservations of max(0, size - used by it),
//
// and everything is 0 again when the last reservation and the last charge are gone. Nothing here
// waits: a refusal is an answer. Waiting is up to the spill engine (spill_engine.h).
//
// Only this class rounds sizes up to the space's granularity; a size may be 0.
//
// Thread-safety: every function except the destructor may be called from any thread. One lock, held
// for a few dozen instructions; no heap except when the table grows. Policies are called without
// the lock.
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
    Bytes allocated = 0;        // by existing charges
    Bytes reserved = 0;         // the sizes of existing reservations
    Bytes unused_reserved = 0;  // of these, not allocated
    Bytes used = 0;             // allocated + unused_reserved
    Bytes peak_used = 0;
    std::uint64_t reservations = 0;  // existing ones
    std::uint64_t charges = 0;       // existing ones

    friend bool operator==(const SpaceCounters&, const SpaceCounters&) = default;
};

// How full a space is, for whoever spills: the engine in the background, or the program itself.
struct SpacePressure {
    Bytes used = 0;
    Bytes spill_start = 0;
    Bytes spill_stop = 0;

    // Spilling should start.
    bool starts() const { return used > spill_start; }

    // How much has to leave before spilling may stop.
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

    // Reserves `size` bytes, all or nothing: as long as used + size <= limit; 0 bytes always. O(1).
    std::optional<MemoryReservation> try_reserve(Bytes size, OwnerId owner = OwnerId::nobody);

    // Reserves as much of `size` as is available, possibly 0 bytes. O(1).
    MemoryReservation reserve_up_to(Bytes size, OwnerId owner = OwnerId::nobody);

    // Charges an allocation of `size` bytes to the space: as long as used + size <= capacity. O(1).
    // Or to a reservation of this space; its over-reservation policy decides about anything beyond
    // it, and its cost is added.
    tl::expected<Charge, ChargeRefusal> charge(Bytes size, ReservationId reservation = {});

    // Makes a charge of this space larger or smaller, by the same rules as charging and uncharging.
    // A refusal leaves it unchanged. The bytes of a charge whose reservation is gone belong to the
    // space. O(1).
    tl::expected<void, ChargeRefusal> recharge(Charge& charge, Bytes size);

    // Returns what `charge` holds, wherever it came from, and empties it. Uncharging an empty
    // charge has no effect. O(1) amortized (merged reservations are followed).
    void uncharge(Charge& charge);

    // Figures. O(1), under the lock.
    SpaceCounters counters() const;

    Bytes used() const;

    // How far it is above thresholds.
    SpacePressure pressure(const Thresholds& thresholds) const;

    // What could be allocated without a reservation.
    Bytes available() const;

    // And with that reservation: including its unused bytes. A reservation that is gone has none.
    Bytes available_to(ReservationId reservation) const;

    // What could be reserved.
    Bytes reservable() const;

    // Restarts the peak at what is used now.
    void reset_peak();

    // An existing reservation, or nothing. O(1).
    std::optional<ReservationFacts> find(ReservationId reservation) const;

    // Every existing reservation, in the order of the table: who holds what. O(reservations),
    // copied under the lock.
    std::vector<ReservationFacts> reservations() const;

    // Defaults for reservations that have no policy of their own, and for charges to the space;
    // null: ignore, rethrow.
    void set_over_reservation(OverReservation policy);
    void set_oom_policy(OomHandling policy);
    OomHandling oom_policy() const;

    // "gpu:0: 1.50 GiB of 2.00 GiB used (limit 1.80 GiB): 1.00 GiB allocated, 512 MiB unused in
    // 2 reservations".
    std::string text() const;

  private:
    friend class MemoryReservation;

    using Ledger = ReservationLedger;

    // What MemoryReservation does with an existing reservation.
    bool grow(ReservationId id, Bytes size);
    Bytes shrink(ReservationId id);
    std::optional<MemoryReservation> split(ReservationId id, Bytes size, OwnerId owner);
    void merge(ReservationId into, ReservationId from);
    void release(ReservationId id);
    void set_owner(ReservationId id, OwnerId owner);
    void set_policy(ReservationId id, OverReservation policy);
    void reset_peak(ReservationId id);

    // Where bytes come from. A new charge needs its reservation to exist; for more bytes of an old
    // charge, whoever pays for it now pays.
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
