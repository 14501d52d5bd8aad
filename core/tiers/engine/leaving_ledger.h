// LeavingLedger: what is about to leave each space, and for whom.
//
// A location that was given up is freed when the program's queued work on it has passed (a deferred
// free); a buffer that is being spilled leaves its source when the copy has ended. The *credit* is
// how much `used` of a space will fall by then: nothing for bytes of an existing reservation that
// isn't exceeded, nothing for memory that the store does not own (defect 27). A credit is claimed
// by one request for free bytes, or by nobody.
//
// Invariant, for each space: leaving = the sum of the credits of its deferred frees and of moves
// that evict from it; unclaimed = the part of it that nobody claims; FreeRequest::leaving = the
// part that the request claims.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/tiers/engine/spill_state.h"

namespace tidemark {

// A location that was given up, and the bytes that become free with it.
struct DeferredFree {
    std::uint64_t id = 0;
    std::size_t space = 0;
    std::optional<BlockLocation> location;
    Charge charge;
    std::vector<UsePoint> after;
    Bytes credit = 0;
    RequestId claim{};
    BufferId buffer{};
    BufferRef owner;          // whose range the location is at; else nobody
    bool makes_room = false;  // it left to make room, without a copy
    bool living = false;
    bool waiting = false;  // for `after`
};

// For whom something leaves.
struct OnBehalf {
    RequestId request = RequestId::none;  // for free bytes; none: nobody in particular
    ReservationId reservation = {};       // for which room is being made
    bool uncopied = false;                // as a victim whose bytes needn't be copied
};

// A deferred free whose queued work has to pass first.
struct WaitingFree {
    std::uint64_t deferred = 0;
    std::vector<UsePoint> after;
};

// "Free N bytes now", not answered yet.
struct FreeRequest {
    RequestId request{};
    std::size_t space = 0;
    Bytes leaving = 0;  // on its behalf
    bool any = true;    // whichever buffer; else what is leaving is all
    FreeReport report;
};

class LeavingLedger {
  public:
    explicit LeavingLedger(SpillState& state) : state_(state) {}

    // A location was given up: it becomes work as soon as its queued work has passed.
    void add(DeferredFree deferred);

    // The queued work has passed.
    void passed(std::uint64_t id);

    // The location was freed and its charge returned, which reduced `used` by `freed`. Returns the
    // space, if memory became free there.
    std::optional<std::size_t> left(std::uint64_t id, Bytes freed);

    // `credit` bytes are about to leave the space; or, after all, not.
    void note_leaving(std::size_t space, RequestId claim, Bytes credit);
    void note_staying(std::size_t space, RequestId claim, Bytes credit);

    // From now on the request claims what leaves its space and is claimed by nobody. `claimed_by`
    // is the claim of the deferred free or move.
    void claim(FreeRequest& request, RequestId& claimed_by, Bytes credit);

    std::vector<WaitingFree> waiting() const;

    // Deferred frees that have not left.
    std::size_t size() const { return deferred_.size() - unused_.size(); }

    // By id: existing ones and those to be reused.
    std::vector<DeferredFree>& deferred() { return deferred_; }

    const std::vector<DeferredFree>& deferred() const { return deferred_; }

    // In order of arrival.
    std::vector<FreeRequest>& requests() { return requests_; }

    // Null: it has been answered, or is RequestId::none.
    FreeRequest* find(RequestId request);

    bool anybody_waits() const { return !requests_.empty(); }

  private:
    void emit(const DeferredFree& deferred);
    Bytes* claimed(std::size_t space, RequestId claim);

    SpillState& state_;
    std::vector<DeferredFree> deferred_;
    std::vector<std::uint64_t> unused_;
    std::vector<std::uint64_t> waiting_;
    std::vector<FreeRequest> requests_;
};

}  // namespace tidemark
