// ArenaLayout: where the requests of one capture go in their arena. By plan as far as they come as
// planned, and upwards, never twice, where they do not.
//
// A plan is a promise about requests and lifetimes, made by a dry run; a program may break it. So a
// planned place is given only if nobody lives there, and if all who lived there were let go on the
// same stream, or on streams that are known (edge) to be done before. Any other request takes fresh
// bytes above the plan, and is counted as a deviation. Without a plan all do: a bump arena.
//
// It knows addresses, not memory: choose() says where a request would go, the caller sees to it
// that there is memory, and take() makes it so.
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

    // A place for a request.
    struct Placement {
        Address address = Address::null;
        Bytes size = 0;                      // rounded up to units
        std::uint32_t planned = kUnplanned;  // which of the expected requests it was taken for
    };

    // Everything goes upwards from `floor`, an address below kLargestRequest.
    explicit ArenaLayout(Address floor);

    ArenaLayout() : ArenaLayout(Address::null) {}

    // The requests `expected` go where `plan`, made for them, says; counted from `floor`.
    ArenaLayout(Address floor, const Plan& plan, std::span<const PlannedAllocation> expected);

    // The place that `request` would get. `request.size` is below kLargestRequest.
    Placement choose(const Request& request) const;

    // As choose(), but never by plan.
    Placement choose_above(const Request& request) const;

    // Gives the place that one of them has just named for the request.
    void take(const Request& request, const Placement& placement);

    // Nobody uses what begins at `address` any more, after what `users` have queued so far. Says
    // whether it was live.
    BumpArena::Freed give(Address address, std::span<const StreamId> users);

    // What is not given by plan goes to `address` or above, from now on.
    void skip_to(Address address);

    // What `to` does from now on runs after all that `from` did so far.
    void edge(StreamId from, StreamId to) { clocks_.edge(++position_, from, to); }

    // Where the bytes end that were ever handed out.
    Address high_water() const { return high_water_; }

    bool planned() const { return !expected_.empty(); }

    // Requests that did not come as planned; 0 without a plan.
    std::uint64_t deviations() const { return deviations_; }

  private:
    // A planned place that is or was somebody's.
    struct Occupant {
        Address end = Address::null;
        bool live = false;
        std::uint32_t freed_at = 0;
        std::vector<StreamId> users;  // who may use it until then
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
