// Reservations: who gets one, who waits, and who waits for whom.
#include <algorithm>

#include <fmt/format.h>

#include "core/base/text.h"
#include "replay/tiers/tier_player.h"

namespace tidemark {

bool TierPlayer::may_exceed(const Actor& actor, const TierStep& step) {
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

void TierPlayer::reserve(Actor& actor, const TierStep& step) {
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

SpaceMask TierPlayer::serve(std::uint32_t stream, SpaceMask open, Nanoseconds now) {
    Actor& actor = streams_[stream];
    const TierStep& step = program_.steps[actor.step];
    const Reservation& made = pending_[stream];
    const SpaceMask mine = space_bit(step.device);
    if ((open & mine) == 0 || !memory_.reserve(made.number, step.size, home_of(step.device), now))
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

void TierPlayer::granted_to(Actor& actor, const Reservation& made, Nanoseconds waited) {
    actor.reservation = made.number;
    held_.push_back(made);
    waits_.push_back(waited);
}

void TierPlayer::serve_waiting(Nanoseconds now) {
    if (waiting_.empty())
        return;
    const std::vector<std::uint32_t> before = waiting_streams();
    waiting_.try_each(
        [&](std::uint32_t stream, SpaceMask open) { return serve(stream, open, now); });
    for (const std::uint32_t stream : before)
        if (!streams_[stream].blocked)
            advance(stream);
}

std::vector<std::uint32_t> TierPlayer::waiting_streams() const {
    std::vector<std::uint32_t> streams;
    waiting_.for_each(
        [&](std::uint32_t stream, const WaitStanding&) { streams.push_back(stream); });
    return streams;
}

void TierPlayer::break_deadlock() {
    const std::uint32_t stream = waiting_streams().front();
    Actor& actor = streams_[stream];
    ++run_.deadlocks;
    ++run_.reservations.refused;
    refuse(
        fmt::format("reservation of {} for task {} on stream {}: all streams wait for "
                    "reservations, none can give one back",
                    format_bytes(program_.steps[actor.step].size), pending_[stream].task, stream));
    waiting_.erase(stream);
    actor.blocked = false;
    advance(stream);
}

void TierPlayer::release(Actor& actor, const TierStep& step) {
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

}  // namespace tidemark
