// TierPlayer: one replay over tiers at work: the streams as actors on the virtual clock, and what
// they wait for. tier_replay.cpp has the order of steps, tier_player_steps.cpp what a step does to
// memory, tier_player_tasks.cpp reservations.
//
// Not thread-safe; plays once.
#pragma once

#include <functional>
#include <map>
#include <queue>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/tiers/fair_order.h"
#include "replay/tiers/look_ahead.h"
#include "replay/tiers/step_order.h"
#include "replay/tiers/tier_memory.h"
#include "replay/tiers/tier_run.h"

namespace tidemark {

class TierPlayer {
  public:
    TierPlayer(const TierProgram& program, const TierStand& stand, bool look_ahead, TierRun& run);

    void play(const TierProgress& progress);

  private:
    static constexpr std::uint32_t kNoStep = 0xffffffffU;
    static constexpr Nanoseconds kNotReached = -1;

    struct Actor {
        Nanoseconds clock = 0;
        std::uint32_t step = kNoStep;    // the next one
        std::uint32_t kernel = kNoStep;  // the one that runs, whose buffers are pinned
        Nanoseconds kernel_begin = 0;
        std::uint32_t reservation = TierMemory::kNoTask;  // that its allocations are charged to
        bool blocked = false;                             // for a reservation, or a point
        bool postponed = false;                           // its step has begun and comes again
        std::uint64_t crowded_at = 0;  // steps taken, and one, when its kernel had to wait
    };

    struct Reservation {
        std::uint32_t task = 0;
        std::uint32_t number = 0;
        std::uint32_t stream = 0;
    };

    // What a kernel used, and what of it was there in time, or on its way.
    struct UsedBytes {
        Bytes used = 0;
        Bytes hit = 0;
        Bytes late = 0;
    };

    static SpaceId home_of(std::uint32_t device) {
        return {Tier::gpu, static_cast<std::int32_t>(device)};
    }

    // Lists for each step the next one of its stream.
    void plan_streams();

    // Whose next step comes first by its planned time, then by the recorded order.
    void schedule(std::uint32_t stream);

    void advance(std::uint32_t stream);

    bool next_actor();

    // Whether another stream must take a step first, which then wakes this one.
    bool parks(Actor& actor);

    // Its step has been taken: whoever waits for that looks again.
    void taken(const Actor& actor);

    // When the last of those who can go on does.
    Nanoseconds latest_turn() const;

    // The stream reaches its next step: what it ran until now is over.
    void begin(Actor& actor, const TierStep& step);

    void end_kernel(Actor& actor, std::uint32_t stream);

    void take(Actor& actor, const TierStep& step);

    void record(Actor& actor, const TierStep& step);

    // The point comes earlier in the recorded order, but its stream may have been held up.
    void wait(Actor& actor, const TierStep& step);

    // Comes again when the streams that have steps before this one have taken them.
    void synchronize(Actor& actor);

    void refuse(std::string what);

    void allocate(Actor& actor, const TierStep& step);

    // By the over-reservation policy. Grows the reservation if it says so.
    bool may_exceed(const Actor& actor, const TierStep& step);

    void stall(Actor& actor, Nanoseconds until, Nanoseconds& cause, SpanKind kind);

    void free(Actor& actor, const TierStep& step);

    bool uses(std::uint32_t kernel, BufferId id) const;

    void kernel(Actor& actor, const TierStep& step);

    // Whether a kernel that doesn't fit should wait for others, which may give room back that they
    // hold on to by kernels that run and by reservations. Not if nothing has happened since it last
    // did.
    bool others_may_help(Actor& actor);

    void execute(const TierStep& step);

    // Sees to it that one buffer of a kernel is there. False: no room for it.
    bool gather(const TierUse& use, Nanoseconds planned, Arrival& latest, UsedBytes& seen);

    void touch(const TierUse& use, std::uint32_t place, Nanoseconds now);

    void look_ahead(const Actor& actor, std::uint32_t device);

    // Hysteresis: begins above one threshold and goes on to the other.
    void spill_ahead(const Actor& actor, std::uint32_t device);

    void reserve(Actor& actor, const TierStep& step);

    // Tries to serve a stream that waits. Gives the spaces that it took memory from.
    SpaceMask serve(std::uint32_t stream, SpaceMask open, Nanoseconds now);

    void granted_to(Actor& actor, const Reservation& made, Nanoseconds waited);

    // Somebody gave memory back at `now`: whoever waits and fits goes on.
    void serve_waiting(Nanoseconds now);

    std::vector<std::uint32_t> waiting_streams() const;

    // Everybody waits for a reservation and nobody is left to give one back: the first goes on
    // without.
    void break_deadlock();

    void release(Actor& actor, const TierStep& step);

    // The program's own wish: what it moves down leaves first from then on, what it moves up stays.
    void move(Actor& actor, const TierStep& step);

    void finish();

    struct Turn {
        Nanoseconds when = 0;
        std::uint32_t step = 0;
        std::uint32_t stream = 0;

        friend bool operator>(const Turn& left, const Turn& right) {
            return left.when != right.when ? left.when > right.when : left.step > right.step;
        }
    };

    const TierProgram& program_;
    TierStand stand_;
    TierRun& run_;
    const TierScenario& scenario_;
    TierMemory memory_;
    std::vector<LookAhead> ahead_;  // by device; none: on demand only
    Thresholds thresholds_;
    std::vector<Actor> streams_;
    StepOrder order_;
    std::vector<std::uint32_t> next_step_;
    std::vector<bool> taken_;                             // by step; with several streams
    std::multimap<std::uint32_t, std::uint32_t> parked_;  // step, stream that waits for it
    std::priority_queue<Turn, std::vector<Turn>, std::greater<>> turns_;
    std::uint32_t current_ = 0;
    Nanoseconds turn_ = 0;  // when the current stream's turn came
    std::uint64_t taken_count_ = 0;
    std::vector<Nanoseconds> points_;                       // when each was reached
    std::multimap<std::uint32_t, std::uint32_t> awaiting_;  // point, stream
    std::vector<Bytes> live_;                               // by device
    FairOrder<std::uint32_t> waiting_;
    std::unordered_map<std::uint32_t, Reservation> pending_;  // of waiting streams
    std::vector<Reservation> held_;
    std::vector<Nanoseconds> waits_;
    std::uint32_t reservations_made_ = 0;
    std::uint64_t operations_ = 0;
};

}  // namespace tidemark
