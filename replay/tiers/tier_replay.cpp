// The replay: streams as actors on the virtual clock, over the memory of tier_memory.h.
#include "replay/tiers/tier_replay.h"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <unordered_map>

#include <fmt/format.h>

#include "core/base/stopwatch.h"
#include "core/base/text.h"
#include "core/tiers/fair_order.h"
#include "core/tiers/learned_forecast.h"
#include "replay/tiers/look_ahead.h"
#include "replay/tiers/oracle_forecast.h"
#include "replay/tiers/tier_memory.h"

namespace tidemark {
namespace {

constexpr std::size_t kShownRefusals = 8;
constexpr std::uint32_t kNoStep = 0xffffffffU;
constexpr Nanoseconds kNotReached = -1;
constexpr std::uint64_t kProgressSteps = 1U << 16U;

class TierReplay {
  public:
    TierReplay(const TierProgram& program, const TierStand& stand, bool look_ahead, TierRun& run)
        : program_(program),
          stand_(stand),
          run_(run),
          scenario_(run.scenario),
          memory_(stand, program.buffers, run.scenario.keep_copies),
          streams_(program.streams),
          points_(program.records, kNotReached),
          live_(program.devices) {
        if (stand.forecast != nullptr && look_ahead)
            for (std::uint32_t device = 0; device < program.devices; ++device)
                ahead_.emplace_back(memory_, stand.links, *stand.forecast, home_of(device));
        thresholds_ = stand.machine.space(home_of(0))->thresholds();
    }

    void play(const TierProgress& progress) {
        plan_streams();
        std::uint64_t done = 0;
        while (next_actor()) {
            Actor& actor = streams_[current_];
            const TierStep& step = program_.steps[actor.step];
            if (!actor.postponed)
                begin(actor, step);
            actor.postponed = false;
            take(actor, step);
            if (actor.postponed)
                turns_.push({latest_turn(), actor.step, current_});
            else if (!actor.blocked)
                advance(current_);
            if (++done % kProgressSteps == 0 && progress)
                progress(done);
        }
        finish();
    }

  private:
    struct Actor {
        Nanoseconds clock = 0;
        std::uint32_t step = kNoStep;    // the next one
        std::uint32_t kernel = kNoStep;  // the one that runs, whose buffers are pinned
        Nanoseconds kernel_begin = 0;
        std::uint32_t reservation = TierMemory::kNoTask;  // that its allocations are charged to
        bool blocked = false;                             // for a reservation, or a point
        bool postponed = false;                           // its step has begun and comes again
    };

    struct Reservation {
        std::uint32_t task = 0;
        std::uint32_t number = 0;
        std::uint32_t stream = 0;
    };

    static SpaceId home_of(std::uint32_t device) {
        return {Tier::gpu, static_cast<std::int32_t>(device)};
    }

    // Lists for each step the next one of its stream.
    void plan_streams() {
        next_step_.resize(program_.steps.size(), kNoStep);
        std::vector<std::uint32_t> last(program_.streams, kNoStep);
        for (std::uint32_t i = 0; i < program_.steps.size(); ++i) {
            const std::uint32_t stream = program_.steps[i].stream;
            if (last[stream] == kNoStep)
                streams_[stream].step = i;
            else
                next_step_[last[stream]] = i;
            last[stream] = i;
        }
        for (std::uint32_t stream = 0; stream < program_.streams; ++stream)
            schedule(stream);
    }

    // Whose next step comes first by its planned time, then by the recorded order.
    void schedule(std::uint32_t stream) {
        const Actor& actor = streams_[stream];
        if (actor.step != kNoStep)
            turns_.push({actor.clock + program_.steps[actor.step].gap, actor.step, stream});
    }

    void advance(std::uint32_t stream) {
        Actor& actor = streams_[stream];
        actor.step = next_step_[actor.step];
        if (program_.streams > 1)
            schedule(stream);
    }

    bool next_actor() {
        if (program_.streams == 1) {
            if (streams_[0].blocked)
                break_deadlock();
            return streams_[0].step != kNoStep;
        }
        while (turns_.empty() && !waiting_.empty())
            break_deadlock();  // who waits for a point waits for one of those
        if (turns_.empty())
            return false;
        current_ = turns_.top().stream;
        turns_.pop();
        return true;
    }

    // When the last of those who can go on does.
    Nanoseconds latest_turn() const {
        Nanoseconds latest = 0;
        for (const Actor& other : streams_)
            if (other.step != kNoStep && !other.blocked)
                latest = std::max(latest, other.clock + program_.steps[other.step].gap);
        return latest;
    }

    // The stream reaches its next step: what it ran until now is over.
    void begin(Actor& actor, const TierStep& step) {
        actor.clock += step.gap;
        end_kernel(actor, current_);
        if (stand_.executor != nullptr)
            stand_.executor->reached(current_, step.gap);
    }

    void end_kernel(Actor& actor, std::uint32_t stream) {
        if (actor.kernel == kNoStep)
            return;
        const TierStep& kernel = program_.steps[actor.kernel];
        for (std::uint32_t i = kernel.first; i < kernel.first + kernel.count; ++i) {
            memory_.busy_until(program_.uses[i].buffer, actor.clock);
            memory_.unpin(program_.uses[i].buffer);
        }
        stand_.timeline.add(SpanKind::kernel, stream, actor.kernel_begin, actor.clock);
        actor.kernel = kNoStep;
    }

    void take(Actor& actor, const TierStep& step) {
        switch (step.kind) {
            case StepKind::allocate:
                return allocate(actor, step);
            case StepKind::free:
                return free(actor, step);
            case StepKind::kernel:
                return kernel(actor, step);
            case StepKind::record:
                return record(actor, step);
            case StepKind::wait:
                return wait(actor, step);
            case StepKind::synchronize:
                return synchronize(actor);
            case StepKind::reserve:
                return reserve(actor, step);
            case StepKind::release:
                return release(actor, step);
            case StepKind::move:
                return move(actor, step);
            case StepKind::mark:
                if (stand_.forecast != nullptr)
                    stand_.forecast->marked(step.value);
                return;
        }
    }

    void record(Actor& actor, const TierStep& step) {
        points_[step.value] = actor.clock;
        const auto [first, last] = awaiting_.equal_range(step.value);
        for (auto waiting = first; waiting != last; ++waiting) {
            Actor& other = streams_[waiting->second];
            other.clock = std::max(other.clock, actor.clock);
            other.blocked = false;
            advance(waiting->second);
        }
        awaiting_.erase(first, last);
    }

    // The point comes earlier in the recorded order, but its stream may have been held up.
    void wait(Actor& actor, const TierStep& step) {
        if (points_[step.value] == kNotReached) {
            actor.blocked = true;
            awaiting_.emplace(step.value, current_);
            return;
        }
        actor.clock = std::max(actor.clock, points_[step.value]);
    }

    // Comes again when the streams that have steps before this one have taken them.
    void synchronize(Actor& actor) {
        bool early = false;
        Nanoseconds when = actor.clock;
        for (const Actor& other : streams_) {
            when = std::max(when, other.clock);
            early = early || (other.step < actor.step && !other.blocked);
        }
        actor.clock = early ? actor.clock : when;
        actor.postponed = early;
    }

    void refuse(std::string what) {
        ++run_.out_of_memory;
        if (run_.refusals.size() < kShownRefusals)
            run_.refusals.push_back(std::move(what));
    }

    void allocate(Actor& actor, const TierStep& step) {
        const BufferId id{step.value};
        const SpaceId home = home_of(step.device);
        if (!may_exceed(actor, step))
            refuse(fmt::format("allocation of {} at {}: more than its task reserved",
                               format_bytes(step.size), format_duration(actor.clock)));
        memory_.begin_life(id, step.size, home, actor.reservation);
        if (stand_.forecast != nullptr)
            stand_.forecast->allocated(id, step.size, step.use);
        if (step.tier != Tier::gpu) {
            if (!memory_.place_below(id, step.tier, actor.clock))
                refuse(fmt::format("allocation of {} in the {} tier at {}", format_bytes(step.size),
                                   to_text(step.tier), format_duration(actor.clock)));
            return;
        }
        live_[step.device] += step.size;
        if (const auto arrival = memory_.bring_in(id, false, actor.clock)) {
            if (stand_.executor != nullptr)
                stand_.executor->wait_room(current_, arrival->copy);
            stall(actor, arrival->room, run_.stalls.room, SpanKind::room_stall);
        } else {
            refuse(fmt::format("allocation of {} at {}", format_bytes(step.size),
                               format_duration(actor.clock)));
        }
        if (step.has_content)
            memory_.set_content(id);
        look_ahead(actor, step.device);
    }

    // By the over-reservation policy. Grows the reservation if it says so.
    bool may_exceed(const Actor& actor, const TierStep& step) {
        if (actor.reservation == TierMemory::kNoTask || step.tier != Tier::gpu ||
            scenario_.over_reservation == OverReservation::ignore)
            return true;
        const Bytes unused = memory_.unused(actor.reservation);
        if (step.size <= unused)
            return true;
        if (scenario_.over_reservation == OverReservation::fail)
            return false;
        const Bytes excess = step.size - unused;
        return memory_.grow(actor.reservation, excess + excess / 4, actor.clock) ||
               memory_.grow(actor.reservation, excess, actor.clock);
    }

    void stall(Actor& actor, Nanoseconds until, Nanoseconds& cause, SpanKind kind) {
        if (until <= actor.clock)
            return;
        cause += until - actor.clock;
        stand_.timeline.add(kind, current_, actor.clock, until);
        actor.clock = until;
    }

    void free(Actor& actor, const TierStep& step) {
        const BufferId id{step.value};
        if (!memory_.alive(id))
            return;
        // Another stream may be using it still: that is what the program says, so it is taken to
        // end there.
        for (std::uint32_t stream = 0; program_.streams > 1 && stream < program_.streams; ++stream)
            if (streams_[stream].kernel != kNoStep && uses(streams_[stream].kernel, id))
                end_kernel(streams_[stream], stream);
        if (step.tier == Tier::gpu)
            live_[step.device] -= std::min(live_[step.device], memory_.size(id));
        if (stand_.forecast != nullptr)
            stand_.forecast->freed(id);
        memory_.end_life(id, actor.clock);
        serve_waiting(actor.clock);
    }

    bool uses(std::uint32_t kernel, BufferId id) const {
        const TierStep& step = program_.steps[kernel];
        const auto first = program_.uses.begin() + step.first;
        return std::any_of(first, first + step.count,
                           [id](const TierUse& use) { return use.buffer == id; });
    }

    void kernel(Actor& actor, const TierStep& step) {
        ++run_.kernels;
        const Nanoseconds planned = actor.clock;
        const auto end = step.first + step.count;
        for (std::uint32_t i = step.first; i < end; ++i)
            memory_.pin(program_.uses[i].buffer);
        Arrival latest{planned, planned};
        bool whole = true;
        for (std::uint32_t i = step.first; whole && i < end; ++i)
            whole = gather(program_.uses[i], planned, latest);
        if (!whole)
            refuse(fmt::format("kernel {} at {}: its buffers don't fit together", step.value,
                               format_duration(planned)));
        stall(actor, std::min(latest.room, latest.ready), run_.stalls.room, SpanKind::room_stall);
        stall(actor, latest.ready, run_.stalls.fetch, SpanKind::fetch_stall);
        if (stand_.executor != nullptr)
            execute(step);
        for (std::uint32_t i = step.first; i < end; ++i)
            touch(program_.uses[i], i, actor.clock);
        actor.kernel = static_cast<std::uint32_t>(&step - program_.steps.data());
        actor.kernel_begin = actor.clock;
        look_ahead(actor, step.device);
    }

    void execute(const TierStep& step) {
        const std::span<const TierUse> uses{program_.uses.data() + step.first, step.count};
        for (const TierUse& use : uses)
            stand_.executor->wait_content(current_, use.buffer);
        stand_.executor->kernel(current_, uses);
    }

    // Sees to it that one buffer of a kernel is there. False: no room for it.
    bool gather(const TierUse& use, Nanoseconds planned, Arrival& latest) {
        const Bytes size = memory_.size(use.buffer);
        run_.used_bytes += size;
        if (memory_.resident(use.buffer)) {
            const Nanoseconds ready = memory_.ready_at(use.buffer);
            (ready <= planned ? run_.hit_bytes : run_.late_bytes) += size;
            latest.ready = std::max(latest.ready, ready);
            return true;
        }
        const auto arrival = memory_.bring_in(use.buffer, use.reads, planned);
        if (!arrival)
            return false;
        if (arrival->ready == arrival->room)
            run_.hit_bytes += size;  // there was nothing to fetch
        latest.room = std::max(latest.room, arrival->room);
        latest.ready = std::max(latest.ready, arrival->ready);
        return true;
    }

    void touch(const TierUse& use, std::uint32_t place, Nanoseconds now) {
        ++operations_;
        if (stand_.forecast != nullptr)
            stand_.forecast->used({use.buffer, use.reads, use.writes, place, use.next});
        memory_.used(use.buffer, use.writes, now);
        if (memory_.resident(use.buffer))
            memory_.touched(use.buffer, operations_);
    }

    void look_ahead(const Actor& actor, std::uint32_t device) {
        if (!ahead_.empty())
            ahead_[device].step(live_[device], actor.clock);
        else if (thresholds_.spill_start < memory_.account(home_of(device)).capacity())
            spill_ahead(actor, device);
    }

    // Hysteresis: begins above one threshold and goes on to the other.
    void spill_ahead(const Actor& actor, std::uint32_t device) {
        const SpaceId home = home_of(device);
        if (memory_.account(home).used() <= thresholds_.spill_start)
            return;
        while (memory_.account(home).used() > thresholds_.spill_stop &&
               memory_.evict_next(home, actor.clock) > 0) {
        }
    }

    void reserve(Actor& actor, const TierStep& step) {
        if (scenario_.reservation == ReservationMode::ignore || step.tier != Tier::gpu)
            return;
        ++run_.reservations.asked;
        const Reservation made{step.value, reservations_made_++, current_};
        if (scenario_.reservation == ReservationMode::up_to) {
            const Bytes granted =
                memory_.reserve_up_to(made.number, step.size, home_of(step.device), actor.clock);
            run_.reservations.short_bytes += step.size - granted;
            return granted_to(actor, made, 0);
        }
        if (step.size > memory_.account(home_of(step.device)).limit()) {
            ++run_.reservations.refused;
            return refuse(fmt::format("reservation of {} at {}: more than the limit",
                                      format_bytes(step.size), format_duration(actor.clock)));
        }
        actor.blocked = true;
        pending_[current_] = made;
        waiting_.push(current_, 0, space_bit(step.device));
        waiting_.try_one(current_, [&](std::uint32_t stream, SpaceMask open) {
            return serve(stream, open, actor.clock);
        });
    }

    // Tries to serve a stream that waits. Gives the spaces that it took memory from.
    SpaceMask serve(std::uint32_t stream, SpaceMask open, Nanoseconds now) {
        Actor& actor = streams_[stream];
        const TierStep& step = program_.steps[actor.step];
        const Reservation& made = pending_[stream];
        const SpaceMask mine = space_bit(step.device);
        if ((open & mine) == 0 ||
            !memory_.reserve(made.number, step.size, home_of(step.device), now))
            return 0;
        const Nanoseconds waited = std::max<Nanoseconds>(now - actor.clock, 0);
        if (waited > 0)
            ++run_.reservations.waited;
        stand_.timeline.add(SpanKind::reservation_stall, stream, actor.clock, actor.clock + waited,
                            step.size);
        run_.stalls.reservation += waited;
        actor.clock += waited;
        actor.blocked = false;
        granted_to(actor, made, waited);
        return mine;
    }

    void granted_to(Actor& actor, const Reservation& made, Nanoseconds waited) {
        actor.reservation = made.number;
        held_.push_back(made);
        waits_.push_back(waited);
    }

    // Somebody gave memory back at `now`: whoever waits and fits goes on.
    void serve_waiting(Nanoseconds now) {
        if (waiting_.empty())
            return;
        const std::vector<std::uint32_t> before = waiting_streams();
        waiting_.try_each(
            [&](std::uint32_t stream, SpaceMask open) { return serve(stream, open, now); });
        for (const std::uint32_t stream : before)
            if (!streams_[stream].blocked)
                advance(stream);
    }

    std::vector<std::uint32_t> waiting_streams() const {
        std::vector<std::uint32_t> streams;
        waiting_.for_each(
            [&](std::uint32_t stream, const WaitStanding&) { streams.push_back(stream); });
        return streams;
    }

    // Everybody waits for a reservation and nobody is left to give one back: the first goes on
    // without.
    void break_deadlock() {
        const std::uint32_t stream = waiting_streams().front();
        Actor& actor = streams_[stream];
        ++run_.deadlocks;
        ++run_.reservations.refused;
        refuse(fmt::format(
            "reservation of {} for task {} on stream {}: all streams wait for "
            "reservations, none can give one back",
            format_bytes(program_.steps[actor.step].size), pending_[stream].task, stream));
        waiting_.erase(stream);
        actor.blocked = false;
        advance(stream);
    }

    void release(Actor& actor, const TierStep& step) {
        const auto held = std::find_if(held_.begin(), held_.end(), [&](const Reservation& other) {
            return other.task == step.value;
        });
        if (held == held_.end())
            return;
        memory_.release(held->number);
        for (Actor& other : streams_)
            if (other.reservation == held->number)
                other.reservation = TierMemory::kNoTask;
        held_.erase(held);
        serve_waiting(actor.clock);
    }

    // The program's own wish: what it moves down leaves first from then on, what it moves up stays.
    void move(Actor& actor, const TierStep& step) {
        const BufferId id{step.value};
        if (!memory_.alive(id))
            return;
        memory_.set_hint(id, step.tier == Tier::gpu ? 1 : -1);
        if (step.tier != Tier::gpu)
            memory_.evict(id, actor.clock);
        else if (!memory_.resident(id))
            memory_.bring_in(id, true, actor.clock);
    }

    void finish() {
        for (std::uint32_t stream = 0; stream < program_.streams; ++stream) {
            end_kernel(streams_[stream], stream);
            run_.makespan = std::max(run_.makespan, streams_[stream].clock);
        }
        const TierTraffic& traffic = memory_.traffic();
        run_.spilled_bytes = traffic.spilled;
        run_.fetched_bytes = traffic.fetched;
        run_.prefetched_bytes = traffic.prefetched;
        run_.wasted_bytes = traffic.wasted;
        run_.dropped_bytes = traffic.dropped;
        run_.evictions = traffic.evictions;
        memory_.report(run_.spaces);
        if (stand_.forecast != nullptr)
            run_.forecast = stand_.forecast->score();
        std::sort(waits_.begin(), waits_.end());
        if (!waits_.empty()) {
            run_.reservations.p50 = waits_[(waits_.size() - 1) / 2];
            run_.reservations.p99 = waits_[(waits_.size() - 1) * 99 / 100];
            run_.reservations.max = waits_.back();
        }
    }

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
    std::vector<std::uint32_t> next_step_;
    std::priority_queue<Turn, std::vector<Turn>, std::greater<>> turns_;
    std::uint32_t current_ = 0;
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

}  // namespace

void replay_tiers(const TierProgram& program, const TierStand& stand, bool look_ahead, TierRun& run,
                  const TierProgress& progress) {
    const Stopwatch watch;
    TierReplay(program, stand, look_ahead, run).play(progress);
    run.elapsed = watch.elapsed();
}

}  // namespace tidemark
