// What steps do to memory: allocations, kernels, frees, moves.
#include <algorithm>

#include <fmt/format.h>

#include "core/base/text.h"
#include "replay/tiers/tier_player.h"

namespace tidemark {
namespace {

constexpr std::size_t kTierPlayerStepsShownRefusals = 8;

}  // namespace

void TierPlayer::refuse(std::string what) {
    ++run_.out_of_memory;
    if (run_.refusals.size() < kTierPlayerStepsShownRefusals)
        run_.refusals.push_back(std::move(what));
}

void TierPlayer::allocate(Actor& actor, const TierStep& step) {
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

void TierPlayer::stall(Actor& actor, Nanoseconds until, Nanoseconds& cause, SpanKind kind) {
    if (until <= actor.clock)
        return;
    cause += until - actor.clock;
    stand_.timeline.add(kind, current_, actor.clock, until);
    actor.clock = until;
}

void TierPlayer::free(Actor& actor, const TierStep& step) {
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

bool TierPlayer::uses(std::uint32_t kernel, BufferId id) const {
    const TierStep& step = program_.steps[kernel];
    const auto first = program_.uses.begin() + step.first;
    return std::any_of(first, first + step.count,
                       [id](const TierUse& use) { return use.buffer == id; });
}

void TierPlayer::kernel(Actor& actor, const TierStep& step) {
    if (actor.crowded_at != 0)
        stall(actor, turn_, run_.stalls.room, SpanKind::room_stall);
    const Nanoseconds planned = actor.clock;
    const auto end = step.first + step.count;
    for (std::uint32_t i = step.first; i < end; ++i)
        memory_.pin(program_.uses[i].buffer);
    Arrival latest{planned, planned, 0};
    UsedBytes seen;
    bool whole = true;
    for (std::uint32_t i = step.first; whole && i < end; ++i)
        whole = gather(program_.uses[i], planned, latest, seen);
    if (!whole && others_may_help(actor)) {
        for (std::uint32_t i = step.first; i < end; ++i)
            memory_.unpin(program_.uses[i].buffer);
        actor.postponed = true;
        return;
    }
    actor.crowded_at = 0;
    ++run_.kernels;
    run_.used_bytes += seen.used;
    run_.hit_bytes += seen.hit;
    run_.late_bytes += seen.late;
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

bool TierPlayer::others_may_help(Actor& actor) {
    if (program_.streams == 1 || actor.crowded_at == taken_count_ + 1)
        return false;
    actor.crowded_at = taken_count_ + 1;
    return std::any_of(streams_.begin(), streams_.end(), [&](const Actor& other) {
        return &other != &actor && other.step != kNoStep && !other.blocked;
    });
}

void TierPlayer::execute(const TierStep& step) {
    const std::span<const TierUse> uses{program_.uses.data() + step.first, step.count};
    for (const TierUse& use : uses)
        stand_.executor->wait_content(current_, use.buffer);
    stand_.executor->kernel(current_, uses);
}

bool TierPlayer::gather(const TierUse& use, Nanoseconds planned, Arrival& latest, UsedBytes& seen) {
    const Bytes size = memory_.size(use.buffer);
    seen.used += size;
    if (memory_.resident(use.buffer)) {
        const Nanoseconds ready = memory_.ready_at(use.buffer);
        (ready <= planned ? seen.hit : seen.late) += size;
        latest.ready = std::max(latest.ready, ready);
        return true;
    }
    const auto arrival = memory_.bring_in(use.buffer, use.reads, planned);
    if (!arrival)
        return false;
    if (arrival->ready == arrival->room)
        seen.hit += size;  // there was nothing to fetch
    latest.room = std::max(latest.room, arrival->room);
    latest.ready = std::max(latest.ready, arrival->ready);
    return true;
}

void TierPlayer::touch(const TierUse& use, std::uint32_t place, Nanoseconds now) {
    ++operations_;
    if (stand_.forecast != nullptr)
        stand_.forecast->used({use.buffer, use.reads, use.writes, place, use.next});
    memory_.used(use.buffer, use.writes, now);
    if (memory_.resident(use.buffer))
        memory_.touched(use.buffer, operations_);
}

void TierPlayer::look_ahead(const Actor& actor, std::uint32_t device) {
    if (!ahead_.empty())
        ahead_[device].step(live_[device], actor.clock);
    else if (thresholds_.spill_start < memory_.account(home_of(device)).capacity())
        spill_ahead(actor, device);
}

void TierPlayer::spill_ahead(const Actor& actor, std::uint32_t device) {
    const SpaceId home = home_of(device);
    if (memory_.account(home).used() <= thresholds_.spill_start)
        return;
    while (memory_.account(home).used() > thresholds_.spill_stop) {
        const auto victim = memory_.next_victim(home, actor.clock);
        if (!victim || !memory_.evict(*victim, actor.clock))
            return;
    }
}

void TierPlayer::move(Actor& actor, const TierStep& step) {
    const BufferId id{step.value};
    if (!memory_.alive(id))
        return;
    memory_.set_hint(id, step.tier == Tier::gpu ? 1 : -1);
    if (step.tier != Tier::gpu)
        memory_.evict(id, actor.clock);
    else if (!memory_.resident(id))
        memory_.bring_in(id, true, actor.clock);
}

}  // namespace tidemark
