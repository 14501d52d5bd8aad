// What the spill engine keeps of buffers, their copies and moves, and of spaces. Plain records;
// their rules are the engine's (spill_engine.h).
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "core/tiers/engine/fair_order.h"
#include "core/tiers/engine/tiered_buffer.h"
#include "core/tiers/engine/transfer.h"
#include "core/tiers/spaces/memory_space.h"

namespace tidemark {

enum class RequestId : std::uint64_t { none = 0 };

// A valid copy, or a hollow one.
struct BufferCopy {
    std::size_t space = 0;
    Place place;
    Bytes stored = 0;  // bytes of the buffer there: its size, or what its representation takes
    Charge charge;
    bool encoded = false;
    bool owned = true;      // false: the program's memory
    bool resident = false;  // known to the policy of its space; else a spare
    bool held = false;      // users: counted in its space's
    bool hollow = false;    // made for a writer who has not come yet: the others hold the bytes
    std::uint32_t users = 0;
    std::uint64_t stamp = 0;  // spares: the order in which they go
};

enum class MoveKind : std::uint8_t { create, spill, fetch, upgrade };

enum class MoveStage : std::uint8_t {
    lining,   // in the line of its target
    making,   // charged; its place is being made
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
    Bytes size = 0;  // of the place
    Recoding recoding = Recoding::none;
    Charge charge;
    Place place;
    std::optional<CopyId> copy;
    std::uint32_t refusals = 0;   // of places by the memory itself
    Bytes owed = 0;               // to be made free before the next try
    Bytes credit = 0;             // evict: what the source's space gets back
    ReservationId asking;         // evict: which that is for
    std::size_t place_among = 0;  // the moving
};

// A use that waits: which one of which group.
struct WaitingUse {
    std::uint32_t group = 0;
    std::uint32_t use = 0;
};

// Accesses that are granted together; one alone is a group of one.
struct AccessGroup {
    struct Use {
        UseWish wish;
        bool granted = false;
    };

    RequestId request = RequestId::none;  // none: this one is free
    AccessSpec spec;
    std::size_t space = 0;
    std::vector<Use> uses;
    std::uint32_t missing = 0;  // not granted yet
    bool parked = false;        // holds nothing, until something was let go
};

// How a buffer is held: readers share, a writer is alone, pins only keep it where it is.
struct BufferHold {
    std::uint32_t readers = 0;
    std::uint32_t pins = 0;
    bool writing = false;

    bool try_read() {
        readers += writing ? 0U : 1U;
        return !writing;
    }

    bool try_write() {
        const bool free = !writing && readers == 0;
        writing = writing || free;
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
    std::shared_ptr<const Representation> representation;
    Tier stored_from = Tier::host;
    RequestId creation{};
    BufferHold hold;
    std::vector<BufferCopy> copies;  // by space: home first
    std::optional<BufferMove> move;
    std::vector<UsePoint> uses;  // work on it, per space and stream; passed or not
    std::vector<WaitingUse> waiting;
    SpaceMask evicted_from = 0;
    std::size_t gone_from = kNoSpace;  // the space in whose `gone` it is
    std::uint64_t gone_stamp = 0;

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
    bool may_pin() const { return !hold.writing || (copies.size() == 1 && !move); }

    bool try_pin() {
        hold.pins += may_pin() ? 1U : 0U;
        return may_pin();
    }

    void move_place(std::size_t among) {
        if (move)
            move->place_among = among;
    }
};

// A place that was given up, and bytes that come free with it.
struct PlaceDeparture {
    std::uint64_t id = 0;
    std::size_t space = 0;
    std::optional<Place> place;
    Charge charge;
    std::vector<UsePoint> after;
    Bytes credit = 0;
    RequestId claim{};
    BufferId buffer{};
    bool makes_room = false;  // it left for that, without a copy
    bool living = false;
    bool waiting = false;  // for `after`
};

struct FreeRequest {
    RequestId request{};
    std::size_t space = 0;
    Bytes leaving = 0;  // on its behalf
    FreeReport report;
};

struct WaitingReservation {
    RequestId request{};
    ReservationWish wish;
    std::vector<std::size_t> spaces;
};

struct LineEntry {
    std::uint32_t buffer = 0;
    std::uint64_t serial = 0;
};

class SpillEngine;

// The engine, as the policy of one space sees it.
class SpaceResidents final : public Residents {
  public:
    SpaceResidents(const SpillEngine& engine, std::size_t space) : engine_(engine), space_(space) {}

    bool may_leave(BufferId id) const override;
    BufferFacts facts(BufferId id) const override;

  private:
    const SpillEngine& engine_;
    std::size_t space_;
};

// What looking ahead remembers of one space (spill_ahead.cpp).
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
    std::vector<std::size_t> slower;  // where victims go, best first
    std::unique_ptr<SpaceResidents> residents;
    std::unique_ptr<VictimPolicy> policy;                      // null: nothing can leave by a copy
    std::set<std::pair<std::uint64_t, std::uint32_t>> spares;  // stamp, buffer
    std::set<std::tuple<std::int32_t, std::uint64_t, std::uint32_t>> gone;  // hint, stamp, buffer
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
    Bytes small = 0;          // smaller buffers than this stay as long as others can leave
    double in_rate = 0;       // bytes/ns of the way that evicted buffers come back by
    double out_rate = 0;      // and of the one that they leave by
    SpillAhead ahead;
    SpillCounters counters;
};

}  // namespace tidemark
