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

}  // namespace

void LookAhead::step(Bytes live, Nanoseconds now) {
    send_away(live, now);
    bring_back(live, now);
}

// What will not fit at the coming peak has to be away by then.
void LookAhead::send_away(Bytes live, Nanoseconds now) {
    const auto link = memory_.link_out(home_);
    const SpaceAccount& account = memory_.account(home_);
    if (!link)
        return;
    for (int i = 0; i < kMostAtOnce && links_.free_at(*link) < now + kBacklog; ++i) {
        const Bytes peak = live + forecast_.growth();
        const Bytes away = live - std::min(live, account.allocated());
        if (peak <= account.capacity() || away >= peak - account.capacity())
            return;
        if (memory_.evict_next(home_, now) == 0)
            return;
    }
}

void LookAhead::bring_back(Bytes live, Nanoseconds now) {
    const auto link = memory_.link_in(home_);
    if (!link)
        return;
    const std::uint64_t present = forecast_.now();
    const std::uint64_t gone = memory_.take_earliest_evicted();
    if (gone <= cursor_ || cursor_ <= present) {
        cursor_ = std::max(present + 1, std::min(cursor_, gone));
        peaks_.clear();
        cursor_ = present + 1;
    }
    peaks_.drop_before(present);
    int fetched = 0;
    while (links_.free_at(*link) < now + kBacklog && cursor_ < present + kFarthest &&
           fetched < kMostAtOnce) {
        const ExpectedUse next = forecast_.expected(cursor_);
        if (next.kind == ExpectedUse::Kind::unknown)
            return;
        const std::int64_t growth = forecast_.growth_at(cursor_);
        peaks_.add(cursor_, static_cast<Bytes>(static_cast<std::int64_t>(live) + growth));
        const bool missing = next.kind == ExpectedUse::Kind::use && next.reads &&
                             memory_.alive(next.buffer) && !memory_.resident(next.buffer) &&
                             memory_.below().holds(next.buffer);
        if (missing) {
            const Bytes spare = peaks_.peak() > live ? peaks_.peak() - live : 0;
            if (!memory_.bring_in_ahead(next.buffer, cursor_, spare, now))
                return;
            ++fetched;
        }
        ++cursor_;
    }
}

}  // namespace tidemark
