// ArenaLayout: where the requests of one capture go in their arena. Requests that match the plan
// follow it; all others get increasing addresses, each only once.
//
// A plan is a prediction of requests and lifetimes, made by a dry run; a program may deviate. So a
// planned address is granted only if no live block has it, and if everything that was there before
// was freed on the same stream, or on streams that are known (edge) to finish before. Any other
// request takes fresh bytes above the plan, and is counted as a deviation. Without a plan all do: a
// bump arena.
//
// It handles addresses, not memory: choose() says where a request would go, the caller makes sure
// that memory exists there, and take() grants it.
//
// A value; not thread-safe. O(log allocations) a call.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "core/allocator/allocator.h"
#include "core/capture/bump_arena.h"
#include "core/capture/planner.h"
#include "core/capture/stream_clocks.h"

namespace tidemark {

class ArenaLayout {
  public:
    static constexpr Bytes kUnit = BumpArena::kUnit;
    static constexpr std::uint32_t kUnplanned = 0xffffffffU;

    // An address for a request.
    struct Placement {
        Address address = Address::null;
        Bytes size = 0;                      // rounded up to units
        std::uint32_t planned = kUnplanned;  // the expected request that it was matched with
    };

    // Without a plan: increasing addresses from `floor`, which is below kLargestRequest.
    explicit ArenaLayout(Address floor);

    ArenaLayout() : ArenaLayout(Address::null) {}

    // The requests `expected` go where `plan`, made for them, says, relative to `floor`.
    ArenaLayout(Address floor, const Plan& plan, std::span<const PlannedAllocation> expected);

    // The address that `request` would get. `request.size` is below kLargestRequest.
    Placement choose(const Request& request) const;

    // As choose(), but never by plan.
    Placement choose_above(const Request& request) const;

    // Grants the address that one of them has just returned for the request.
    void take(const Request& request, const Placement& placement);

    // Nobody uses what begins at `address` any longer, after the work that `users` have queued so
    // far. Returns whether it was live.
    BumpArena::Freed give(Address address, std::span<const StreamId> users);

    // From now on, whatever is not granted by plan goes to `address` or above.
    void skip_to(Address address);

    // What `to` does from now on runs after everything that `from` did so far.
    void edge(StreamId from, StreamId to) { clocks_.edge(++position_, from, to); }

    // The end of all bytes that were ever handed out.
    Address high_water() const { return high_water_; }

    bool planned() const { return !expected_.empty(); }

    // Requests that deviated from the plan; 0 without a plan.
    std::uint64_t deviations() const { return deviations_; }

  private:
    // A planned range that is or was in use.
    struct Occupant {
        Address end = Address::null;
        bool live = false;
        std::uint32_t freed_at = 0;
        std::vector<StreamId> users;  // who may use it until it is reused
    };

    using Occupants = std::map<Address, Occupant>;

    std::uint32_t find_expected(const Request& request) const;
    bool is_clear(Address begin, Address end, StreamId stream) const;
    void vacate(Address begin, Address end);
    Occupants::iterator split_at(Address address);

    Address floor_;
    std::vector<PlannedAllocation> expected_;
    std::vector<Bytes> offsets_;
    std::uint32_t next_ = 0;  // of expected_
    Occupants occupants_;     // by address, below the plan's height
    BumpArena above_;
    StreamClocks clocks_;
    std::uint32_t position_ = 0;
    Address high_water_;
    std::uint64_t deviations_ = 0;
};

}  // namespace tidemark
