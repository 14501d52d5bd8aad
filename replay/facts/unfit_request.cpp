// Which requests, at which moment.
#include "replay/facts/unfit_request.h"

namespace tidemark::facts {
namespace {

FreeSpace space_on(const History& history, std::uint16_t device, EventIndex event,
                   const std::atomic<bool>& cancelled) {
    return free_space(memory_spans(history, event, cancelled), device);
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
    if (history.counts().events == 0)
        return {};
    const EventIndex event = history.peak_event(Series::reserved);
    const BlockIndex index = history.block_at(event);
    if (event == 0 || index == kNoBlock)
        return {};
    const Block block = history.block(index);
    if (block.born != event)
        return {};
    const std::uint16_t device = history.site(block.site).device;
    const UnfitRequest request{event, device, block.requested,
                               space_on(history, device, event - 1, cancelled)};
    const bool is_unfit = request.space.free >= block.size && request.space.largest < block.size;
    return is_unfit ? std::optional(request) : std::nullopt;
}

}  // namespace tidemark::facts
