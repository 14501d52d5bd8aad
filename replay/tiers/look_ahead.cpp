// Sends away before a peak, brings back before a use.
#include "replay/tiers/look_ahead.h"

#include <algorithm>

namespace tidemark {
namespace {

// Copies are queued while their link has less than this to do: enough to keep it busy until the
// next step, little enough for what is asked for in a hurry.
constexpr Nanoseconds kBacklog = 2'000'000;
constexpr std::uint64_t kFarthest = std::uint64_t{1} << 16U;  // operations looked ahead
constexpr int kMostAtOnce = 64;
constexpr int kMostPassed = 3;  // victims that may stay, in a step; then none is looked for
constexpr int kRest = 8;        // in so many steps
constexpr std::size_t kOrderDepth = 24;  // of those evicted last
constexpr double kCreditKept = 0.95;     // at each fetch on demand
constexpr double kWasteWeight = 20;      // of what came and went unused
constexpr Bytes kKeptFree = 12;          // of the memory, where nothing is known

}  // namespace

void LookAhead::step(Bytes live, Nanoseconds now) {
    send_away(live, now);
    bring_back(now);
}

// What would have to leave before its next use anyway leaves now, while the link has time: if
// between now and then more will live than fits beside what is away already.
void LookAhead::send_away(Bytes live, Nanoseconds now) {
    const auto link = memory_.link_out(home_);
    if (!link || (resting_ > 0 && --resting_ > 0) || !pressing(live))
        return;
    int passed = 0;
    while (passed < kMostPassed && links_.free_at(*link) < now + kBacklog) {
        const auto victim = memory_.next_victim(home_, now);
        if (!victim)
            break;
        if (must_leave(*victim, live) && memory_.evict(*victim, now))
            continue;
        memory_.pin(*victim);
        passed_.push_back(*victim);
        ++passed;
    }
    for (const BufferId id : passed_)
        memory_.unpin(id);
    passed_.clear();
    if (passed == kMostPassed)
        resting_ = kRest;
}

// Whether anything may have to leave at all, as far as can be seen.
bool LookAhead::pressing(Bytes live) const {
    return short_of_room() || overflows(live, forecast_.now() + kFarthest);
}

bool LookAhead::must_leave(BufferId id, Bytes live) const {
    const std::uint64_t next = forecast_.next_use(id);
    if (next == kUnknownUse)
        return memory_.dirty(id) && short_of_room();
    return overflows(live, std::min({next, forecast_.end_of(id), forecast_.now() + kFarthest}));
}

bool LookAhead::short_of_room() const {
    const SpaceAccount& account = memory_.account(home_);
    return account.available() < account.capacity() / kKeptFree;
}

// Whether until `position` more will live at once than fits beside what is away already.
bool LookAhead::overflows(Bytes live, std::uint64_t position) const {
    const SpaceAccount& account = memory_.account(home_);
    const Bytes away = live - std::min(live, account.allocated());
    return live + forecast_.growth_until(position) > account.capacity() + away;
}

void LookAhead::bring_back(Nanoseconds now) {
    const auto link = memory_.link_in(home_);
    if (!link)
        return;
    const std::uint64_t present = forecast_.now();
    cursor_ = std::max(present + 1, std::min(cursor_, memory_.take_earliest_evicted()));
    int fetched = 0;
    for (; links_.free_at(*link) < now + kBacklog && cursor_ < present + kFarthest &&
           fetched < kMostAtOnce;
         ++cursor_) {
        const ExpectedUse next = forecast_.expected(cursor_);
        if (next.kind == ExpectedUse::Kind::unknown)
            break;
        if (next.kind != ExpectedUse::Kind::use || !next.reads || !memory_.alive(next.buffer) ||
            memory_.resident(next.buffer) || !memory_.below().holds(next.buffer))
            continue;
        // It must be able to stay: what will be born until then needs room, too.
        const Bytes spare = forecast_.growth_until(cursor_);
        if (!memory_.bring_in_ahead(next.buffer, cursor_, spare, now))
            break;
        ++fetched;
    }
    refill(now);
}

// What was fetched on demand since the last step: was it among the last to leave?
void LookAhead::learn_order() {
    std::vector<BufferId>& evicted = memory_.evicted();
    for (const BufferId fetched : memory_.fetched()) {
        std::size_t depth = 0;
        bool found = false;
        for (std::size_t i = evicted.size(); i-- > 0 && depth < kOrderDepth && !found;) {
            found = evicted[i] == fetched;
            depth += found || gone(evicted[i]) ? 0U : 1U;
        }
        const double bytes = static_cast<double>(memory_.size(fetched));
        credit_ = kCreditKept * credit_ + (found ? bytes : -bytes);
    }
    memory_.fetched().clear();
    const Bytes wasted = memory_.traffic().wasted;
    credit_ -= kWasteWeight * static_cast<double>(wasted - wasted_);
    wasted_ = wasted;
}

void LookAhead::refill(Nanoseconds now) {
    learn_order();
    if (credit_ <= 0)
        return;
    const std::size_t link = *memory_.link_in(home_);
    const SpaceAccount& account = memory_.account(home_);
    std::vector<BufferId>& evicted = memory_.evicted();
    std::size_t depth = 0;
    for (std::size_t i = evicted.size(); i-- > 0 && depth < kOrderDepth;) {
        const BufferId id = evicted[i];
        if (gone(id)) {
            evicted.erase(evicted.begin() + static_cast<std::ptrdiff_t>(i));
            continue;
        }
        ++depth;
        if (forecast_.next_use(id) != kUnknownUse)
            continue;  // bring_back knows better
        if (links_.free_at(link) >= now + kBacklog ||
            account.available() < memory_.size(id) + account.capacity() / kKeptFree ||
            !memory_.bring_in_ahead(id, forecast_.now(), 0, now))
            return;
    }
}

bool LookAhead::gone(BufferId id) const {
    return !memory_.alive(id) || memory_.resident(id) || !memory_.below().holds(id);
}

}  // namespace tidemark
