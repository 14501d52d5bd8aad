// The results of requests: which streams go on, what they waited for, and what is reported of it.
#include <algorithm>

#include <fmt/format.h>

#include "core/base/text.h"
#include "replay/tiers/tier_player.h"

namespace tidemark {
namespace {

constexpr std::size_t kShownTierRefusals = 8;

}  // namespace

void TierPlayer::refuse(std::string what) {
    ++run_.out_of_memory;
    if (run_.refusals.size() < kShownTierRefusals)
        run_.refusals.push_back(std::move(what));
}

// Whether the answer came without a wait. Then it counts from the step's own time on a stage whose
// clock goes on while this process works: the program's host was not slower than recorded.
bool TierPlayer::at_once(std::uint32_t stream) const {
    return stage_.runs_kernels() && decisions_ == streams_[stream].requested_at + 1;
}

void TierPlayer::stall(std::uint32_t stream, Nanoseconds until, Nanoseconds& cause, SpanKind kind) {
    Actor& actor = streams_[stream];
    if (until <= actor.clock)
        return;
    cause += until - actor.clock;
    timeline_.add(kind, stream, actor.clock, until);
    actor.clock = until;
}

void TierPlayer::answered(SpillAnswer& answer) {
    if (answer.group)
        engine_.take_up(*answer.group);
    const auto found = requests_.find(static_cast<std::uint64_t>(answer.request));
    if (found == requests_.end())
        return;  // a request without a waiting stream
    const std::uint32_t stream = found->second;
    requests_.erase(found);
    const StepKind kind = program_.steps[streams_[stream].step].kind;
    if (kind == StepKind::allocate)
        allocated(stream, answer);
    else if (kind == StepKind::kernel)
        gathered(stream, &answer);
    else
        reserved(stream, answer);
}

void TierPlayer::allocated(std::uint32_t stream, const SpillAnswer& answer) {
    Actor& actor = streams_[stream];
    const TierStep& step = program_.steps[actor.step];
    Buffer& buffer = buffers_[step.value];
    buffer = {answer.buffer, !answer.refusal, answer.refusal.has_value()};
    if (answer.refusal) {
        const std::string where =
            step.tier == Tier::gpu ? "" : fmt::format(" in the {} tier", to_text(step.tier));
        const bool exceeded = actor.held[static_cast<std::size_t>(step.tier)] != kNoStep &&
                              scenario_.over_reservation != OverReservationMode::ignore;
        refuse(fmt::format("allocation of {}{} at {}{}", format_bytes(step.size), where,
                           format_duration(actor.clock),
                           exceeded ? ": more than its task reserved" : ""));
    } else if (step.has_content || step.tier != Tier::gpu) {
        stage_.begun(buffer.ref, answer.location, step.size);
    }
    if (!at_once(stream))
        stall(stream, stage_.now(), run_.stalls.room, SpanKind::room_stall);
    step_done(stream);
}

// The stream's kernel has its buffers, or goes without.
void TierPlayer::gathered(std::uint32_t stream, const SpillAnswer* answer) {
    Actor& actor = streams_[stream];
    const TierStep& step = program_.steps[actor.step];
    actor.holds = answer == nullptr || !answer->refusal;
    ++(actor.holds ? run_.kernels : run_.kernels_not_run);
    if (answer != nullptr && (!actor.holds || !at_once(stream))) {
        Nanoseconds room = actor.clock;
        for (std::uint32_t i = step.first; i < step.first + step.count; ++i) {
            const std::uint32_t id =
                to_integer(buffers_[to_integer(program_.uses[i].buffer)].ref.id);
            if (id < placed_.size())
                room = std::max(room, placed_[id]);
        }
        if (actor.holds) {
            stall(stream, std::min(room, stage_.now()), run_.stalls.room, SpanKind::room_stall);
            stall(stream, stage_.now(), run_.stalls.fetch, SpanKind::fetch_stall);
        } else {
            refuse(fmt::format("kernel {} at {}: its buffers don't fit together", step.value,
                               format_duration(actor.clock)));
            stall(stream, stage_.now(), run_.stalls.room, SpanKind::room_stall);
        }
    }
    actor.kernel = actor.step;
    actor.kernel_begin = actor.clock;
    if (stage_.runs_kernels())
        run_kernel(stream, step);
    step_done(stream);
}

void TierPlayer::run_kernel(std::uint32_t stream, const TierStep& step) {
    const Actor& actor = streams_[stream];
    const SpaceId gpu = home_of(step.device);
    staged_.clear();
    for (std::uint32_t i = step.first; actor.holds && i < step.first + step.count; ++i) {
        const TierUse& use = program_.uses[i];
        const Buffer& buffer = buffers_[to_integer(use.buffer)];
        if (!buffer.alive)
            continue;
        AccessSpec spec = access_to(stream, step);
        spec.mode = use.writes ? AccessMode::write : AccessMode::read;
        const std::vector<UsePoint> before = engine_.holds().points_before(buffer.ref, spec);
        if (!before.empty())
            (void)stage_.transfers().order(gpu, spec.stream, before);
        const BlockLocation location = engine_.copies().location(buffer.ref, gpu);
        staged_.push_back({buffer.ref, location, location.size, use.reads, use.writes});
    }
    const std::uint32_t next = next_step_[actor.step];
    const Nanoseconds length = next == kNoStep ? 0 : program_.steps[next].gap;
    stage_.kernel(stream, gpu, staged_, actor.clock + length);
}

void TierPlayer::reserved(std::uint32_t stream, SpillAnswer& answer) {
    Actor& actor = streams_[stream];
    const TierStep& step = program_.steps[actor.step];
    const Nanoseconds waited =
        at_once(stream) ? 0 : std::max<Nanoseconds>(stage_.now() - actor.clock, 0);
    if (answer.refusal) {
        ++run_.reservations.refused;
        const std::vector<SpaceId> spaces = spaces_of(step);
        const bool too_large = std::ranges::all_of(spaces, [&](SpaceId space) {
            return step.size > machine_.space(space)->thresholds().limit;
        });
        if (waited == 0 && too_large) {
            refuse(fmt::format("reservation of {} at {}: more than the limit",
                               format_bytes(step.size), format_duration(actor.clock)));
        } else {
            ++run_.deadlocks;
            refuse(
                fmt::format("reservation of {} for task {} on stream {}: all streams wait for "
                            "reservations, so none can release one",
                            format_bytes(step.size), step.value, stream));
        }
        return step_done(stream);
    }
    if (waited > 0) {
        ++run_.reservations.waited;
        run_.stalls.reservation += waited;
        timeline_.add(SpanKind::reservation_stall, stream, actor.clock, actor.clock + waited,
                      step.size);
        actor.clock += waited;
    }
    const Bytes granted = answer.reservation.size();
    run_.reservations.short_bytes += step.size - std::min(step.size, granted);
    const std::uint32_t number = reservations_made_++;
    actor.held[static_cast<std::size_t>(answer.reservation.space().id().tier)] = number;
    held_.push_back({step.value, number, std::move(answer.reservation)});
    waits_.push_back(waited);
    step_done(stream);
}

// What is about to be done.
void TierPlayer::observe(const SpillWork& work) {
    const Nanoseconds now = stage_.now();
    note_levels();
    for (const SpillWork::Making& making : work.making) {
        const std::uint32_t id = to_integer(making.buffer.id);
        placed_.resize(std::max<std::size_t>(placed_.size(), id + std::size_t{1}));
        if (making.space.tier == Tier::gpu)
            placed_[id] = now;
    }
    for (const SpillWork::Starting& starting : work.starting)
        if (stage_.runs_kernels())
            stage_.copying(starting.buffer, starting.order);
    for (const SpillWork::Leaving& leaving : work.leaving) {
        if (!leaving.dropped || !leaving.location || leaving.location->space.tier != Tier::gpu)
            continue;
        const auto gpu = static_cast<std::size_t>(leaving.location->space.index);
        timeline_.add(SpanKind::drop, gpu, now, now, leaving.location->size,
                      to_integer(leaving.buffer));
    }
}

void TierPlayer::note_levels() {
    if (!timeline_.wanted() || finished_)
        return;
    for (std::size_t i = 0; i < spaces_.size(); ++i) {
        const SpaceCounters counters = spaces_[i]->counters();
        timeline_.level(i, counters.used, counters.unused_reserved);
    }
}

}  // namespace tidemark
