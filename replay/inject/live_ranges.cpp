// A tree of ranges, and what each thread found last.
#include "replay/inject/live_ranges.h"

#include <algorithm>
#include <iterator>
#include <mutex>

namespace tidemark::inject {

using live::RecordKind;

constinit thread_local std::array<LiveRanges::Found, 1U << LiveRanges::kFoundBits>
    LiveRanges::found_last_{};

LiveRanges::Search::Search(const LiveRanges& ranges)
    : ranges_(ranges),
      changes_(ranges.changes_.load(std::memory_order_acquire)),
      lowest_(ranges.lowest_.load(std::memory_order_relaxed)),
      highest_(ranges.highest_.load(std::memory_order_relaxed)),
      found_(found_last_.data()) {}

void LiveRanges::follow(const live::ReportedEvent& event) {
    switch (event.kind) {
        case RecordKind::allocate:
        case RecordKind::map: {
            const std::lock_guard lock(mutex_);
            ranges_.insert_or_assign(
                event.address,
                Range{event.size, event.kind == RecordKind::map ? event.extra : 0, event.device});
            if (event.address < kArrayBase) {
                lowest_.store(std::min(lowest_.load(), event.address));
                highest_.store(std::max(highest_.load(), event.address + event.size));
            }
            changes_.fetch_add(1, std::memory_order_release);
            break;
        }
        case RecordKind::free:
        case RecordKind::unmap: {
            const std::lock_guard lock(mutex_);
            ranges_.erase(event.address);
            changes_.fetch_add(1, std::memory_order_release);
            break;
        }
        default:
            break;
    }
}

const std::pair<const std::uint64_t, LiveRanges::Range>* LiveRanges::range_at(
    std::uint64_t address) const {
    const auto after = ranges_.upper_bound(address);
    if (after == ranges_.begin())
        return nullptr;
    const auto& range = *std::prev(after);
    return address - range.first < range.second.size ? &range : nullptr;
}

UsedBlock LiveRanges::look_up(std::uint64_t address) const {
    const std::shared_lock lock(mutex_);
    const auto* range = range_at(address);
    if (range != nullptr && range->second.home != 0) {
        address = range->second.home + (address - range->first);
        range = range_at(address);
    }
    if (range == nullptr || range->second.home != 0)
        return {};
    return {range->first, range->second.size, address - range->first, range->second.device};
}

}  // namespace tidemark::inject
