// Lanes by what a byte costs and what is known of the future; the best of their firsts leaves.
#include "core/tiers/victims/next_use_policy.h"

#include <algorithm>
#include <limits>

namespace tidemark {

NextUseWeights NextUseWeights::of_links(const VictimContext& context) {
    NextUseWeights weights;
    if (context.in_ns_per_byte > 0 && context.out_ns_per_byte > 0) {
        weights.clean = context.in_ns_per_byte;
        weights.dead = context.out_ns_per_byte;
        weights.dirty = weights.clean + weights.dead;
    }
    return weights;
}

NextUsePolicy::NextUsePolicy(const VictimContext& context, const NextUseWeights& weights)
    : residents_(*context.residents), weights_(weights) {}

void NextUsePolicy::insert(BufferId id) {
    if (to_integer(id) >= known_.size()) [[unlikely]]
        known_.resize(to_integer(id) + 1);
    const BufferFacts facts = residents_.facts(id);
    Known& mine = known(id);
    if (!mine.alive)
        mine = {.last_use = facts.now, .touched = touches_, .alive = true};
    place(id, facts);
}

void NextUsePolicy::touch(BufferId id) {
    const BufferFacts facts = residents_.facts(id);
    Known& mine = known(id);
    used(id, facts.now);
    mine.last_use = facts.now;
    mine.touched = ++touches_;
    place(id, facts);
}

void NextUsePolicy::erase(BufferId id, Departure why) {
    take_out(id);
    if (why == Departure::freed)
        forget(id);
}

void NextUsePolicy::forget(BufferId id) {
    if (to_integer(id) >= known_.size())
        return;
    known(id).alive = false;
    ended(id);
}

void NextUsePolicy::revise(BufferId id) {
    place(id, residents_.facts(id));
}

NextUsePolicy::Lane NextUsePolicy::lane_of(BufferId id, const BufferFacts& facts,
                                           std::uint64_t& due) const {
    const std::uint64_t next = next_use(id, facts);
    due = 0;
    if (facts.empty || (next == kNeverUsed && !facts.dirty))
        return Lane::gone;
    if (next == kNeverUsed) {
        if (!weights_.ends || facts.end == kUnknownUse || facts.end <= facts.now)
            return Lane::idle_dead;
        due = facts.end;
        return Lane::due_dead;
    }
    if (next == kUnknownUse || next <= facts.now)
        return facts.dirty ? Lane::idle_dirty : Lane::idle_clean;
    due = next;
    return facts.dirty ? Lane::due_dirty : Lane::due_clean;
}

// Puts a buffer where it belongs by what is known now. Whether that is elsewhere than before.
bool NextUsePolicy::place(BufferId id, const BufferFacts& facts) {
    std::uint64_t due = 0;
    const Lane lane = lane_of(id, facts, due);
    const bool moves = lane != known(id).lane || due != known(id).due;
    move(id, lane, due);
    return moves;
}

void NextUsePolicy::move(BufferId id, Lane to, std::uint64_t due) {
    Known& mine = known(id);
    if (mine.lane != to && mine.lane != Lane::none)
        lane(mine.lane).erase(id);
    if (is_due(mine.lane) && !is_due(to))
        due_.erase(id);
    mine.lane = to;
    mine.due = due;
    lane(to).put(id, {is_due(to) ? ~due : mine.last_use, mine.touched});
    if (is_due(to))
        due_.put(id, {due, mine.touched});
}

void NextUsePolicy::take_out(BufferId id) {
    Known& mine = known(id);
    lane(mine.lane).erase(id);
    if (is_due(mine.lane))
        due_.erase(id);
    mine.lane = Lane::none;
}

// What was due and did not come is idle from now on.
void NextUsePolicy::turn_overdue(std::uint64_t now) {
    while (!due_.empty()) {
        const BufferId id = due_.first();
        if (known(id).due > now)
            return;
        switch (known(id).lane) {
            case Lane::due_clean:
                move(id, Lane::idle_clean, 0);
                break;
            case Lane::due_dirty:
                move(id, Lane::idle_dirty, 0);
                break;
            default:
                move(id, Lane::idle_dead, 0);
                break;
        }
    }
}

// For how long its memory is free, for each unit of cost.
double NextUsePolicy::worth(Lane which, const Known& known, std::uint64_t now) const {
    constexpr double kForever = std::numeric_limits<double>::infinity();
    const auto ahead = known.due == kNeverUsed ? kForever : static_cast<double>(known.due - now);
    const std::uint64_t past = now > known.last_use ? now - known.last_use : 0;
    const double idle = static_cast<double>(past) + 1;  // was used just now: soon again
    switch (which) {
        case Lane::due_clean:
            return ahead / weights_.clean;
        case Lane::due_dirty:
            return ahead / weights_.dirty;
        case Lane::due_dead:
            return ahead / weights_.dead;
        case Lane::idle_clean:
            return weights_.unknown_idle * idle / weights_.clean;
        case Lane::idle_dirty:
            return weights_.unknown_idle * idle / weights_.dirty;
        case Lane::idle_dead:
            return weights_.dead_idle * idle / weights_.dead;
        case Lane::gone:
        case Lane::none:
            break;
    }
    return kForever;
}

// Among equals the lane that comes first.
std::optional<BufferId> NextUsePolicy::best(std::uint64_t now) {
    std::optional<BufferId> found;
    double most = -1;
    for (std::size_t i = 0; i < kLanes; ++i) {
        const auto candidate =
            lanes_[i].first_where([this](BufferId id) { return residents_.may_leave(id); });
        if (!candidate)
            continue;
        const auto which = static_cast<Lane>(i);
        if (which == Lane::gone)
            return candidate;
        const double worth = this->worth(which, known(*candidate), now);
        if (worth > most) {
            most = worth;
            found = candidate;
        }
    }
    return found;
}

std::optional<BufferId> NextUsePolicy::victim() {
    const auto any = std::find_if(lanes_.begin(), lanes_.end(),
                                  [](const IndexedHeap<Key>& lane) { return !lane.empty(); });
    if (any == lanes_.end())
        return std::nullopt;
    const std::uint64_t now = residents_.facts(any->first()).now;
    turn_overdue(now);
    std::optional<BufferId> found = best(now);
    // What was known of it may be known no more: forecasts change without a use.
    while (found && place(*found, residents_.facts(*found)))
        found = best(now);
    return found;
}

}  // namespace tidemark
