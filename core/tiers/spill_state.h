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

#include "core/tiers/buffer_lock.h"
#include "core/tiers/fair_order.h"
#include "core/tiers/memory_space.h"
#include "core/tiers/tiered_buffer.h"
#include "core/tiers/transfer.h"

namespace tidemark {

enum class RequestId : std::uint64_t { none = 0 };

// A valid copy.
struct BufferCopy {
    std::size_t space = 0;
    Place place;
    Bytes stored = 0;  // bytes of the buffer there: its size, or what its representation takes
    Charge charge;
    bool encoded = false;
    bool owned = true;      // false: the program's memory
    bool resident = false;  // known to the policy of its space; else a spare
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
    bool writing = false;  // holds the lock as the writer (overwrite); else as a reader
    RequestId claim{};     // evict: whom the bytes that come free are for
    ReservationId reservation;
    Bytes size = 0;  // of the place
    Recoding recoding = Recoding::none;
    Charge charge;
    Place place;
    std::optional<CopyId> copy;
    std::uint32_t refusals = 0;  // of places by the memory itself
    Bytes owed = 0;              // to be made free before the next try
};

struct WaitingAccess {
    RequestId request{};
    std::size_t space = 0;
    AccessSpec spec;
};

struct SpillBuffer {
    std::uint32_t generation = 0;
    bool living = false;
    bool doomed = false;  // destroyed, but a move has yet to end
    bool barred = false;  // its last copy out failed: no victim until somebody asks for room anew
    bool may_spill = true;
    std::int32_t hint = 0;
    Bytes size = 0;
    std::uint64_t next_use = kUnknownUse;
    std::shared_ptr<const Representation> representation;
    Tier stored_from = Tier::host;
    RequestId creation{};
    BufferLock lock;
    std::vector<BufferCopy> copies;  // by space: home first
    std::optional<BufferMove> move;
    std::vector<UsePoint> uses;  // work on it, per space and stream; passed or not
    std::vector<WaitingAccess> waiting;
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
    bool waiting = false;  // for `after`
};

struct FreeRequest {
    RequestId request{};
    std::size_t space = 0;
    FreeReport report;
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
    SpillCounters counters;
};

}  // namespace tidemark
