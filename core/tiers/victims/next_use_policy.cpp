// Queues by the cost of a byte and what is known of the future; the best of their first entries
// leaves.
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
    put(id, facts);
}

void NextUsePolicy::touch(BufferId id) {
    const BufferFacts facts = residents_.facts(id);
    Known& mine = known(id);
    used(id, facts.now);
    mine.last_use = facts.now;
    mine.touched = ++touches_;
    put(id, facts);
}

void NextUsePolicy::erase(BufferId id, EvictionReason why) {
    take_out(id);
    if (why == EvictionReason::freed)
        forget(id);
}

void NextUsePolicy::forget(BufferId id) {
    if (to_integer(id) >= known_.size())
        return;
    known(id).alive = false;
    ended(id);
}

void NextUsePolicy::revise(BufferId id) {
    put(id, residents_.facts(id));
}

NextUsePolicy::Queue NextUsePolicy::queue_of(BufferId id, const BufferFacts& facts,
                                             std::uint64_t& due) const {
    const std::uint64_t next = next_use(id, facts);
    due = 0;
    if (facts.empty || (next == kNeverUsed && !facts.dirty))
        return Queue::gone;
    if (next == kNeverUsed) {
        if (!weights_.ends || facts.end == kUnknownUse || facts.end <= facts.now)
            return Queue::idle_dead;
        due = facts.end;
        return Queue::due_dead;
    }
    if (next == kUnknownUse || next <= facts.now)
        return facts.dirty ? Queue::idle_dirty : Queue::idle_clean;
    due = next;
    return facts.dirty ? Queue::due_dirty : Queue::due_clean;
}

// Puts a buffer into the queue for what is known now. Returns whether that changed its position.
bool NextUsePolicy::put(BufferId id, const BufferFacts& facts) {
    std::uint64_t due = 0;
    const Queue queue = queue_of(id, facts, due);
    const bool moves = queue != known(id).queue || due != known(id).due;
    move(id, queue, due);
    return moves;
}

void NextUsePolicy::move(BufferId id, Queue to, std::uint64_t due) {
    Known& mine = known(id);
    if (mine.queue != to && mine.queue != Queue::none)
        queue(mine.queue).erase(id);
    if (is_due(mine.queue) && !is_due(to))
        due_.erase(id);
    mine.queue = to;
    mine.due = due;
    queue(to).put(id, {is_due(to) ? ~due : mine.last_use, mine.touched});
    if (is_due(to))
        due_.put(id, {due, mine.touched});
}

void NextUsePolicy::take_out(BufferId id) {
    Known& mine = known(id);
    queue(mine.queue).erase(id);
    if (is_due(mine.queue))
        due_.erase(id);
    mine.queue = Queue::none;
}

// A buffer that was due but not used counts as idle from now on.
void NextUsePolicy::turn_overdue(std::uint64_t now) {
    while (!due_.empty()) {
        const BufferId id = due_.first();
        if (known(id).due > now)
            return;
        switch (known(id).queue) {
            case Queue::due_clean:
                move(id, Queue::idle_clean, 0);
                break;
            case Queue::due_dirty:
                move(id, Queue::idle_dirty, 0);
                break;
            default:
                move(id, Queue::idle_dead, 0);
                break;
        }
    }
}

// How long its memory would be free, per unit of cost.
double NextUsePolicy::worth(Queue which, const Known& known, std::uint64_t now) const {
    constexpr double kForever = std::numeric_limits<double>::infinity();
    const auto ahead = known.due == kNeverUsed ? kForever : static_cast<double>(known.due - now);
    const std::uint64_t past = now > known.last_use ? now - known.last_use : 0;
    const double idle = static_cast<double>(past) + 1;  // used just now: probably soon again
    switch (which) {
        case Queue::due_clean:
            return ahead / weights_.clean;
        case Queue::due_dirty:
            return ahead / weights_.dirty;
        case Queue::due_dead:
            return ahead / weights_.dead;
        case Queue::idle_clean:
            return weights_.unknown_idle * idle / weights_.clean;
        case Queue::idle_dirty:
            return weights_.unknown_idle * idle / weights_.dirty;
        case Queue::idle_dead:
            return weights_.dead_idle * idle / weights_.dead;
        case Queue::gone:
        case Queue::none:
            break;
    }
    return kForever;
}

// Among equals, the earlier queue.
std::optional<BufferId> NextUsePolicy::best(std::uint64_t now) {
    std::optional<BufferId> found;
    double most = -1;
    for (std::size_t i = 0; i < kQueues; ++i) {
        const auto candidate =
            queues_[i].first_where([this](BufferId id) { return residents_.may_leave(id); });
        if (!candidate)
            continue;
        const auto which = static_cast<Queue>(i);
        if (which == Queue::gone)
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
    const auto any = std::find_if(queues_.begin(), queues_.end(),
                                  [](const IndexedHeap<Key>& queue) { return !queue.empty(); });
    if (any == queues_.end())
        return std::nullopt;
    const std::uint64_t now = residents_.facts(any->first()).now;
    turn_overdue(now);
    std::optional<BufferId> found = best(now);
    // What was known about it may be unknown now: forecasts change without a use.
    while (found && put(*found, residents_.facts(*found)))
        found = best(now);
    return found;
}

}  // namespace tidemark
