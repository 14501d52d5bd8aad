// SpillState: shared by the parts of a spill engine: the tables of buffers and spaces, what has
// happened (agenda.h) and the work to carry out. Records; their rules are in the headers of the
// parts (spill_engine.h lists them).
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "core/tiers/engine/agenda.h"
#include "core/tiers/engine/spill_buffer.h"

namespace tidemark {

struct LineEntry {
    std::uint32_t buffer = 0;
    std::uint64_t serial = 0;
};

// What looking ahead remembers of one space (look_ahead.h).
struct SpillAhead {
    std::uint64_t cursor = 0;                     // positions up to here have been handled
    std::uint64_t earliest_evicted = kNeverUsed;  // the next use of what left since the last look
    std::vector<std::uint32_t> evicted;           // not brought back yet, the latest last
    std::vector<std::uint32_t> fetched;           // on demand, since the last look
    Bytes wasted = 0;                             // of what was brought in ahead, so far
    double credit = 0;  // bytes fetched in the order that refilling expects, less those not
    int resting = 0;    // looks
    bool short_of_room = false;  // something will come when there is room
};

struct SpillSpace {
    MemorySpace* memory = nullptr;
    std::vector<std::size_t> slower;                           // where victims go, best first
    std::unique_ptr<VictimPolicy> policy;                      // null: nothing can leave by a copy
    std::unique_ptr<VictimPolicy> small_policy;                // for tiny buffers
    std::set<std::pair<std::uint64_t, std::uint32_t>> spares;  // stamp, buffer
    std::deque<LineEntry> line;
    std::deque<LineEntry> parked;
    bool background = false;  // ever spills in the background
    bool spilling = false;    // in the background
    bool reserving = false;   // room is being made for a reservation
    Bytes leaving = 0;        // credits of what is about to leave,
    Bytes unclaimed = 0;      // and of these, for nobody in particular
    Bytes lined = 0;          // needed by moves in the queue, or parked
    Bytes in_queued = 0;      // of copies that come in, in flight or before it
    Bytes out_queued = 0;     // and of those that go out
    Bytes charged = 0;        // by this engine
    Bytes held = 0;           // by those who have access, except what reservations pay for
    Bytes outside = 0;        // used by others, when that was last looked at
    Bytes live = 0;           // of buffers that were made for it, wherever they are
    Bytes small = 0;          // smaller buffers than this stay as long as others can leave,
    Bytes small_left = 0;     // while together they hold less than this
    double in_rate = 0;       // bytes/ns of the way that evicted buffers come back by
    double out_rate = 0;      // and of the one that they leave by
    SpillAhead ahead;
    SpillCounters counters;

    VictimPolicy* policy_of(const BufferCopy& copy) const {
        return copy.role == CopyRole::small ? small_policy.get() : policy.get();
    }
};

struct SpillState {
    // `spaces` are those of `machine`, in its order.
    SpillState(const MachineSpec& machine, std::span<MemorySpace* const> spaces,
               SpillOptions options);

    // Null: it is gone; or (usable) it is ending.
    SpillBuffer* find(BufferRef ref);
    const SpillBuffer* find(BufferRef ref) const;
    SpillBuffer* find_usable(BufferRef ref);
    BufferRef ref_of(std::uint32_t id) const;

    // Of the space in `spaces`; kNoSpace: the machine has none.
    std::size_t position(SpaceId space) const;

    // Bytes/ns of the way between two spaces: their link or, without one, the best two via a host;
    // 0: there is no way.
    double rate(std::size_t source, std::size_t target) const;

    RequestId next_request() { return RequestId{++requests}; }

    void refuse(RequestId request, Error error);

    // If it has a gate, and the space is its own.
    void report(std::uint32_t id, std::size_t space, BufferEvent::Kind kind);

    // Not a victim until retry_failed(), since its copy out failed. The next request for room calls
    // that.
    void set_failed_aside(std::uint32_t id);
    void retry_failed();

    // Checks whether others than this engine freed memory of the spaces, for example when a
    // reservation ended.
    void look_outside();

    const MachineSpec& machine;
    SpillOptions options;
    std::vector<SpillSpace> spaces;     // in the machine's order
    std::vector<SpillBuffer> buffers;   // by id
    std::vector<double> rates;          // from each space to each
    std::vector<std::uint32_t> failed;  // set aside
    Agenda agenda;
    SpillWork work;
    std::uint64_t requests = 0;
    std::uint64_t operations = 0;  // of the program: the policies' time
    bool closing = false;
};

// The answer to requests whose buffer has ended, or when the store is closing.
inline Error gone_error() {
    return {ErrorCode::not_found, "the buffer has ended", {}, {}};
}

inline Error closed_error() {
    return {ErrorCode::cancelled, "the store is closing", {}, {}};
}

// How much `used` of its space falls when `charge` ends: less than its size if it was made through
// an existing reservation. O(1), under the space's lock.
Bytes releasable(const Charge& charge);

}  // namespace tidemark
