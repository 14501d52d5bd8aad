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
constexpr Bytes kKeptFree = 8;  // of the memory, where nothing is known

}  // namespace

void LookAhead::step(Bytes live, Nanoseconds now) {
    send_away(live, now);
    bring_back(live, now);
}

// What would have to leave before its next use anyway leaves now, while the link has time: if
// between now and then more will live than fits beside what is away already.
void LookAhead::send_away(Bytes live, Nanoseconds now) {
    const auto link = memory_.link_out(home_);
    const SpaceAccount& account = memory_.account(home_);
    if (!link)
        return;
    for (int i = 0; i < kMostAtOnce && links_.free_at(*link) < now + kBacklog; ++i) {
        const auto victim = memory_.next_victim(home_, now);
        if (!victim)
            return;
        const std::uint64_t next = forecast_.next_use(*victim);
        const std::uint64_t until = std::min(next, forecast_.now() + kFarthest);
        const Bytes peak = live + forecast_.growth_until(until);
        const Bytes away = live - std::min(live, account.allocated());
        if (next == kUnknownUse ? account.available() >= account.capacity() / kKeptFree
                                : peak <= account.capacity() + away)
            return;
        if (!memory_.evict(*victim, now))
            return;
    }
}

void LookAhead::bring_back(Bytes live, Nanoseconds now) {
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
    (void)live;
}

void LookAhead::refill(Nanoseconds now) {
    const std::size_t link = *memory_.link_in(home_);
    const SpaceAccount& account = memory_.account(home_);
    std::vector<BufferId>& evicted = memory_.evicted();
    while (!evicted.empty() && links_.free_at(link) < now + kBacklog) {
        const BufferId id = evicted.back();
        if (memory_.alive(id) && !memory_.resident(id) && memory_.below().holds(id)) {
            if (forecast_.next_use(id) != kUnknownUse ||
                account.available() < memory_.size(id) + account.capacity() / kKeptFree ||
                !memory_.bring_in_ahead(id, forecast_.now(), 0, now))
                return;
        }
        evicted.pop_back();
    }
}

}  // namespace tidemark
