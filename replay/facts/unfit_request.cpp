// Which requests, at which moment.
#include "replay/facts/unfit_request.h"

#include <algorithm>
#include <utility>

#include "replay/timeline/first_above.h"

namespace tidemark::facts {
namespace {

constexpr Bytes kSmallRequest = 1_MiB;      // served from small segments by PyTorch's rules
constexpr std::size_t kMostGrowths = 4096;  // with more growths nothing stays free

FreeSpace space_on(const History& history, std::uint16_t device, EventIndex event,
                   const std::atomic<bool>& cancelled) {
    return free_space(memory_spans(history, event, cancelled), device);
}

// What an allocation requests at which reserved memory grows; 0 where something else makes it grow.
Bytes growth_request(const History& history, EventIndex event) {
    const BlockIndex index = history.block_at(event);
    if (index == kNoBlock)
        return 0;
    const Block block = history.block(index);
    return block.born == event ? block.requested : 0;
}

// Of the growths to a new peak for a large request, the one before which most memory was free, as
// `advise` chooses; of those for small requests if none is large. kNever: there is none.
EventIndex telling_growth(const History& history, const std::atomic<bool>& cancelled) {
    EventIndex telling = kNever;
    std::pair<bool, Bytes> most{false, 0};  // for a large request; free before it
    EventIndex event = first_above(history, Series::reserved, 0);
    for (std::size_t growths = 0; event != kNever && growths < kMostGrowths && !cancelled;
         ++growths) {
        const Bytes requested = growth_request(history, event);
        const SeriesValues before = event == 0 ? SeriesValues() : history.values(event - 1);
        const std::pair found(
            requested > kSmallRequest,
            before[Series::reserved] - std::min(before[Series::reserved], before[Series::active]));
        if (event > 0 && requested > 0 && found >= most) {
            most = found;
            telling = event;
        }
        event = first_above(history, Series::reserved, history.values(event)[Series::reserved]);
    }
    return telling;
}

}  // namespace

RefusedRequests refused_requests(const History& history, MarkKind kind, std::size_t most,
                                 const std::atomic<bool>& cancelled) {
    RefusedRequests refused;
    const std::size_t marks = history.counts().marks;
    for (std::size_t i = 0; i < marks && !cancelled; ++i) {
        const Mark mark = history.mark(i);
        if (mark.kind != kind)
            continue;
        ++refused.count;
        refused.last = mark.event;
        if (refused.first.size() < most)
            refused.first.push_back({mark.event, mark.device, mark.size,
                                     space_on(history, mark.device, mark.event, cancelled)});
    }
    return refused;
}

std::optional<UnfitRequest> grown_for(const History& history, const std::atomic<bool>& cancelled) {
    const EventIndex event = telling_growth(history, cancelled);
    const BlockIndex index = event == kNever ? kNoBlock : history.block_at(event);
    if (index == kNoBlock)
        return {};
    const Block block = history.block(index);
    const std::uint16_t device = history.site(block.site).device;
    const UnfitRequest request{event, device, block.requested,
                               space_on(history, device, event - 1, cancelled)};
    const bool is_unfit = request.space.free >= block.size && request.space.largest < block.size;
    return is_unfit ? std::optional(request) : std::nullopt;
}

}  // namespace tidemark::facts
