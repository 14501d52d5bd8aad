// The ring with the oldest record supplies records as long as its numbers are consecutive.
#include "traces/live/merge.h"

#include <algorithm>

namespace tidemark::live {
namespace {

constexpr std::uint64_t kNone = ~std::uint64_t{0};

// The ring with the oldest record, and the number of the next oldest ring's.
struct Oldest {
    RingSpan* ring = nullptr;
    std::uint64_t sequence = kNone;
    std::uint64_t other = kNone;
};

Oldest oldest_of(std::span<RingSpan> rings) {
    Oldest oldest;
    for (RingSpan& ring : rings) {
        if (ring.empty())
            continue;
        const std::uint64_t sequence = ring.front().sequence;
        if (oldest.ring == nullptr || sequence < oldest.sequence) {
            oldest.other = oldest.sequence;
            oldest.sequence = sequence;
            oldest.ring = &ring;
        } else {
            oldest.other = std::min(oldest.other, sequence);
        }
    }
    return oldest;
}

}  // namespace

bool Merger::merge(std::span<RingSpan> rings, const TickScale& scale, std::size_t most,
                   std::vector<Record>& out) {
    while (out.size() < most) {
        const Oldest oldest = oldest_of(rings);
        if (oldest.ring == nullptr)
            return false;
        if (oldest.sequence > next_)
            return true;
        take_run(*oldest.ring, oldest.other, scale, most, out);
    }
    return false;
}

// Consecutive records, including those that come too late.
void Merger::take_run(RingSpan& ring, std::uint64_t until, const TickScale& scale, std::size_t most,
                      std::vector<Record>& out) {
    while (!ring.empty() && out.size() < most) {
        const std::uint64_t sequence = ring.front().sequence;
        if (sequence > next_ || sequence > until)
            return;
        const std::size_t before = out.size();
        const std::uint64_t slots = take(ring, scale, out);
        if (slots == 0) {
            ring.begin = ring.end;
            return;
        }
        ring.begin += slots;
        if (sequence == next_)
            ++next_;
        else if (!is_name(out[before].kind))
            out.resize(before);
    }
}

// Slots of the record at the front, copied; 0 if it is damaged.
std::uint64_t Merger::take(RingSpan& ring, const TickScale& scale, std::vector<Record>& out) {
    const Record& front = ring.front();
    const std::uint64_t payload = payload_slots(front);
    if (payload >= ring.end - ring.begin)
        return 0;
    out.push_back(front);
    latest_ = std::max(latest_, static_cast<std::uint64_t>(scale.time(front.time)));
    out.back().time = latest_;
    for (std::uint64_t i = 1; i <= payload; ++i)
        out.push_back(ring.slots[(ring.begin + i) & ring.mask]);
    return payload + 1;
}

void Merger::skip_gap(std::span<const RingSpan> rings) {
    std::uint64_t oldest = kNone;
    for (const RingSpan& ring : rings) {
        if (!ring.empty())
            oldest = std::min(oldest, ring.front().sequence);
    }
    if (oldest == kNone || oldest <= next_)
        return;
    missing_ += oldest - next_;
    next_ = oldest;
}

}  // namespace tidemark::live
