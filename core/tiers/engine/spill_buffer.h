// SpillBuffer: what an engine knows about one buffer: its state, its copies, its move, its holds.
// Records; moves.h (states), copy_table.h (copies) and holds.h (holds) say what may happen to them.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "core/tiers/engine/fair_order.h"
#include "core/tiers/engine/spill_work.h"
#include "core/tiers/spaces/memory_space.h"

namespace tidemark {

constexpr std::size_t kNoSpace = std::numeric_limits<std::size_t>::max();

// A buffer is in one of these states (moves.cpp has the transitions). From `waiting` to `copying`
// it has a move that somebody needs. A *clean* buffer has a copy in a slower tier too, or nothing
// worth keeping; otherwise it is *dirty*. Whether it is held (BufferHold) is separate from its
// state.
enum class BufferState : std::uint8_t {
    gone,        // no buffer has this id
    resident,    // its copies are where they are; a blank one may be nowhere
    waiting,     // in the queue of its move's target, for room
    parked,      // out of the queue, until memory becomes free
    allocating,  // charged to the target; its location is being made
    copying,     // in flight
    abandoned,   // allocating or copying, but nobody needs the result any longer
    ending,      // destroyed; gone as soon as nothing of it is in flight
};

// The role of a copy in its space: `resident` in the tier of the buffer's home, where the space's
// policy knows it (`small`: the policy of small ones), or a `spare` below.
enum class CopyRole : std::uint8_t { unknown, resident, small, spare };

struct BufferCopy {
    std::size_t space = 0;
    BlockLocation location;
    Charge charge;  // none: the program's memory
    CopyRole role = CopyRole::unknown;
    bool hollow = false;  // made for a writer who has not come yet: the others hold the bytes
    std::uint32_t users = 0;
    Bytes held = 0;           // counted in SpillSpace::held for the users
    std::uint64_t stamp = 0;  // spares: the order in which they are dropped

    bool owned() const { return static_cast<bool>(charge); }

    bool resident() const { return role == CopyRole::resident || role == CopyRole::small; }
};

enum class MoveKind : std::uint8_t {
    create,      // its first location
    evict,       // copied to a slower space, and the source is dropped
    write_back,  // as evict, but the source is in use meanwhile: it stays
    fetch,       // copied to where it is accessed; a blank one just gets a location
    overwrite,   // a location for a writer who needs no content
    ahead,       // as fetch, before any access
};

// What a move does if it finds no room.
enum class WhenFull : std::uint8_t {
    evict,          // others leave for it; refused if none can
    evict_or_wait,  // the same, but parked if none can
    refuse,         // takes what is free below the start of spilling
};

struct BufferMove {
    std::uint64_t serial = 0;  // distinguishes it from others of the same buffer
    MoveKind kind = MoveKind::fetch;
    WhenFull when_full = WhenFull::evict;
    std::size_t source = kNoSpace;  // none: nothing is copied
    std::size_t target = kNoSpace;
    std::vector<std::size_t> others;  // targets to try after that one
    RequestId request{};        // create: which one is answered; evict: who gets the freed bytes
    ReservationId reservation;  // which pays at the target
    ReservationId beneficiary;  // evict: who gets what becomes free
    Bytes size = 0;             // of the buffer
    Bytes credit = 0;           // evict: what becomes free in the source's space
    Charge charge;
    BlockLocation location;
    std::optional<CopyId> copy;
    std::uint32_t refusals = 0;    // of locations by the memory itself
    Bytes owed = 0;                // must become free before the next try
    std::size_t moving_index = 0;  // in Moves::moving()

    bool spills() const { return kind == MoveKind::evict || kind == MoveKind::write_back; }

    bool fetches() const { return kind != MoveKind::create && !spills(); }

    bool evicts_from(std::size_t space) const { return kind == MoveKind::evict && source == space; }
};

// A use that waits: which one of which group.
struct WaitingUse {
    std::uint32_t group = 0;
    std::uint32_t use = 0;

    friend bool operator==(const WaitingUse&, const WaitingUse&) = default;
};

// How a buffer is held: readers share, a writer is alone, sharers write together, pins only keep it
// where it is.
struct BufferHold {
    std::uint32_t readers = 0;
    std::uint32_t pins = 0;
    std::uint32_t sharers = 0;
    std::uint32_t writers = 0;  // 1 at most

    // Its bytes may change.
    bool written() const { return writers != 0 || sharers != 0; }
};

// Why a buffer is not a victim for now.
enum class SetAside : std::uint8_t {
    no,
    failed,  // its last copy out failed: until the next request for room
    passed,  // LookAhead has looked at it and continues
};

struct SpillBuffer {
    BufferState state = BufferState::gone;
    std::uint32_t generation = 0;
    SetAside set_aside = SetAside::no;
    bool may_spill = true;
    bool blank = false;  // nothing was written to it yet: its bytes needn't be anywhere
    bool ahead = false;  // fetched before it was accessed, and not accessed since
    std::int32_t hint = 0;
    Bytes size = 0;
    std::size_t home = 0;       // the space that it was made for, or was last used in on a GPU
    ReservationId reservation;  // of that space
    std::uint64_t touched = 0;  // operations of the program up to its last use
    std::uint64_t next_use = kUnknownUse;
    BufferHold hold;
    std::vector<BufferCopy> copies;  // by space: home first
    std::optional<BufferMove> move;
    std::vector<UsePoint> uses;  // work on it, per space and stream; passed or not
    std::vector<WaitingUse> waiting;
    std::shared_ptr<Gate> gate;                 // null: it is used only through accesses
    std::shared_ptr<const AddressRange> range;  // null: anywhere
    std::size_t own_space = 0;                  // the space of these
    std::uint32_t range_taken = 0;              // locations at `range` that are still to be freed
    std::uint64_t seen_uses = 0;                // of the gate, when the policies last heard of them
    SpaceMask evicted_from = 0;                 // whose policies remember it

    bool living() const { return state != BufferState::gone; }

    // The program may still use it.
    bool usable() const { return living() && state != BufferState::ending; }

    bool lines_up() const { return state == BufferState::waiting || state == BufferState::parked; }

    // A move that somebody needs is on its way to the space.
    bool coming_to(std::size_t space) const {
        return move && move->target == space && state != BufferState::abandoned &&
               state != BufferState::ending;
    }

    BufferCopy* copy_in(std::size_t space) {
        for (BufferCopy& copy : copies)
            if (copy.space == space)
                return &copy;
        return nullptr;
    }

    const BufferCopy* copy_in(std::size_t space) const {
        return const_cast<SpillBuffer*>(this)->copy_in(space);
    }

    bool pinned_in(std::size_t space) const {
        return gate && space == own_space && gate->state().pins != 0;
    }
};

}  // namespace tidemark
