// SpillState: what the parts of a spill engine share: the tables of buffers and spaces, the work to
// be carried out, and what has changed since the last decision. Records; their rules are in the
// headers of the parts (spill_engine.h lists them).
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "core/tiers/engine/fair_order.h"
#include "core/tiers/engine/spill_work.h"
#include "core/tiers/spaces/memory_space.h"

namespace tidemark {

// A valid copy, or a hollow one.
struct BufferCopy {
    std::size_t space = 0;
    BlockLocation location;
    Charge charge;
    bool owned = true;      // false: the program's memory
    bool resident = false;  // known to the policy of its space; else a spare
    bool held = false;      // users: counted in its space's
    bool hollow = false;    // made for a writer who has not come yet: the others hold the bytes
    bool small = false;     // resident, and known to the policy of small ones
    std::uint32_t users = 0;
    std::uint64_t stamp = 0;  // spares: the order in which they go
};

enum class MoveKind : std::uint8_t { create, spill, fetch };

enum class MoveStage : std::uint8_t {
    lining,   // in the line of its target
    making,   // charged; its location is being made
    copying,  // its copy is in flight
};

constexpr std::size_t kNoSpace = std::numeric_limits<std::size_t>::max();

struct BufferMove {
    std::uint64_t serial = 0;  // tells it from others of the same buffer
    MoveKind kind = MoveKind::spill;
    MoveStage stage = MoveStage::lining;
    std::size_t source = kNoSpace;  // none: nothing is copied
    std::size_t target = kNoSpace;
    std::vector<std::size_t> others;  // targets to be tried after that one
    bool evict = false;               // the source leaves when it's done
    bool cancelled = false;           // nobody wants the result
    bool polite = false;              // makes no room
    bool patient = false;
    bool writing = false;  // holds the buffer as its writer (overwrite); else as a reader
    bool ahead = false;    // a fetch that nobody has asked for
    RequestId claim{};     // evict: whom the bytes that come free are for
    ReservationId reservation;
    Bytes size = 0;  // of the buffer
    Charge charge;
    BlockLocation location;
    std::optional<CopyId> copy;
    std::uint32_t refusals = 0;    // of locations by the memory itself
    Bytes owed = 0;                // to be made free before the next try
    Bytes credit = 0;              // evict: what the source's space gets back
    ReservationId beneficiary;     // evict: which that is for
    std::size_t moving_index = 0;  // the moving
};

// A use that waits: which one of which group.
struct WaitingUse {
    std::uint32_t group = 0;
    std::uint32_t use = 0;
};

// How a buffer is held: readers share, a writer is alone, sharers write together, pins only keep it
// where it is.
struct BufferHold {
    std::uint32_t readers = 0;
    std::uint32_t pins = 0;
    std::uint32_t sharers = 0;
    bool writing = false;

    // Its bytes may change.
    bool written() const { return writing || sharers != 0; }

    bool try_read() {
        readers += written() ? 0U : 1U;
        return !written();
    }

    bool try_write() {
        const bool free = !written() && readers == 0;
        writing = writing || free;
        return free;
    }

    bool try_share() {
        const bool free = !writing && readers == 0;
        sharers += free ? 1U : 0U;
        return free;
    }
};

struct SpillBuffer {
    std::uint32_t generation = 0;
    bool living = false;
    bool doomed = false;  // destroyed, but a move has yet to end
    bool ended = false;   // forecasts know it no more
    bool barred = false;  // its last copy out failed: no victim until somebody asks for room anew
    bool may_spill = true;
    bool blank = false;   // nothing was written to it yet: its bytes needn't be anywhere
    bool ahead = false;   // fetched before it was asked for, and not used since
    bool passed = false;  // looked at and left, while others are looked for
    std::int32_t hint = 0;
    Bytes size = 0;
    std::size_t home = 0;       // the space that it was made for
    ReservationId reservation;  // of that space
    std::uint64_t touched = 0;  // operations of the program up to its last use
    std::uint64_t next_use = kUnknownUse;
    RequestId creation{};
    BufferHold hold;
    std::vector<BufferCopy> copies;  // by space: home first
    std::optional<BufferMove> move;
    std::vector<UsePoint> uses;  // work on it, per space and stream; passed or not
    std::vector<WaitingUse> waiting;
    std::shared_ptr<Gate> gate;                 // null: it is used through accesses alone
    std::shared_ptr<const AddressRange> range;  // null: anywhere
    std::size_t own_space = 0;                  // which these are of
    std::uint32_t departing = 0;                // locations at `range` that are still to be freed
    std::uint64_t seen_uses = 0;                // of the gate, when the policies last heard of them
    SpaceMask evicted_from = 0;

    BufferCopy* copy_in(std::size_t space) {
        for (BufferCopy& copy : copies)
            if (copy.space == space)
                return &copy;
        return nullptr;
    }

    const BufferCopy* copy_in(std::size_t space) const {
        return const_cast<SpillBuffer*>(this)->copy_in(space);
    }

    // Not while a writer is to come to one of several copies: the others will be void then.
    // Those who share it are all in one space.
    bool may_pin(std::size_t space) const {
        const bool others_stay = !hold.writing && (hold.sharers == 0 || copy_in(space)->users != 0);
        return others_stay || (copies.size() == 1 && !move);
    }

    bool try_pin(std::size_t space) {
        const bool may = may_pin(space);
        hold.pins += may ? 1U : 0U;
        return may;
    }

    bool pinned_in(std::size_t space) const {
        return gate && space == own_space && gate->state().pins != 0;
    }

    void set_moving_index(std::size_t among) {
        if (move)
            move->moving_index = among;
    }
};

struct LineEntry {
    std::uint32_t buffer = 0;
    std::uint64_t serial = 0;
};

// What looking ahead remembers of one space (look_ahead.h).
struct SpillAhead {
    std::uint64_t cursor = 0;                     // positions up to here are looked after
    std::uint64_t earliest_evicted = kNeverUsed;  // the next use of what left since the last look
    std::vector<std::uint32_t> evicted;           // not brought back yet, the latest last
    std::vector<std::uint32_t> fetched;           // on demand, since the last look
    Bytes wasted = 0;                             // of what was brought in ahead, so far
    double credit = 0;  // bytes fetched in the order that refilling expects, less those not
    int resting = 0;    // looks
    bool short_of_room = false;  // something is to come when room does
};

struct SpillSpace {
    MemorySpace* memory = nullptr;
    std::vector<std::size_t> slower;                           // where victims go, best first
    std::unique_ptr<VictimPolicy> policy;                      // null: nothing can leave by a copy
    std::unique_ptr<VictimPolicy> small_policy;                // of what is next to nothing
    std::set<std::pair<std::uint64_t, std::uint32_t>> spares;  // stamp, buffer
    std::deque<LineEntry> line;
    std::deque<LineEntry> parked;  // patient ones that couldn't be served
    bool spilling = false;
    bool background = false;  // ever spills in the background
    bool reserving = false;   // room is being made for a reservation
    Bytes leaving = 0;        // credits of what is on its way out,
    Bytes unclaimed = 0;      // and of these, for nobody in particular
    Bytes lined = 0;          // wanted by moves in line
    Bytes in_queued = 0;      // of copies that come in, in flight or before it
    Bytes out_queued = 0;     // and of those that go out
    Bytes charged = 0;        // by this engine
    Bytes held = 0;           // by those who have access, but for what reservations pay
    Bytes outside = 0;        // used by others, when that was last looked at
    Bytes live = 0;           // of buffers that were made for it, wherever they are
    Bytes small = 0;          // smaller buffers than this stay as long as others can leave,
    Bytes small_left = 0;     // while they hold less than so much more
    double in_rate = 0;       // bytes/ns of the way that evicted buffers come back by
    double out_rate = 0;      // and of the one that they leave by
    SpillAhead ahead;
    SpillCounters counters;

    VictimPolicy* policy_of(const BufferCopy& copy) const {
        return copy.small ? small_policy.get() : policy.get();
    }
};

struct SpillState {
    // `spaces` are those of `machine`, in its order.
    SpillState(const MachineSpec& machine, std::span<MemorySpace* const> spaces,
               SpillOptions options);

    // Null: it is gone.
    SpillBuffer* find(BufferRef ref);
    const SpillBuffer* find(BufferRef ref) const;
    BufferRef ref_of(std::uint32_t id) const;

    // Of the space in `spaces`; kNoSpace: the machine has none.
    std::size_t position(SpaceId space) const;

    // Bytes/ns of the way between two spaces: their link, or, where there is none, the best two by
    // way of a host; 0: there is no way.
    double rate(std::size_t source, std::size_t target) const;

    RequestId next_request() { return RequestId{++requests}; }

    void refuse(RequestId request, Error error);

    // If it has a gate, and the space is its own.
    void report(std::uint32_t id, std::size_t space, BufferEvent::Kind kind);

    // Buffers whose copy out failed may be tried again.
    void unbar();

    // Looks whether others than this engine gave memory of the spaces back: a reservation's end,
    // say.
    void look_outside();

    // Whether there is anything to decide, or to be carried out.
    bool restless() const {
        return changed || stirred || let_go || moved_on || room_came || !work.empty();
    }

    const MachineSpec& machine;
    SpillOptions options;
    std::vector<SpillSpace> spaces;    // in the machine's order
    std::vector<SpillBuffer> buffers;  // by id
    std::vector<double> rates;         // from each space to each
    std::vector<std::uint32_t> barred;
    SpillWork work;
    // Up to where a stream has been given work, for notes of gates. Called under the engine's lock.
    std::function<std::optional<UsePoint>(SpaceId, StreamId, bool wrote)> record;
    std::uint64_t requests = 0;
    std::uint64_t operations = 0;  // of the program: the policies' time
    bool changed = false;          // something was decided: look again
    bool stirred = false;          // room has come: patient creations are tried again
    bool let_go = false;           // somebody let go: parked groups are, too
    bool moved_on = false;         // the program did something: look ahead
    bool room_came = false;        // for what is to be brought back
    bool closing = false;
};

// What requests are answered when their buffer has ended, or the store is closing.
inline Error gone_error() {
    return {ErrorCode::not_found, "the buffer has ended", {}, {}};
}

inline Error closed_error() {
    return {ErrorCode::cancelled, "the store is closing", {}, {}};
}

// What `used` of its space falls by when `charge` is given back: less than its size if it was made
// through a reservation that lives. O(1), under the space's lock.
Bytes releasable(const Charge& charge);

}  // namespace tidemark
