// TierPlayer: a program played over tiers: its streams as actors, which take their steps at the
// recorded distances, ask a SpillEngine for what they need and wait for its answers. The stage
// carries out the copies and has the clock: the links of a simulated machine, or a real one.
//
// The stream whose next step comes first takes it. A step that must wait (for room, for content,
// for a reservation) delays its stream and everything that waits for that stream. tier_player.cpp
// has the order of steps, tier_player_steps.cpp what a step requests, tier_player_answers.cpp the
// results.
//
// Not thread-safe; plays once.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/tiers/store/spill_executor.h"
#include "replay/tiers/step_order.h"
#include "replay/tiers/tier_run.h"
#include "replay/tiers/tier_stage.h"
#include "replay/tiers/tier_timeline.h"

namespace tidemark {

class TierPlayer {
  public:
    // All must outlive it; `machine` has the scenario's sizes.
    TierPlayer(const TierProgram& program, const MachineSpec& machine, SpillOptions options,
               TierStage& stage, TierTimeline& timeline, TierRun& run);
    ~TierPlayer();

    // Fills the run, except for the fields that describe its inputs. Errors: cancelled.
    Result<void> play(const TierListeners& listeners);

  private:
    static constexpr std::uint32_t kNoStep = 0xffffffffU;
    static constexpr Nanoseconds kNotReached = -1;

    // What a stream waits for.
    enum class Wait : std::uint8_t { nothing, step, point, memory, reservation };

    struct Held {
        std::uint32_t task = 0;
        std::uint32_t number = 0;
        MemoryReservation reservation;
    };

    struct Actor {
        Nanoseconds clock = 0;
        std::uint32_t step = kNoStep;    // the next one
        std::uint32_t kernel = kNoStep;  // the one that runs, whose buffers it has
        bool holds = false;              // false: it runs without, because there is no room
        Nanoseconds kernel_begin = 0;
        // By tier, number of the reservation that its allocations are paid by.
        std::array<std::uint32_t, 3> held{kNoStep, kNoStep, kNoStep};
        Wait wait = Wait::nothing;
        std::uint64_t requested_at = 0;  // the number of the decision before its last request
        bool begun = false;              // its step was reached, and comes again
    };

    struct Buffer {
        BufferRef ref;
        bool alive = false;
        bool refused = false;  // its allocation: what uses it doesn't run
    };

    // A move that the program requested and that could not start at once.
    struct AwaitedMove {
        std::uint32_t buffer = 0;  // by the program's number
        BufferRef ref;
        Tier tier = Tier::gpu;
        std::uint32_t device = 0;
    };

    struct Turn {
        Nanoseconds when = 0;
        std::uint32_t step = 0;
        std::uint32_t stream = 0;

        friend bool operator>(const Turn& left, const Turn& right) {
            return left.when != right.when ? left.when > right.when : left.step > right.step;
        }
    };

    static SpaceId home_of(std::uint32_t device) {
        return {Tier::gpu, static_cast<std::int32_t>(device)};
    }

    // The order of steps.
    void plan_streams();
    void schedule(std::uint32_t stream);
    void advance(std::uint32_t stream);
    void step_done(std::uint32_t stream);
    bool parks(std::uint32_t stream);
    void park(std::uint32_t stream, std::uint32_t behind);
    void decide(bool stirred);
    bool wake_somebody();
    void begin(std::uint32_t stream);
    void take(std::uint32_t stream);
    void drain();
    void finish();

    // Steps. They end at once, or when an answer comes.
    void allocate(std::uint32_t stream, const TierStep& step);
    void free(std::uint32_t stream, const TierStep& step);
    void kernel(std::uint32_t stream, const TierStep& step);
    void record(std::uint32_t stream, const TierStep& step);
    void wait(std::uint32_t stream, const TierStep& step);
    void synchronize(std::uint32_t stream);
    void reserve(std::uint32_t stream, const TierStep& step);
    void release(std::uint32_t stream, const TierStep& step);
    void move(const TierStep& step);
    bool begin_move(const AwaitedMove& move);
    void begin_awaited_moves();
    std::vector<SpaceId> spaces_of(Tier tier, std::uint32_t device) const;
    std::vector<SpaceId> spaces_of(const TierStep& step) const;
    bool uses_refused(const TierStep& kernel) const;
    void end_kernel(std::uint32_t stream);
    bool uses(std::uint32_t kernel, std::uint32_t buffer) const;
    AccessSpec access_to(std::uint32_t stream, const TierStep& step) const;
    BufferSpec spec_of(std::uint32_t stream, const TierStep& step) const;
    void wait_for(std::uint32_t stream, RequestId request, Wait wait);

    // Answers.
    void answered(SpillAnswer& answer);
    void allocated(std::uint32_t stream, const SpillAnswer& answer);
    void gathered(std::uint32_t stream, const SpillAnswer* refusal);
    void reserved(std::uint32_t stream, SpillAnswer& answer);
    void run_kernel(std::uint32_t stream, const TierStep& step);
    bool at_once(std::uint32_t stream) const;
    void stall(std::uint32_t stream, Nanoseconds until, Nanoseconds& cause, SpanKind kind);
    void refuse(std::string what);
    void observe(const SpillWork& work);
    void note_levels();

    const TierProgram& program_;
    const MachineSpec& machine_;
    TierStage& stage_;
    TierTimeline& timeline_;
    TierRun& run_;
    const TierScenario& scenario_;
    std::vector<std::unique_ptr<MemorySpace>> spaces_;
    SpillEngine engine_;
    NoMutex mutex_;
    SpillExecutor<NoMutex> executor_;

    std::vector<Actor> streams_;
    std::vector<Buffer> buffers_;      // by the program's number
    std::vector<Nanoseconds> placed_;  // by BufferId: when its last location was made
    StepOrder order_;
    std::vector<std::uint32_t> next_step_;
    std::vector<bool> taken_;                             // by step; with several streams
    std::multimap<std::uint32_t, std::uint32_t> parked_;  // step, stream that waits for it
    std::priority_queue<Turn, std::vector<Turn>, std::greater<>> turns_;
    std::vector<Nanoseconds> points_;                            // when each was reached
    std::multimap<std::uint32_t, std::uint32_t> awaiting_;       // point, stream
    std::unordered_map<std::uint64_t, std::uint32_t> requests_;  // request, stream
    std::vector<Held> held_;
    std::vector<AwaitedMove> awaited_moves_;
    std::vector<Nanoseconds> waits_;
    std::vector<BufferUse> uses_;
    std::vector<StagedUse> staged_;
    std::uint32_t reservations_made_ = 0;
    std::uint64_t steps_done_ = 0;
    std::uint64_t decisions_ = 0;
    bool finished_ = false;
};

}  // namespace tidemark
