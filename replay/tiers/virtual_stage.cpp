// Copies as spans of time on links.
#include "replay/tiers/virtual_stage.h"

#include <algorithm>

#include "core/base/check.h"

namespace tidemark {

VirtualStage::VirtualStage(const MachineSpec& machine, TierTimeline& timeline)
    : machine_(machine), timeline_(timeline), links_(machine) {}

bool VirtualStage::wait_until(Nanoseconds when) {
    if (!flights_.empty() && flights_.top().end <= when)
        when = flights_.top().end;
    if (when == kForever)
        return false;
    now_ = std::max(now_, when);
    return true;
}

std::vector<TierLinkUse> VirtualStage::links() const {
    std::vector<TierLinkUse> uses;
    for (std::size_t link = 0; link < links_.size(); ++link)
        uses.push_back({links_.spec(link).source, links_.spec(link).target, links_.bytes(link),
                        links_.copies(link), links_.busy(link)});
    return uses;
}

VirtualStage::Way VirtualStage::way(SpaceId source, SpaceId target) const {
    if (const auto direct = links_.find(source, target))
        return {*direct, std::nullopt, 0};
    Way best;
    double best_rate = 0;
    for (const SpaceSpec& between : machine_.spaces) {
        const auto first = links_.find(source, between.id);
        const auto second = links_.find(between.id, target);
        if (between.id.tier != Tier::host || !first || !second)
            continue;
        const double rate =
            std::min(links_.spec(*first).bytes_per_second, links_.spec(*second).bytes_per_second);
        if (rate > best_rate)
            best = {*first, second, between.block};
        best_rate = std::max(best_rate, rate);
    }
    TM_CHECK(best_rate > 0);
    return best;
}

LinkTransfer VirtualStage::record(std::size_t link, const LinkTransfer& transfer,
                                  const CopyOrder& order) {
    timeline_.add(SpanKind::copy, link, transfer.begin, transfer.end, order.size,
                  to_integer(order.buffer));
    return transfer;
}

Result<BlockLocation> VirtualStage::allocate(SpaceId space, Bytes size) {
    return BlockLocation{space, LocationId{++locations_}, size};
}

Result<UsePoint> VirtualStage::record(SpaceId space, StreamId stream, bool wrote) {
    return UsePoint{space, stream, EventId{}, wrote};
}

CopyId VirtualStage::start(CopyOrder order) {
    const Way taken = way(order.source.space, order.target.space);
    LinkTransfer moved = record(taken.first, links_.transfer(taken.first, now_, order.size), order);
    if (taken.second)
        moved = record(*taken.second, links_.follow(*taken.second, moved, order.size, taken.piece),
                       order);
    flights_.push({moved.done, ++copies_, order.size});
    return CopyId{copies_};
}

void VirtualStage::poll(std::vector<CopyDone>& ended) {
    for (; !flights_.empty() && flights_.top().end <= now_; flights_.pop()) {
        CopyDone done;
        done.copy = CopyId{flights_.top().copy};
        ended.push_back(std::move(done));
    }
}

}  // namespace tidemark
