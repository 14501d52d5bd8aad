// Using a forecast: buffers come and go before they have to.
#include "core/tiers/engine/look_ahead.h"

#include <algorithm>
#include <utility>

namespace tidemark {
namespace {

// Copies are queued while their link has less than this to do: enough to keep it busy until the
// next look, but little enough for urgent requests.
constexpr double kBacklog = 2'000'000;                        // ns
constexpr std::uint64_t kFarthest = std::uint64_t{1} << 16U;  // operations to look ahead
constexpr int kMostAtOnce = 64;
constexpr int kMostPassed = 3;           // victims per look that may stay; then it stops searching
constexpr int kRest = 8;                 // for this many looks
constexpr std::size_t kOrderDepth = 24;  // of those evicted last
constexpr double kCreditKept = 0.95;     // at each fetch on demand
constexpr double kWasteWeight = 20;      // of what came and went unused
constexpr Bytes kKeptFree = 12;          // of the memory, if nothing is known

bool link_has_time(Bytes queued, double bytes_per_ns) {
    return static_cast<double>(queued) < kBacklog * bytes_per_ns;
}

}  // namespace

void LookAhead::look(std::size_t space, bool advanced) {
    if (state_.machine.spaces[space].id.tier != Tier::gpu || state_.spaces[space].slower.empty())
        return;
    if (advanced)
        send_away(space);
    state_.spaces[space].ahead.short_of_room = false;
    bring_back(space);
}

// Buffers that would have to leave before their next use anyway leave now, while the link has time:
// if, before that use, more will be live than fits in addition to what has left already.
void LookAhead::send_away(std::size_t index) {
    SpillSpace& space = state_.spaces[index];
    if (space.ahead.resting > 0 && --space.ahead.resting > 0)
        return;
    const Forecast& forecast = *state_.options.forecast;
    if (!short_of_room(index) && !overflows(index, forecast.now() + kFarthest))
        return;
    int passed = 0;
    while (passed < kMostPassed && link_has_time(space.out_queued, space.out_rate)) {
        const std::optional<std::uint32_t> victim = copies_.victim(index);
        if (!victim)
            break;
        if (must_leave(index, *victim)) {
            room_.leave(*victim, index);
            continue;
        }
        state_.buffers[*victim].set_aside = SetAside::passed;
        skipped_.push_back(*victim);
        ++passed;
    }
    for (const std::uint32_t id : skipped_)
        state_.buffers[id].set_aside = SetAside::no;
    skipped_.clear();
    if (passed == kMostPassed)
        space.ahead.resting = kRest;
}

bool LookAhead::must_leave(std::size_t space, std::uint32_t id) const {
    const Forecast& forecast = *state_.options.forecast;
    const std::uint64_t next = forecast.next_use(BufferId{id});
    if (next == kUnknownUse)
        return !state_.buffers[id].blank && state_.buffers[id].copies.size() == 1 &&
               short_of_room(space);
    return overflows(space,
                     std::min({next, forecast.end_of(BufferId{id}), forecast.now() + kFarthest}));
}

bool LookAhead::short_of_room(std::size_t space) const {
    return room_.spare(space) < state_.machine.spaces[space].capacity / kKeptFree;
}

// Whether, before `position`, more will be live at once than fits in addition to what has left.
bool LookAhead::overflows(std::size_t index, std::uint64_t position) const {
    const SpillSpace& space = state_.spaces[index];
    const Bytes capacity = state_.machine.spaces[index].capacity;
    const Bytes here = capacity - std::min(capacity, room_.spare(index));
    const Bytes away = space.live - std::min(space.live, here);
    return space.live + state_.options.forecast->growth_until(position) > capacity + away;
}

// Whether the buffer's bytes are somewhere below, and no operation on them is in progress.
bool LookAhead::away(std::uint32_t id, std::size_t space) const {
    if (id >= state_.buffers.size())
        return false;
    const SpillBuffer& buffer = state_.buffers[id];
    return buffer.state == BufferState::resident && !buffer.blank && !buffer.hold.written() &&
           buffer.waiting.empty() && buffer.home == space && !buffer.copies.empty() &&
           !buffer.copy_in(space);
}

// Whether an evicted buffer is back, or no longer exists.
bool LookAhead::came_back(std::uint32_t id, std::size_t space) const {
    const SpillBuffer& buffer = state_.buffers[id];
    const bool leaving = buffer.move && buffer.move->evicts_from(space);
    return !buffer.living() || buffer.blank || (buffer.copy_in(space) && !leaving);
}

void LookAhead::bring_back(std::size_t index) {
    SpillSpace& space = state_.spaces[index];
    SpillAhead& ahead = space.ahead;
    const Forecast& forecast = *state_.options.forecast;
    const std::uint64_t present = forecast.now();
    const std::uint64_t earliest = std::exchange(ahead.earliest_evicted, kNeverUsed);
    ahead.cursor = std::max(present + 1, std::min(ahead.cursor, earliest));
    int fetched = 0;
    for (; link_has_time(space.in_queued, space.in_rate) && ahead.cursor < present + kFarthest &&
           fetched < kMostAtOnce;
         ++ahead.cursor) {
        const ExpectedUse next = forecast.expected(ahead.cursor);
        if (next.kind == ExpectedUse::Kind::unknown)
            break;
        const std::uint32_t id = to_integer(next.buffer);
        if (next.kind != ExpectedUse::Kind::use || !next.reads || !away(id, index))
            continue;
        // It must be able to stay: buffers that are allocated before then need room, too.
        if (!bring_in(index, id, ahead.cursor, forecast.growth_until(ahead.cursor)))
            break;
        ++fetched;
    }
    refill(index);
}

// Only into existing room, in addition to what is queued for it. Only buffers that are known to be
// needed later than this one make room for it, and none does for a guess. False: not now.
bool LookAhead::bring_in(std::size_t index, std::uint32_t id, std::uint64_t position, Bytes kept) {
    SpillSpace& space = state_.spaces[index];
    const Bytes wanted = state_.buffers[id].size + kept;
    while (room_.spare(index) < wanted) {
        const std::optional<std::uint32_t> victim =
            state_.options.guesses ? std::nullopt : copies_.victim(index);
        if (!victim)
            return false;
        const std::uint64_t next = state_.options.forecast->next_use(BufferId{*victim});
        if (next == kUnknownUse || next <= position)
            return false;
        room_.leave(*victim, index);
    }
    space.ahead.short_of_room = space.memory->available() < space.lined + state_.buffers[id].size;
    if (space.ahead.short_of_room)
        return false;  // looked at again when something has left
    BufferMove move;
    move.kind = MoveKind::ahead;
    move.when_full = WhenFull::refuse;
    move.source = moves_.best_source(state_.buffers[id], index);
    move.target = index;
    if (state_.spaces[index].memory->find(state_.buffers[id].reservation))
        move.reservation = state_.buffers[id].reservation;
    if (move.source == kNoSpace)
        return false;
    moves_.begin(id, std::move(move));
    return true;
}

// Was what was fetched on demand since the last look among the last to leave?
void LookAhead::learn_order(std::size_t index) {
    SpillAhead& ahead = state_.spaces[index].ahead;
    for (const std::uint32_t fetched : ahead.fetched) {
        std::size_t depth = 0;
        bool found = false;
        for (std::size_t i = ahead.evicted.size(); i-- > 0 && depth < kOrderDepth && !found;) {
            found = ahead.evicted[i] == fetched;
            if (found || came_back(ahead.evicted[i], index))
                ahead.evicted.erase(ahead.evicted.begin() + static_cast<std::ptrdiff_t>(i));
            else
                ++depth;
        }
        const double bytes = static_cast<double>(state_.buffers[fetched].size);
        ahead.credit = kCreditKept * ahead.credit + (found ? bytes : -bytes);
    }
    ahead.fetched.clear();
    const Bytes wasted = state_.spaces[index].counters.wasted;
    ahead.credit -= kWasteWeight * static_cast<double>(wasted - ahead.wasted);
    ahead.wasted = wasted;
}

void LookAhead::refill(std::size_t index) {
    learn_order(index);
    SpillSpace& space = state_.spaces[index];
    SpillAhead& ahead = space.ahead;
    if (ahead.credit <= 0)
        return;
    const Bytes kept = state_.machine.spaces[index].capacity / kKeptFree;
    std::size_t depth = 0;
    for (std::size_t i = ahead.evicted.size(); i-- > 0 && depth < kOrderDepth;) {
        const std::uint32_t id = ahead.evicted[i];
        if (came_back(id, index)) {
            ahead.evicted.erase(ahead.evicted.begin() + static_cast<std::ptrdiff_t>(i));
            continue;
        }
        ++depth;
        if (!away(id, index) || state_.options.forecast->next_use(BufferId{id}) != kUnknownUse)
            continue;  // it is moving, or bring_back handles it
        if (!link_has_time(space.in_queued, space.in_rate) ||
            room_.spare(index) < state_.buffers[id].size + kept ||
            !bring_in(index, id, state_.options.forecast->now(), 0))
            return;
    }
}

}  // namespace tidemark
