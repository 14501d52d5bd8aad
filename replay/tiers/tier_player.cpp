// The order in which streams take their steps, and what ends each.
#include "replay/tiers/tier_player.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/base/stopwatch.h"

namespace tidemark {
namespace {

constexpr std::uint64_t kProgressSteps = 1U << 16U;
constexpr std::uint64_t kStepsUncancelled = 1U << 10U;

std::vector<std::unique_ptr<MemorySpace>> make_spaces(const MachineSpec& machine,
                                                      OverReservation over_reservation) {
    std::vector<std::unique_ptr<MemorySpace>> spaces;
    for (const SpaceSpec& spec : machine.spaces) {
        spaces.push_back(std::make_unique<MemorySpace>(spec));
        spaces.back()->set_over_reservation(over_reservation);
    }
    return spaces;
}

OverReservation policy_of(const TierScenario& scenario) {
    switch (scenario.over_reservation) {
        case OverReservationMode::fail:
            return fail_over_reservation();
        case OverReservationMode::increase:
            return increase_reservation(scenario.padding, scenario.beyond_limit);
        case OverReservationMode::ignore:
            break;
    }
    return ignore_over_reservation();
}

std::vector<MemorySpace*> pointers(const std::vector<std::unique_ptr<MemorySpace>>& spaces) {
    std::vector<MemorySpace*> all;
    for (const auto& space : spaces)
        all.push_back(space.get());
    return all;
}

}  // namespace

TierPlayer::TierPlayer(const TierProgram& program, const MachineSpec& machine, SpillOptions options,
                       TierStage& stage, TierTimeline& timeline, TierRun& run)
    : program_(program),
      machine_(machine),
      stage_(stage),
      timeline_(timeline),
      run_(run),
      scenario_(run.scenario),
      spaces_(make_spaces(machine, policy_of(run.scenario))),
      engine_(machine, pointers(spaces_), std::move(options)),
      executor_(engine_, stage.transfers(), mutex_),
      streams_(program.streams),
      buffers_(program.buffers),
      order_(program),
      points_(program.records, kNotReached) {}

TierPlayer::~TierPlayer() = default;

Result<void> TierPlayer::play(const TierListeners& listeners) {
    const Stopwatch watch;
    plan_streams();
    for (;;) {
        if (engine_.restless())
            decide(false);
        if (turns_.empty()) {
            if (!wake_somebody())
                break;
            continue;
        }
        const Turn next = turns_.top();
        if (stage_.now() < next.when) {
            (void)stage_.wait_until(next.when);
            if (engine_.busy())
                decide(false);
            if (stage_.now() < next.when)
                continue;
        }
        if (turns_.top().step != next.step)
            continue;
        turns_.pop();
        begin(next.stream);
        if (parks(next.stream))
            continue;
        take(next.stream);
        ++steps_done_;
        if (listeners.cancelled && steps_done_ % kStepsUncancelled == 0 && listeners.cancelled()) {
            requests_.clear();  // nothing waits any longer
            finish();           // gives everything back
            return fail(ErrorCode::cancelled, "the replay was cancelled");
        }
        if (listeners.progress && steps_done_ % kProgressSteps == 0)
            listeners.progress(steps_done_);
    }
    run_.elapsed = watch.elapsed();
    finish();
    return {};
}

void TierPlayer::plan_streams() {
    next_step_.resize(program_.steps.size(), kNoStep);
    if (program_.streams > 1)
        taken_.resize(program_.steps.size());
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

void TierPlayer::schedule(std::uint32_t stream) {
    const Actor& actor = streams_[stream];
    if (actor.step != kNoStep)
        turns_.push({actor.clock + program_.steps[actor.step].gap, actor.step, stream});
}

void TierPlayer::advance(std::uint32_t stream) {
    Actor& actor = streams_[stream];
    actor.step = next_step_[actor.step];
    actor.begun = false;
    actor.wait = Wait::nothing;
    if (actor.step == kNoStep)
        end_kernel(stream);  // nothing says that it lasts any longer: others may wait for its end
    schedule(stream);
}

// The stream's step has been taken: streams that wait for it check again.
void TierPlayer::step_done(std::uint32_t stream) {
    const Actor& actor = streams_[stream];
    if (program_.streams > 1) {
        taken_[actor.step] = true;
        const auto [first, last] = parked_.equal_range(actor.step);
        for (auto each = first; each != last; ++each) {
            Actor& other = streams_[each->second];
            other.wait = Wait::nothing;
            other.clock = std::max(other.clock, actor.clock);
            turns_.push({other.clock, other.step, each->second});
        }
        parked_.erase(first, last);
    }
    advance(stream);
}

// Waits until that step has been taken.
void TierPlayer::park(std::uint32_t stream, std::uint32_t behind) {
    streams_[stream].wait = Wait::step;
    parked_.emplace(behind, stream);
}

// Whether another stream must take a step first, which then wakes this one.
bool TierPlayer::parks(std::uint32_t stream) {
    for (const std::uint32_t earlier : order_.needs(streams_[stream].step)) {
        if (taken_[earlier])
            continue;
        park(stream, earlier);
        return true;
    }
    return false;
}

// Lets the engine decide, and carries it out.
void TierPlayer::decide(bool stirred) {
    ++decisions_;
    timeline_.decide_at(stage_.now());
    while (executor_.turn(
        std::exchange(stirred, false), [this](const SpillWork& work) { observe(work); },
        [this](std::vector<SpillAnswer>& answers) {
            for (SpillAnswer& answer : answers)
                answered(answer);
        })) {
    }
    if (!awaited_moves_.empty())
        begin_awaited_moves();
    note_levels();
}

// All streams wait. False: none does, or nothing can be done about it.
bool TierPlayer::wake_somebody() {
    const bool waiting = std::any_of(streams_.begin(), streams_.end(),
                                     [](const Actor& actor) { return actor.step != kNoStep; });
    if (!waiting)
        return false;
    if (engine_.settling()) {
        (void)stage_.wait_until(TierStage::kForever);
        decide(false);
        return true;
    }
    const bool given_up = engine_.give_up_one();
    decide(false);
    return given_up;  // a stream that waits for a point waits for one of those
}

// The stream reaches its next step: what it ran until now is over.
void TierPlayer::begin(std::uint32_t stream) {
    Actor& actor = streams_[stream];
    if (std::exchange(actor.begun, true))
        return;
    actor.clock += program_.steps[actor.step].gap;
    end_kernel(stream);
}

void TierPlayer::take(std::uint32_t stream) {
    const TierStep& step = program_.steps[streams_[stream].step];
    switch (step.kind) {
        case StepKind::allocate:
            return allocate(stream, step);
        case StepKind::free:
            return free(stream, step);
        case StepKind::kernel:
            return kernel(stream, step);
        case StepKind::record:
            return record(stream, step);
        case StepKind::wait:
            return wait(stream, step);
        case StepKind::synchronize:
            return synchronize(stream);
        case StepKind::reserve:
            return reserve(stream, step);
        case StepKind::release:
            return release(stream, step);
        case StepKind::move:
            move(step);
            return step_done(stream);
        case StepKind::mark:
            engine_.mark(step.value);
            return step_done(stream);
    }
}

void TierPlayer::record(std::uint32_t stream, const TierStep& step) {
    const Nanoseconds now = streams_[stream].clock;
    points_[step.value] = now;
    const auto [first, last] = awaiting_.equal_range(step.value);
    for (auto waiting = first; waiting != last; ++waiting) {
        Actor& other = streams_[waiting->second];
        other.clock = std::max(other.clock, now);
        step_done(waiting->second);
    }
    awaiting_.erase(first, last);
    step_done(stream);
}

// The point comes earlier in the recorded order, but its stream may have been delayed.
void TierPlayer::wait(std::uint32_t stream, const TierStep& step) {
    Actor& actor = streams_[stream];
    if (points_[step.value] == kNotReached) {
        actor.wait = Wait::point;
        awaiting_.emplace(step.value, stream);
        return;
    }
    actor.clock = std::max(actor.clock, points_[step.value]);
    step_done(stream);
}

// Comes again when the streams that have steps before this one have taken them.
void TierPlayer::synchronize(std::uint32_t stream) {
    Actor& actor = streams_[stream];
    for (const Actor& other : streams_) {
        const bool stuck = other.wait == Wait::point || other.wait == Wait::reservation;
        if (other.step < actor.step && !stuck)
            return park(stream, other.step);
    }
    for (const Actor& other : streams_)
        actor.clock = std::max(actor.clock, other.clock);
    step_done(stream);
}

// Until nothing is in flight any more.
void TierPlayer::drain() {
    decide(false);
    while (engine_.settling()) {
        (void)stage_.wait_until(TierStage::kForever);
        decide(false);
    }
}

void TierPlayer::finish() {
    finished_ = true;
    for (std::uint32_t stream = 0; stream < program_.streams; ++stream) {
        end_kernel(stream);
        run_.makespan = std::max(run_.makespan, streams_[stream].clock);
    }
    for (const SpaceSpec& spec : machine_.spaces) {
        run_.failed_copies += engine_.counters(spec.id).failed;
        if (spec.id.tier != Tier::gpu)
            continue;
        const SpillCounters& counters = engine_.counters(spec.id);
        run_.prefetched_bytes += counters.prefetched;
        run_.wasted_bytes += counters.wasted;
        run_.dropped_bytes += counters.dropped_clean;
        run_.evictions += counters.evictions;
        run_.used_bytes += counters.used;
        run_.hit_bytes += counters.hit;
        run_.late_bytes += counters.late;
    }
    if (run_.failed_copies > 0)
        run_.copy_failure = to_text(engine_.last_failure());
    run_.forecast = engine_.forecast_score();
    std::sort(waits_.begin(), waits_.end());
    if (!waits_.empty()) {
        run_.reservations.p50 = waits_[(waits_.size() - 1) / 2];
        run_.reservations.p99 = waits_[(waits_.size() - 1) * 99 / 100];
        run_.reservations.max = waits_.back();
    }
    held_.clear();
    engine_.shut_down();
    drain();
    engine_.end_all();
    drain();
    for (const SpaceSpec& spec : machine_.spaces) {
        if (spec.id.tier != Tier::gpu)
            continue;
        const SpillCounters& counters = engine_.counters(spec.id);
        run_.spilled_bytes += counters.copied_out;
        run_.fetched_bytes += counters.copied_in;
        run_.vain_bytes += counters.copied_in_vain;
    }
    for (const auto& space : spaces_)
        run_.spaces.push_back({space->id(), space->spec().capacity, space->counters().peak_used});
    run_.links = stage_.links();
}

}  // namespace tidemark
