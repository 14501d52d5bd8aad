// The order in which streams take their steps, and what ends each.
#include "replay/tiers/tier_replay.h"

#include <algorithm>

#include "core/base/stopwatch.h"
#include "replay/tiers/tier_player.h"

namespace tidemark {
namespace {

constexpr std::uint64_t kProgressSteps = 1U << 16U;

}  // namespace

TierPlayer::TierPlayer(const TierProgram& program, const TierStand& stand, bool look_ahead,
                       TierRun& run)
    : program_(program),
      stand_(stand),
      run_(run),
      scenario_(run.scenario),
      memory_(stand, program.buffers, run.scenario.keep_copies),
      streams_(program.streams),
      order_(program),
      points_(program.records, kNotReached),
      live_(program.devices) {
    if (stand.forecast != nullptr && look_ahead)
        for (std::uint32_t device = 0; device < program.devices; ++device)
            ahead_.emplace_back(memory_, stand.links, *stand.forecast, home_of(device));
    thresholds_ = stand.machine.space(home_of(0))->thresholds();
}

void TierPlayer::play(const TierProgress& progress) {
    plan_streams();
    std::uint64_t done = 0;
    while (next_actor()) {
        Actor& actor = streams_[current_];
        const TierStep& step = program_.steps[actor.step];
        if (!actor.postponed)
            begin(actor, step);
        if (parks(actor))
            continue;
        actor.postponed = false;
        take(actor, step);
        if (!actor.postponed)
            taken(actor);
        if (actor.postponed)
            turns_.push({latest_turn(), actor.step, current_});
        else if (!actor.blocked)
            advance(current_);
        if (++done % kProgressSteps == 0 && progress)
            progress(done);
    }
    finish();
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
    if (program_.streams > 1)
        schedule(stream);
}

bool TierPlayer::next_actor() {
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
    turn_ = turns_.top().when;
    turns_.pop();
    return true;
}

bool TierPlayer::parks(Actor& actor) {
    for (const std::uint32_t earlier : order_.needs(actor.step)) {
        if (taken_[earlier])
            continue;
        parked_.emplace(earlier, current_);
        actor.postponed = true;
        return true;
    }
    return false;
}

void TierPlayer::taken(const Actor& actor) {
    if (program_.streams == 1)
        return;
    ++taken_count_;
    taken_[actor.step] = true;
    const auto [first, last] = parked_.equal_range(actor.step);
    for (auto each = first; each != last; ++each) {
        Actor& other = streams_[each->second];
        other.clock = std::max(other.clock, actor.clock);
        turns_.push({other.clock, other.step, each->second});
    }
    parked_.erase(first, last);
}

Nanoseconds TierPlayer::latest_turn() const {
    Nanoseconds latest = 0;
    for (const Actor& other : streams_)
        if (other.step != kNoStep && !other.blocked)
            latest = std::max(latest, other.clock + program_.steps[other.step].gap);
    return latest;
}

void TierPlayer::begin(Actor& actor, const TierStep& step) {
    actor.clock += step.gap;
    end_kernel(actor, current_);
    if (stand_.executor != nullptr)
        stand_.executor->reached(current_, step.gap);
}

void TierPlayer::end_kernel(Actor& actor, std::uint32_t stream) {
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

void TierPlayer::take(Actor& actor, const TierStep& step) {
    stand_.timeline.decide_at(actor.clock);
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

void TierPlayer::record(Actor& actor, const TierStep& step) {
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

void TierPlayer::wait(Actor& actor, const TierStep& step) {
    if (points_[step.value] == kNotReached) {
        actor.blocked = true;
        awaiting_.emplace(step.value, current_);
        return;
    }
    actor.clock = std::max(actor.clock, points_[step.value]);
}

void TierPlayer::synchronize(Actor& actor) {
    bool early = false;
    Nanoseconds when = actor.clock;
    for (const Actor& other : streams_) {
        when = std::max(when, other.clock);
        early = early || (other.step < actor.step && !other.blocked);
    }
    actor.clock = early ? actor.clock : when;
    actor.postponed = early;
}

void TierPlayer::finish() {
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

void replay_tiers(const TierProgram& program, const TierStand& stand, bool look_ahead, TierRun& run,
                  const TierProgress& progress) {
    const Stopwatch watch;
    TierPlayer(program, stand, look_ahead, run).play(progress);
    run.elapsed = watch.elapsed();
}

}  // namespace tidemark
